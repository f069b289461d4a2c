"""Which device each column of a matrix stands for: from its header, or from where rows show X."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from wirespeed.errors import InputError
from wirespeed.evidence import Remark
from wirespeed.readers._matrix_blocks import Block, Row
from wirespeed.readers._matrix_header import Header
from wirespeed.readers._matrix_words import SELF, Name, is_bonded, is_word

MOST_DEVICES = 256
"""No host shows more; the facts grow with the square."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The devices of a matrix in column order; None for a column that nothing names."""

    names: tuple[Name | None, ...]
    inferred: frozenset[int]
    """Positions that were named by reasoning about their words, not by any name in the text."""
    remarks: tuple[Remark, ...]

    def position(self, name: Name) -> int | None:
        """The column of a device, or None."""
        return self.names.index(name) if name in self.names else None


def resolve_columns(block: Block, *, file: str) -> Columns:
    """The columns of a block with rows. Raises InputError where no device can be told."""
    header, width = block.header, row_width(block.rows)
    line = header.line if header else block.rows[0].line
    if header and not header.names and width == 0:
        return Columns((), frozenset(), ())
    given: list[Name | None] = _without_repeats(header.names) if header else []
    shown = _diagonal(block.rows)
    trusted = header is not None and _agrees(given, shown)
    names = given if trusted else []
    names = names + [None] * (max(width, max(shown, default=-1) + 1) - len(names))
    if len(names) > MOST_DEVICES:
        raise InputError(
            f"{len(names)} columns are too many for one host",
            where=f"{file}:{line}",
            why=f"a matrix has one column a device, and {MOST_DEVICES} devices are read at most",
            remedy="give the output of one host",
        )
    for position, name in shown.items():
        if names[position] is None and name not in names:
            names[position] = name
    _fill_between(names)
    inferred: frozenset[int] = frozenset()
    if not trusted:
        inferred = _name_by_bonds(names, block.rows)
    if not any(names):
        raise _unreadable(header, f"{file}:{line}")
    return Columns(tuple(names), inferred, tuple(_remarks(header, names, trusted, inferred, line)))


def row_width(rows: list[Row]) -> int:
    """How many device cells most rows have; where rows differ evenly, the larger count."""
    counts = Counter(cell_count(row) for row in rows)
    return max(counts, key=lambda width: (counts[width], width), default=0)


def cell_count(row: Row) -> int:
    """Cells of a row up to its last word; what follows are fields."""
    return max((at for at, token in enumerate(row.tokens, 1) if is_word(token)), default=0)


def _without_repeats(names: tuple[Name | None, ...]) -> list[Name | None]:
    """A name that a header bears twice says nothing about the second place."""
    return [None if name in names[:at] else name for at, name in enumerate(names)]


def _diagonal(rows: list[Row]) -> dict[int, Name]:
    """Position of X -> device, from rows with exactly one X."""
    shown: dict[int, Name] = {}
    for row in rows:
        if row.tokens.count(SELF) == 1 and row.name not in shown.values():
            shown.setdefault(row.tokens.index(SELF), row.name)
    return shown


def _agrees(given: list[Name | None], shown: dict[int, Name]) -> bool:
    """Whether most rows have their X under their own name, or under a name that got lost."""
    fits = sum(
        name not in given if at >= len(given) or given[at] is None else given[at] == name
        for at, name in shown.items()
    )
    return fits * 2 >= len(shown)


def _fill_between(names: list[Name | None]) -> None:
    """Name a column that stands between two of consecutive numbers: GPU4, ?, GPU6."""
    for at in range(1, len(names) - 1):
        before, after = names[at - 1], names[at + 1]
        if names[at] or before is None or after is None or before.prefix != after.prefix:
            continue
        if before.number is not None and after.number == before.number + 2:
            number = before.number + 1
            names[at] = Name(f"{before.prefix}{number}", before.prefix, number)


def _name_by_bonds(names: list[Name | None], rows: list[Row]) -> frozenset[int]:
    """Name the columns behind the last known GPU where bonded links tell GPUs from NICs.

    A bonded link leads to a GPU. Where most pairs of GPUs have one, a column without any is no GPU.
    Otherwise the column may be either, and stays without a name. A single row may be a cut one.
    """
    whole = sum(cell_count(row) == len(names) for row in rows)
    gpus = [at for at, name in enumerate(names) if name and name.is_gpu]
    if whole < 2 or not gpus or gpus != list(range(len(gpus))) or any(names[len(gpus) :]):
        return frozenset()
    reached = [
        at
        for at in range(len(gpus), len(names))
        if any(len(row.tokens) > at and is_bonded(row.tokens[at]) for row in rows)
    ]
    first_nic = max(reached, default=gpus[-1]) + 1
    last = names[gpus[-1]]
    if last is None or last.number is None:
        return frozenset()
    cells = [row.tokens[at] for row in rows for at in range(first_nic) if at < len(row.tokens)]
    if sum(map(is_bonded, cells)) * 2 <= len(cells) - len(rows):
        return frozenset()
    for at in range(len(gpus), first_nic):
        number = last.number + at - gpus[-1]
        names[at] = Name(f"{last.prefix}{number}", last.prefix, number)
    for at in range(first_nic, len(names)):
        names[at] = Name(f"NIC{at - first_nic}", "NIC", at - first_nic)
    return frozenset(range(len(gpus), len(names)))


def _unreadable(header: Header | None, where: str) -> InputError:
    if header is None:
        return InputError(
            "the matrix has no header, and its rows do not tell what the columns are",
            where=where,
            why="a row shows its own column by the X on the diagonal; no row has exactly one",
            remedy="paste the output of `nvidia-smi topo -m` from its first line on",
        )
    return InputError(
        "the header names no device that its rows know",
        where=where,
        why="neither the header nor the X of the rows tells what the columns are",
        remedy="paste the output of `nvidia-smi topo -m` from its first line on",
    )


def _remarks(
    header: Header | None,
    names: list[Name | None],
    trusted: bool,
    inferred: frozenset[int],
    line: int,
) -> list[Remark]:
    remarks = []
    if header is None:
        remarks.append(Remark("header-missing", _how_named(names, inferred), line))
    elif not trusted:
        text = f"the header does not fit its rows and is left aside: {_how_named(names, inferred)}"
        remarks.append(Remark("header-misfit", text, line))
    elif header.cut_at and not header.fields:
        text = f"the header breaks off in column {header.cut_at}; {_how_named(names, inferred)}"
        remarks.append(Remark("header-cut", text, line))
    elif header.unread:
        text = (
            f"the header's {' '.join(header.unread)!r} is no device; {_how_named(names, inferred)}"
        )
        remarks.append(Remark("unknown-word", text, line))
    if header and header.glued:
        text = "names in the header stand without blanks between them; they were taken apart"
        remarks.append(Remark("header-glued", text, line))
    unnamed = sum(name is None for name in names)
    if unnamed:
        text = f"{unnamed} of {len(names)} columns have no name and are left out"
        remarks.append(Remark("column-unnamed", text, line))
    return remarks


def _how_named(names: list[Name | None], inferred: frozenset[int]) -> str:
    """How the columns got their names, as a clause."""
    text = "its columns are named after the rows whose X stands in them"
    if not inferred:
        return text
    guessed = [name for at, name in enumerate(names) if at in inferred and name]
    gpus = [name.text for name in guessed if name.is_gpu]
    nics = len(guessed) - len(gpus)
    parts = [*gpus, *([f"{nics} NICs"] if nics else [])]
    return f"{text}; the bonded links tell the others: {', '.join(parts)}"
