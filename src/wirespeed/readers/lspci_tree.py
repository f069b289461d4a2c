"""`lspci -t` and `-tv`: which PCI device hangs below which bridge.

| subject | attributes |
|---|---|
| `pci 0000:1b:00.0` | parent (a bridge's subject, `host 0000:00`, or a branch), what (with -tv) |
| `pci 0000:00:01.1` | buses (the range below it as printed: 01 or 61-ca) |
| `branch 80` | parent; a switch or bus whose own line is cut off, by its column in the text |

A device of which the bus is cut off too is `pci ?:03.4 line 5`.

Remarks: `tree-cut` (the tree's head is missing), `lines-left-out`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wirespeed.evidence import Evidence
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, is_ellipsis
from wirespeed.readers._text import Line, sure_lines

NAME = "lspci-tree"

_SIGN = re.compile(
    r"^.{0,400}?[+\\]-(?:\[[0-9a-f]{4}(?::[0-9a-f]{2}(?:-[0-9a-f]{2})?)?\]-|"
    r"[0-9a-f]{2}\.[0-7](?:-\[[0-9a-f]{2}(?:-[0-9a-f]{2})?\]| {2}|$))",
    re.MULTILINE,
)
_TOKEN = re.compile(
    r"(?P<host>\[(?P<domain>[0-9a-f]{4})(?::(?P<root>[0-9a-f]{2})(?:-[0-9a-f]{2})?)?\])|"
    r"(?P<device>[0-9a-f]{2}\.[0-7])(?:-\[(?P<bus>[0-9a-f]{2})(?:-(?P<last>[0-9a-f]{2}))?\])?"
)
_DRAWN = "|+\\- "
_LONGEST = 2000


@dataclass(slots=True)
class _Place:
    """What devices at one column of the drawing hang below: subject, domain and bus."""

    subject: str
    domain: str
    bus: str | None


@dataclass(slots=True)
class _Tree:
    found: Gathered
    places: dict[int, _Place] = field(default_factory=dict)
    """By column of the devices below, as the lines so far leave them."""
    branches: set[str] = field(default_factory=set)


def sniff(text: str) -> float:
    """1 where a branch of the drawing holds a device or a bus."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of the tree; raises InputError where it holds no device."""
    tree = _Tree(Gathered())
    for line in sure_lines(text, bars=True):
        if is_ellipsis(line.text) or len(line.text) > _LONGEST:
            tree.found.left_out(line.text, line.number)
        elif _SIGN.match(line.text) or line.text.startswith("-["):
            _read_line(line, tree)
    if tree.branches:
        text = "the head of the tree is cut off: devices are placed by their column"
        tree.found.note("tree-cut", text)
    return tree.found.evidence(
        NAME,
        file,
        nothing="no branch of the tree holds a device",
        remedy="give the whole output of `lspci -tv`",
    )


def _read_line(line: Line, tree: _Tree) -> None:
    text = line.text
    start = len(text) - len(text.lstrip(_DRAWN))
    # A device whose name the drawing precedes: its column is where its branch begins.
    at = _branch_column(text, start)
    for column in [column for column in tree.places if column > at]:
        del tree.places[column]
    token = _TOKEN.match(text, start)
    place = tree.places.get(at)
    if place is None and not (token and token["host"]):
        place = _unknown(text, at, line.number, tree)
    while token := _TOKEN.match(text, start):
        if token["host"]:
            bus = token["root"] or "00"
            place = _Place(f"host {token['domain']}:{bus}", token["domain"], bus)
        elif place:
            place = _device(token, place, line.number, tree)
        else:
            break
        end = token.end()
        rest = text[end:]
        drawn = len(rest) - len(rest.lstrip("-+\\"))
        if not drawn or place.bus is None:
            _describe(place.subject, rest, line, tree)
            return
        start = end + drawn
        tree.places[_branch_column(text, start)] = place
    if text[start:].strip():
        tree.found.left_out(text[start:], line.number)


def _branch_column(text: str, start: int) -> int:
    """The column of the sign that begins a device's branch; where there is none, of its dash."""
    at = start - 1
    while at > 0 and text[at] == "-" and text[at - 1] == "-":
        at -= 1
    return max(at - 1, 0) if at > 0 and text[at - 1] in "+\\" else max(at, 0)


def _device(token: re.Match[str], place: _Place, line: int, tree: _Tree) -> _Place:
    known = place.bus is not None
    address = f"{place.domain}:{place.bus}:{token['device']}"
    subject = f"pci {address}" if known else f"pci ?:{token['device']} line {line}"
    tree.found.add(subject, "parent", place.subject, line)
    bus, last = token["bus"], token["last"]
    if bus:
        tree.found.add(subject, "buses", f"{bus}-{last}" if last else bus, line)
    return _Place(subject, place.domain, bus)


def _unknown(text: str, at: int, line: int, tree: _Tree) -> _Place:
    """The branch at a column that no line so far explains, below the bars left of it."""
    parent: _Place | None = None
    bars = [column for column in range(at) if text[column] in "|+\\"]
    for column in [*bars, at]:
        if column not in tree.places:
            branch = _Place(f"branch {column}", "0000", None)
            tree.places[column] = branch
            tree.branches.add(branch.subject)
            if parent:
                tree.found.add(branch.subject, "parent", parent.subject, line, inferred=True)
        parent = tree.places[column]
    return tree.places[at]


def _describe(subject: str, rest: str, line: Line, tree: _Tree) -> None:
    if rest.strip() and not line.ends_text:
        tree.found.add(subject, "what", rest.strip(), line.number)


FORMAT = Format(NAME, "the tree of `lspci -t` or `-tv`", sniff, read)
