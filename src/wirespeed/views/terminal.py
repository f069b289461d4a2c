"""A document as text: with colour on a terminal, without anywhere else."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from typing import TextIO

from wirespeed.views.document import Block, Document, Facts, Heading, Items, Sentence, Table

PROSE_WIDTH = 100
_GAP = "  "
_BOLD, _RED, _PLAIN = "1", "31", ""
_HARD_SPACE = "\u00a0"
_UNIT = re.compile(r"(?<=\d) (?=GB/s|Gb/s|%)")
"""A number stays on one line with its unit."""


def write(document: Document, file: TextIO) -> None:
    """Print a document. A table that is wider than a terminal is left to the terminal."""
    coloured = file.isatty() and not os.environ.get("NO_COLOR")
    width = min(shutil.get_terminal_size().columns, PROSE_WIDTH) if file.isatty() else PROSE_WIDTH
    for text, style in _lines(document, width):
        file.write(f"\033[{style}m{text}\033[0m\n" if coloured and style else f"{text}\n")


def plain(document: Document) -> str:
    """The document as text without colour."""
    return "\n".join(text for text, _ in _lines(document, PROSE_WIDTH))


Line = tuple[str, str]
"""Text and its style, as the terminal's number for it."""


def _lines(document: Document, width: int) -> Iterator[Line]:
    for k, block in enumerate(document):
        if k and (isinstance(block, Heading) or isinstance(document[k - 1], Table)):
            yield "", _PLAIN
        yield from _block(block, width)


def _block(block: Block, width: int) -> Iterator[Line]:
    match block:
        case Heading():
            yield block.text, _BOLD
        case Sentence():
            yield from _indented(block.text, "", width)
        case Items():
            style = _RED if block.odd else _PLAIN
            for text in block.texts:
                yield from _indented(text, "! " if block.odd else "- ", width, style)
        case Facts():
            names = max(len(name) for name, _ in block.rows)
            for name, text in block.rows:
                yield from _indented(text, f"{name.ljust(names)}{_GAP}", width)
        case Table():
            yield from _table(block)


def _indented(text: str, begin: str, width: int, style: str = _PLAIN) -> Iterator[Line]:
    """Lines of at most that width; the first begins so, the others stand below its text."""
    glued = _UNIT.sub(_HARD_SPACE, text)
    lines = textwrap.wrap(glued, width - len(begin), break_long_words=False, break_on_hyphens=False)
    for k, line in enumerate(lines):
        yield f"{begin if k == 0 else ' ' * len(begin)}{line.replace(_HARD_SPACE, ' ')}", style


def _table(table: Table) -> Iterator[Line]:
    heads = [tuple(column.head for column in table.columns)]
    if any(column.unit for column in table.columns):
        heads.append(tuple(column.unit for column in table.columns))
    rights = [column.right for column in table.columns]
    widths = [max(map(len, cells)) for cells in zip(*heads, *table.rows, strict=True)]
    for head in heads:
        yield _row(head, widths, rights), _BOLD
    yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1)), _PLAIN
    for k, row in enumerate(table.rows):
        yield _row(row, widths, rights), _BOLD if k in table.strong else _PLAIN


def _row(cells: Iterable[str], widths: Iterable[int], rights: Iterable[bool]) -> str:
    """Cells under each other, no blanks at the end."""
    padded = (
        cell.rjust(width) if right else cell.ljust(width)
        for cell, width, right in zip(cells, widths, rights, strict=True)
    )
    return _GAP.join(padded).rstrip()
