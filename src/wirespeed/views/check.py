"""A measurement beside its forecast: the sentence, then row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.comparison.check import CheckReport, CheckRow
from wirespeed.topology.software import Notice
from wirespeed.units import format_size
from wirespeed.views.document import Block, Column, Document, Heading, Items, Sentence, Table
from wirespeed.views.words import counted, number

_COLUMNS = (
    Column("operation", right=False),
    Column("size"),
    Column("place", right=False),
    Column("measured", "us"),
    Column("forecast", "us"),
    Column("from", "us"),
    Column("to", "us"),
    Column("busbw", "GB/s"),
    Column("expected", "GB/s"),
    Column("how", right=False),
    Column("", right=False),
)


def document(report: CheckReport) -> Document:
    """The verdict, the table and what is to be known about them."""
    return tuple(_blocks(report))


def _blocks(report: CheckReport) -> Iterator[Block]:
    where = f"{counted(report.nodes, 'node')}, {counted(report.ranks, 'GPU')}"
    yield Heading(f"{report.machine}, {where}: {report.verdict}")
    if report.verdict == "ok":
        yield Sentence(report.sentence)
    else:
        yield Items((report.sentence,), odd=True)
    yield rows_table(report.rows)
    if not report.banded:
        yield Sentence(
            "There is no validated band for these rows: from and to are what repeated runs of one "
            "machine differ by."
        )
    if report.warnings:
        yield Heading("Notes")
        yield Items(tuple(_note(warning) for warning in report.warnings))


def rows_table(rows: Sequence[CheckRow]) -> Table:
    """Measured rows beside their forecast; those outside of their range stand out."""
    odd = frozenset(k for k, row in enumerate(rows) if row.verdict != "ok")
    return Table(_COLUMNS, tuple(map(_row, rows)), strong=odd)


def _note(notice: Notice) -> str:
    return f"{notice.text} ({notice.where})" if notice.where else notice.text


def _row(row: CheckRow) -> tuple[str, ...]:
    busbw = "" if row.measured_busbw_GBps is None else number(row.measured_busbw_GBps)
    return (
        row.operation,
        format_size(row.size_bytes),
        "in" if row.in_place else "out",
        number(row.measured_us),
        number(row.forecast_us),
        number(row.low_us),
        number(row.high_us),
        busbw,
        number(row.forecast_busbw_GBps),
        f"{row.algorithm} {row.protocol}".strip(),
        "" if row.verdict == "ok" else row.verdict,
    )
