"""What one call puts on links and parts, the busiest first."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.collectives.result import LoadReport, LoadRow
from wirespeed.units import format_size
from wirespeed.views.document import Block, Column, Heading, Sentence, Table
from wirespeed.views.words import LINKS, PARTS, counted, number, percent, rate

_MOST = 16
_COLUMNS = (
    Column("link or part", right=False),
    Column("alike"),
    Column("what", right=False),
    Column("wire", "GB/s"),
    Column("payload", "MB"),
    Column("of wire"),
    Column("busy", "us"),
)
_MB = 1e6


def loads(report: LoadReport) -> Iterator[Block]:
    """A table of the busiest resources."""
    how = f"{report.algorithm} {report.protocol}".strip()
    yield Heading(
        f"Loads of {format_size(report.size_bytes)} in {number(report.time_us)} us ({how})"
    )
    yield Table(_COLUMNS, tuple(map(_row, report.rows[:_MOST])))
    if (rest := len(report.rows) - _MOST) > 0:
        yield Sentence(f"{counted(rest, 'kind')} of links and parts are less busy; --json has all.")


def _row(row: LoadRow) -> tuple[str, ...]:
    words = LINKS if ">" in row.name else PARTS
    return (
        row.name,
        f"{row.count:,}",
        words.get(row.kind, row.kind),
        rate(row.bandwidth_GBps),
        number(row.bytes / _MB),
        percent(row.share),
        number(row.busy_us),
    )
