"""A call while other jobs run, or some ranks are late: what it takes, and what that costs whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.collectives.result import BesideRow, LateRow
from wirespeed.units import format_size
from wirespeed.views.document import Block, Column, Heading, Sentence, Table
from wirespeed.views.words import number, percent

_CLEARLY = 1.005


def beside(rows: Sequence[BesideRow]) -> Iterator[Block]:
    """One table for all jobs, and a sentence about the largest size."""
    others = rows[0].others
    yield Heading(f"Beside {', '.join(others)}, which {_repeat(len(others))} without a pause")
    columns = (
        Column("size"),
        Column("alone", "us"),
        Column("beside", "us"),
        Column("slower"),
        *(Column(f"{name} slower") for name in others),
        Column("both want" if len(others) == 1 else "all want", right=False),
    )
    yield Table(columns, tuple(map(_row, rows)))
    last = rows[-1]
    if not last.shared:
        why = "there is enough of all that they share"
        yield Sentence(f"At {format_size(last.size_bytes)} nobody is slowed: {why}.")
        return
    yield Sentence(
        f"At {format_size(last.size_bytes)} they want {percent(last.wanted)} of {last.shared}; "
        "each gets an equal part of it, or all that it wants where that is less."
    )


def late(row: LateRow) -> Iterator[Block]:
    """Who is late, and how much later the call ends for it."""
    yield Heading(f"With {', '.join(row.late)} late")
    size = format_size(row.size_bytes)
    yield Sentence(
        f"{size} ends {number(row.waited_us)} us later, {number(row.late_us)} us after the first "
        f"rank has come; with all there at once it takes {number(row.time_us)} us "
        f"({row.algorithm}, message by message)."
    )


def _repeat(jobs: int) -> str:
    return "repeats its call" if jobs == 1 else "repeat their calls"


def _row(row: BesideRow) -> tuple[str, ...]:
    return (
        format_size(row.size_bytes),
        number(row.time_us),
        number(row.beside_us),
        _times(row.slowdown),
        *map(_times, row.others_slowdown),
        row.shared,
    )


def _times(slowdown: float) -> str:
    return f"{slowdown:.2f}x" if slowdown > _CLEARLY else "–"
