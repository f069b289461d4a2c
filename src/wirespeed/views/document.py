"""Document: what is to be shown, before anyone decides how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Heading:
    """What follows."""

    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """Some prose."""

    text: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its head and, below it, the unit; numbers are set to the right."""

    head: str
    unit: str = ""
    right: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text, row by row. A row whose number is in `strong` stands out."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    strong: frozenset[int] = field(default_factory=frozenset)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is what, a line each."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Items:
    """Points, one after the other; `odd` ones want attention."""

    texts: tuple[str, ...]
    odd: bool = False


Block = Heading | Sentence | Facts | Items | Table
Document = Sequence[Block]
