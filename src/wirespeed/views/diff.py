"""Before and after: the sentence, what is otherwise, size by size."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.comparison.diff import DiffReport, DiffRow
from wirespeed.units import format_size
from wirespeed.views.document import Block, Column, Document, Heading, Items, Sentence, Table
from wirespeed.views.words import number

_ROWS = (
    Column("operation", right=False),
    Column("size"),
    Column("place", right=False),
    Column("before", "us"),
    Column("after", "us"),
    Column("change"),
    Column("noise"),
    Column("busbw", "GB/s"),
    Column("after", "GB/s"),
    Column("", right=False),
)
_DIFFERENCES = (
    Column("what", right=False),
    Column("name", right=False),
    Column("before", right=False),
    Column("after", right=False),
)
_MOST = 40


def document(report: DiffReport) -> Document:
    """What a person reads."""
    return tuple(_blocks(report))


def _blocks(report: DiffReport) -> Iterator[Block]:
    yield Heading(f"{report.before} and {report.after}: {report.verdict}")
    if report.verdict in ("same", "faster"):
        yield Sentence(report.sentence)
    else:
        yield Items((report.sentence,), odd=True)
    if report.differences:
        shown = report.differences[:_MOST]
        yield Table(
            _DIFFERENCES,
            tuple((d.what, d.name, d.before or "-", d.after or "-") for d in shown),
        )
        if len(report.differences) > _MOST:
            yield Sentence(f"and {len(report.differences) - _MOST} more; --json has all.")
    if report.rows:
        odd = frozenset(k for k, row in enumerate(report.rows) if row.verdict != "same")
        yield Table(_ROWS, tuple(map(_row, report.rows)), strong=odd)
    if report.warnings:
        yield Heading("Notes")
        yield Items(tuple(f"{w.text} ({w.where})" for w in report.warnings))


def _row(row: DiffRow) -> tuple[str, ...]:
    return (
        row.operation,
        format_size(row.size_bytes),
        "in" if row.in_place else "out",
        number(row.before_us),
        number(row.after_us),
        f"{row.change * 100:+.1f} %",
        f"{row.noise * 100:.0f} %",
        "" if row.before_busbw_GBps is None else number(row.before_busbw_GBps),
        "" if row.after_busbw_GBps is None else number(row.after_busbw_GBps),
        "" if row.verdict == "same" else row.verdict,
    )
