"""Row, the columns that every table shares; reading a table; finding a row by name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from wirespeed.errors import UnknownName

DATA = Path(__file__).parent / "data"

Confidence = Literal["spec", "measured", "assumed"]
Basis = Literal["read", "via", "computed", "recall"]
Status = Literal["shipping", "announced", "roadmap"]


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every row says beside its own columns: its key, and how far to trust it."""

    key: str
    """Short and stable, unique in its table."""
    name: str
    """As the field writes it."""
    aliases: tuple[str, ...] = ()
    source: str
    """URL where the figures are published."""
    confidence: Confidence
    """Of the row as a whole: published, measured, or nobody's word but ours."""
    basis: Basis
    """Whether the figures were read at the source or in a text quoting it, computed or recalled."""
    assumed: tuple[str, ...] = ()
    """Columns that are less sure than the row: recalled, estimated or disputed."""
    check_source: str = ""
    """A second URL that the figures were held against."""
    doubt: str = ""
    """What is disputed, or how an estimate was made."""
    note: str = ""
    extra: dict[str, Any] = msgspec.field(default_factory=dict)
    """What the source also says and no code reads."""

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def names(self) -> tuple[str, ...]:
        """All that the row answers to."""
        return (self.key, self.name, *self.aliases)


R = TypeVar("R", bound=Row)


@cache
def _document(file: str) -> dict[str, Any]:
    return tomllib.loads((DATA / file).read_text(encoding="utf-8"))


def read(file: str, table: str, kind: type[R]) -> tuple[R, ...]:
    """All rows of `[[table]]` in a data file, in its order."""
    return tuple(msgspec.convert(row, kind) for row in _document(file)[table])


def plain(name: str) -> str:
    """A name without case, blanks and punctuation, so that spellings compare equal."""
    return re.sub(r"[^a-z0-9+.]", "", name.lower())


def find(kind: str, name: str, rows: Iterable[R]) -> R:
    """The row that bears this key, name or alias; UnknownName with the nearest keys otherwise."""
    rows = tuple(rows)
    wanted = plain(name)
    for row in rows:
        if any(plain(known) == wanted for known in row.names):
            return row
    raise UnknownName(kind, name, (row.key for row in rows))
