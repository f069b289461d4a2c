"""Expected numbers as a table for each number of nodes."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.comparison.expect import ExpectReport, ExpectRow
from wirespeed.units import format_size
from wirespeed.views.document import (
    Block,
    Column,
    Document,
    Facts,
    Heading,
    Items,
    Sentence,
    Table,
)
from wirespeed.views.words import counted, number

_COLUMNS = (
    Column("operation", right=False),
    Column("size"),
    Column("time", "us"),
    Column("algbw", "GB/s"),
    Column("busbw", "GB/s"),
    Column("from", "GB/s"),
    Column("to", "GB/s"),
    Column("how", right=False),
)


def document(report: ExpectReport) -> Document:
    """Facts and a table for each number of nodes."""
    return tuple(_blocks(report))


def _blocks(report: ExpectReport) -> Iterator[Block]:
    yield Heading(f"{report.machine}: what to expect")
    yield Facts((("GPU", report.gpu), ("Library", report.library)))
    for nodes in dict.fromkeys(row.nodes for row in report.rows):
        rows = [row for row in report.rows if row.nodes == nodes]
        ranks = max(row.ranks for row in rows)
        yield Heading(f"{counted(nodes, 'node')}, {counted(ranks, 'GPU')}")
        yield Table(_COLUMNS, tuple(map(_row, rows)))
    if any(row.low_us is None for row in report.rows):
        yield Sentence(
            "Where there is no validated band, from and to are what repeated runs differ by."
        )
    if report.warnings:
        yield Heading("Notes")
        yield Items(tuple(warning.text for warning in report.warnings))


def _row(row: ExpectRow) -> tuple[str, ...]:
    return (
        row.operation,
        format_size(row.size_bytes),
        number(row.time_us),
        number(row.algbw_GBps),
        number(row.busbw_GBps),
        number(row.low_busbw_GBps),
        number(row.high_busbw_GBps),
        f"{row.algorithm} {row.protocol}".strip(),
    )
