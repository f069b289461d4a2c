"""The words of a topology matrix: names of devices, words between two of them, lists of numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

SELF = "X"
BRIDGE_WORDS = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""From near to far, as nvidia-smi's legend has them."""
P2P_WORDS = ("OK", "CNS", "GNS", "TNS", "NS", "DR", "U")
_OLD_WORDS = {"SOC": "SYS"}

# A bonded link is NV18 or a vendor's own ICN7. Names of devices have the same shape: no cells.
_BONDED = r"NV[1-9]\d?(?!\d)|(?!NV|GPU|NIC|CPU)[A-Z]{2,5}[1-9]\d?(?!\d)"
_CELL = re.compile(rf"NODE|SYS|SOC|PIX|PXB|PHB|CNS|GNS|TNS|NS|OK|DR|X|U|{_BONDED}")
_BONDED_CELL = re.compile(_BONDED)
_STUMP = re.compile(r"N|NO|NOD|NV|P|PI|PX|PH|S|SY|SO|O|C|CN|G|GN|T|TN|D|[A-Z]{1,4}")

_ACCELERATOR = re.compile(r"(?!(?:NV|NIC|CPU|NUMA)\d)([A-Z]{2,4})(\d{1,3})(?!\d)")
_NIC = re.compile(r"NIC(\d{1,3})(?!\d)|mlx\d_(?:[a-z]+_?)?\d{1,3}(?!\d)")
_OTHER_NIC = re.compile(r"[a-z][A-Za-z0-9_.-]*\d[A-Za-z0-9_.-]*")

_RANGES = re.compile(r"\d{1,6}(?:-\d{1,6})?(?:,\d{1,6}(?:-\d{1,6})?)*")
_LARGEST_LIST = 8192


@dataclass(frozen=True, slots=True)
class Name:
    """A device as printed. `prefix` is GPU, another vendor's word such as PPU, or NIC."""

    text: str
    prefix: str
    number: int | None
    """None for a NIC that bears its driver's name, such as mlx5_0."""

    @property
    def is_gpu(self) -> bool:
        """True for an accelerator of any vendor."""
        return self.prefix != "NIC"


def match_name(text: str, start: int = 0) -> tuple[Name, int] | None:
    """The device name that starts at `start`, and where it ends; names may be glued together."""
    if found := _NIC.match(text, start):
        number = int(found[1]) if found[1] else None
        return Name(found[0], "NIC", number), found.end()
    if found := _ACCELERATOR.match(text, start):
        return Name(found[0], found[1], int(found[2])), found.end()
    if found := _OTHER_NIC.match(text, start):
        return Name(found[0], "NIC", None), found.end()
    return None


def split_cells(token: str) -> list[str]:
    """The cells of one run of characters: one, or several that lost the blanks between them.

    What is not made of known words stays whole, so that it counts as one cell.
    """
    cells: list[str] = []
    at = 0
    while at < len(token):
        found = _CELL.match(token, at)
        if not found:
            break
        cells.append(found[0])
        at = found.end()
    if at == len(token):
        return cells
    rest = token[at:]
    # "SYS0-31" is a cell and a list; in "NV120-31" nobody can tell where the number ends.
    if cells and not is_bonded(cells[-1]) and _RANGES.fullmatch(rest):
        return [*cells, rest]
    return [token]


def is_word(cell: str) -> bool:
    """True for the words that a matrix holds between two devices, X included."""
    found = _CELL.fullmatch(cell)
    return found is not None


def is_link(cell: str) -> bool:
    """True for path words and bonded links, old words included."""
    return cell in BRIDGE_WORDS or cell in _OLD_WORDS or is_bonded(cell)


def is_bonded(cell: str) -> bool:
    """True for NV# and other vendors' bonded links."""
    return _BONDED_CELL.fullmatch(cell) is not None


def is_stump(cell: str) -> bool:
    """True for what a cut may leave of a word."""
    return _STUMP.fullmatch(cell) is not None


def is_field(token: str) -> bool:
    """True for what stands behind the device columns: a list of numbers, or N/A."""
    return token == "N/A" or _RANGES.fullmatch(token) is not None


def canonical(cell: str) -> str:
    """Today's word for a cell: SOC was renamed SYS."""
    return _OLD_WORDS.get(cell, cell)


def parse_ids(text: str) -> tuple[int, ...] | None:
    """The numbers of "0,3-9", or None where it is no list of rising numbers."""
    if not _RANGES.fullmatch(text):
        return None
    ids: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if high < low or (ids and low <= ids[-1]) or len(ids) + high - low > _LARGEST_LIST:
            return None
        ids.extend(range(low, high + 1))
    return tuple(ids)
