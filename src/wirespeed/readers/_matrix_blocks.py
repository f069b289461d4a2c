"""A paste cut into matrices: which lines are header, rows, legend, and which are something else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from wirespeed.readers._matrix_header import Header, read_header
from wirespeed.readers._matrix_words import (
    P2P_WORDS,
    SELF,
    Name,
    is_field,
    is_link,
    is_stump,
    is_word,
    match_name,
    split_cells,
)
from wirespeed.readers._text import Line

_COMMAND = re.compile(r"topo\s+(?:-m|--matrix|(?:-p2p|--p2pstatus)\s+(?P<mode>\w+))")
_NIC_LABEL = re.compile(r"\s*NIC(\d{1,3})\s*:\s*(\S+)\s*")
_SHAPE = re.compile(r"\d+")
# Every line that matters has one of these; the rest of a long log is passed over.
_HINT = re.compile(
    r"[A-Z]{2,4}\d|\d\s+X\b|(?:SYS|SOC|NODE|P[IXH][XB]|OK|NS)\b|mlx|Affinity|topo|Legend"
)
# AMD's tool prints its own matrices, each below a banner and up to a blank line.
_OTHER_TOOL = re.compile(r"\s*=+ *(?:Weight|Hops|Link Type) between two GPUs *=*", re.IGNORECASE)
_LONGEST_LINE = 16384
MOST_ROWS = 2048
"""Headers and rows in one text; a large host has forty."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the device, and its cells and fields as one list."""

    line: int
    name: Name
    tokens: tuple[str, ...]
    ends_text: bool = False


@dataclass(slots=True)
class Block:
    """One matrix of a paste."""

    header: Header | None
    mode: str | None = None
    """What `-p2p` was asked for, where the command line is in the paste."""
    rows: list[Row] = field(default_factory=list)
    legend: bool = False
    """A legend follows, so that the last row stands as it was printed."""

    @property
    def is_p2p(self) -> bool:
        """True for a matrix of `topo -p2p`: words of status, none of paths."""
        words = {token for row in self.rows for token in row.tokens if is_word(token)} - {SELF}
        if any(map(is_link, words)):
            return False
        return bool(words & set(P2P_WORDS)) or (self.mode is not None and not words)

    def ends_with(self, row: Row) -> bool:
        """True for the last row where no legend proves that the matrix ends with it."""
        return row is self.rows[-1] and not self.legend

    def knows(self, name: Name) -> bool:
        """True where the header names this device."""
        return self.header is not None and name in self.header.names


@dataclass(frozen=True, slots=True)
class Label:
    """A line of the NIC legend."""

    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Paste:
    """All that a text holds of matrices."""

    blocks: tuple[Block, ...]
    labels: dict[int, Label]
    cut_label: int | None
    """Line of a NIC legend entry in which the text breaks off."""
    overfull: int | None
    """Line from which on matrices are not split any more."""

    @property
    def first_header(self) -> Header | None:
        """The first header, also one that no row follows."""
        return next((block.header for block in self.blocks if block.header), None)


def split_paste(lines: Iterable[Line]) -> Paste:
    """The matrices of a text and its NIC legend."""
    blocks: list[Block] = []
    labels: dict[int, Label] = {}
    cut_label = None
    mode: str | None = None
    gap, count, overfull = True, 0, None
    other_tool = False
    for line in lines:
        other_tool = bool(_OTHER_TOOL.match(line.text)) or (other_tool and bool(line.text.strip()))
        if other_tool:
            gap = True
            continue
        block = blocks[-1] if blocks else None
        if not _HINT.search(line.text) or len(line.text) > _LONGEST_LINE:
            gap |= not line.text.isspace() and bool(line.text)
            continue
        if count == MOST_ROWS:
            overfull = line.number
            break
        if header := read_header(line):
            blocks.append(Block(header, mode))
            mode, gap, count = None, False, count + 1
        elif row := _read_row(line, block):
            if block is None or (gap and any(row.name == other.name for other in block.rows)):
                block = Block(None, mode)
                mode = None
                blocks.append(block)
            block.rows.append(row)
            gap, count = False, count + 1
        else:
            gap = True
            if command := _COMMAND.search(line.text):
                mode = command["mode"]
            elif block and line.text.strip().startswith("Legend"):
                block.legend = True
            elif label := _NIC_LABEL.fullmatch(line.text):
                if line.ends_text and not _is_whole(label[2], labels):
                    cut_label = line.number
                else:
                    labels.setdefault(int(label[1]), Label(label[2], line.number))
    return Paste(tuple(blocks), labels, cut_label, overfull)


def _is_whole(label: str, others: dict[int, Label]) -> bool:
    """Whether a label at the very end of a text may be trusted: formed like the others, and new."""
    shapes = {_SHAPE.sub("#", other.text) for other in others.values()}
    return _SHAPE.sub("#", label) in shapes and all(label != o.text for o in others.values())


def _read_row(line: Line, block: Block | None) -> Row | None:
    text = line.text.lstrip()
    found = match_name(text)
    if not found:
        return None
    name, end = found
    tokens = [cell for token in _join_lists(text[end:].split()) for cell in split_cells(token)]
    row = Row(line.number, name, tuple(tokens), line.ends_text)
    return row if _is_row(row, block) else None


def _join_lists(tokens: list[str]) -> list[str]:
    """A list such as "0-23, 48-71" that was given blanks becomes one token again."""
    joined: list[str] = []
    for token in tokens:
        if joined and joined[-1].endswith(",") and is_field(token):
            joined[-1] += token
        else:
            joined.append(token)
    return joined


def _is_row(row: Row, block: Block | None) -> bool:
    known = block is not None and block.knows(row.name)
    cells = [token for token in row.tokens if not is_field(token)]
    words = sum(map(is_word, cells))
    if row.name.prefix == "NIC" and row.name.number is None and not known:
        return SELF in cells and words * 2 >= len(cells) > 1
    if words:
        return words * 2 >= len(cells)
    if not known:
        lists_only = block is not None and block.header is not None and not block.header.names
        return lists_only and row.name.is_gpu and not cells and bool(row.tokens)
    return not cells or (len(cells) == 1 and is_stump(cells[0]))
