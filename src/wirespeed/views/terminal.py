"""A document as text: on a terminal with colour, in a pipe without."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from typing import TextIO

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from wirespeed.views.document import Block, Document, Facts, Heading, Sentence, Table

PROSE_WIDTH = 100
_UNLIMITED = 10_000
_MARKS = {"note": "", "warning": "note: ", "oddity": "! "}
_STYLES = {"note": "", "warning": "yellow", "oddity": "bold red"}


def write(document: Document, file: TextIO) -> None:
    """Print a document: with colour on a terminal, as plain text anywhere else.

    A table that is wider than a terminal is left to the terminal.
    """
    if not file.isatty():
        file.write(plain(document) + "\n")
        return
    console = Console(file=file, highlight=False)
    _print(document, console, prose=min(console.width, PROSE_WIDTH))


def plain(document: Document) -> str:
    """The document as text without colour and without blanks at the ends of lines."""
    file = io.StringIO()
    _print(document, Console(file=file, highlight=False, color_system=None), prose=PROSE_WIDTH)
    return "\n".join(line.rstrip() for line in file.getvalue().rstrip().splitlines())


def _print(document: Document, console: Console, prose: int) -> None:
    console.width = _UNLIMITED
    for k, block in enumerate(document):
        if k and (isinstance(block, Heading) or isinstance(document[k - 1], Table)):
            console.print()
        for line in _lines(block, prose):
            console.print(line)


def _lines(block: Block, prose: int) -> Iterator[Text | RichTable]:
    match block:
        case Heading():
            yield Text(block.text, "bold")
        case Sentence():
            text = _MARKS[block.kind] + block.text
            yield Text(textwrap.fill(text, prose, break_long_words=False), _STYLES[block.kind])
        case Facts():
            yield from _facts(block, prose)
        case Table():
            yield _table(block)


def _facts(block: Facts, prose: int) -> Iterator[Text]:
    """Names in a column of their own; long texts go on below their first line."""
    width = max(len(name) for name, _ in block.rows) + 2
    for name, text in block.rows:
        lines = textwrap.wrap(text, prose - width, break_long_words=False)
        yield Text.assemble((name.ljust(width), "bold"), f"\n{' ' * width}".join(lines))


def _table(block: Table) -> RichTable:
    table = RichTable(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    has_units = any(column.unit for column in block.columns)
    for column in block.columns:
        head = f"{column.head}\n{column.unit}" if has_units else column.head
        table.add_column(Text(head), justify="right" if column.right else "left", no_wrap=True)
    for k, row in enumerate(block.rows):
        table.add_row(*map(Text, row), style="bold" if k in block.strong else "")
    return table
