"""The drop: what becomes of busbw when a job grows over more nodes and leaves the NVLink domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.collectives.result import ClusterRow, ForecastRow
from wirespeed.units import format_size
from wirespeed.views.document import Block, Column, Heading, Sentence, Table
from wirespeed.views.words import counted, listed, number, times

_SIZES = (2**20, 2**26)
"""1M and 64M stand beside the plateau, where the table has them."""


def drop(
    tables: Sequence[Sequence[ForecastRow]], clusters: Sequence[ClusterRow]
) -> Iterator[Block]:
    """A table with a row for each number of nodes, and the sentence that sums it up."""
    inside = {c.nodes for c in clusters if c.nvlink_domains == 1}
    left = [rows for rows in tables if rows[0].nodes not in inside]
    base = next((rows for rows in tables if rows[0].nodes in inside), tables[0])
    yield Heading("Leaving the NVLink domain" if left and inside else "Over nodes")
    sizes = _common(tables)
    columns = (
        Column("nodes"),
        Column("GPUs"),
        *(Column(f"busbw {format_size(size)}", "GB/s") for size in sizes),
        Column("drop" if len(sizes) == 1 else f"at {format_size(sizes[-1])}"),
        Column("algorithm", right=False),
        Column("bottleneck", right=False),
    )
    yield Table(columns, tuple(_row(rows, base, sizes) for rows in tables))
    if left and inside:
        yield Sentence(" ".join(_sentences(base, left, sizes)))


def _common(tables: Sequence[Sequence[ForecastRow]]) -> list[int]:
    """1M, 64M and the largest size, as far as the tables have them."""
    have = [row.size_bytes for row in tables[0]]
    return [size for size in _SIZES if size in have and size < have[-1]] + [have[-1]]


def _row(
    rows: Sequence[ForecastRow], base: Sequence[ForecastRow], sizes: Sequence[int]
) -> tuple[str, ...]:
    last = rows[-1]
    return (
        f"{last.nodes:,}",
        f"{last.ranks:,}",
        *(number(_at(rows, size)) for size in sizes),
        "1" if rows is base else times(_at(rows, sizes[-1]) / _at(base, sizes[-1])),
        f"{last.algorithm} {last.protocol}".strip(),
        last.bottleneck,
    )


def _sentences(
    base: Sequence[ForecastRow], left: Sequence[Sequence[ForecastRow]], sizes: Sequence[int]
) -> Iterator[str]:
    """What the first step out of the domain costs at each of the sizes, and the last one."""
    first, last = left[0], left[-1]
    changes = ", ".join(
        f"at {format_size(size)} from {number(_at(base, size))} to {_changed(first, base, size)}"
        for size in sizes
    )
    inside = counted(base[0].ranks, "GPU")
    beyond = f"{first[0].ranks:,} on {counted(first[0].nodes, 'node')}"
    yield f"From {inside} inside the NVLink domain to {beyond}, busbw goes {changes}."
    if last is not first:
        ends = listed([f"{_changed(last, base, s)} at {format_size(s)}" for s in sizes])
        yield f"On {counted(last[0].nodes, 'node')} it is {ends}."


def _changed(rows: Sequence[ForecastRow], base: Sequence[ForecastRow], size: int) -> str:
    value = _at(rows, size)
    return f"{number(value)} GB/s ({times(value / _at(base, size))})"


def _at(rows: Sequence[ForecastRow], size: int) -> float:
    return next(row.busbw_GBps for row in rows if row.size_bytes == size)
