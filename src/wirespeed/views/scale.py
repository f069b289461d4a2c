"""A training over the size of the cluster: rate, efficiency, what is exposed."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.planning.scaling import ScaleReport, ScaleRow
from wirespeed.views.document import Block, Column, Document, Facts, Heading, Items, Sentence, Table
from wirespeed.views.layout import layout_words
from wirespeed.views.words import counted, number, percent

_COLUMNS = (
    Column("nodes"),
    Column("GPUs"),
    Column("batch"),
    Column("step", "s"),
    Column("tokens/s/GPU"),
    Column("efficiency"),
    Column("MFU"),
    Column("micro"),
    Column("recompute", right=False),
    Column("compute"),
    Column("tp"),
    Column("dp"),
    Column("pp"),
    Column("bubble"),
    Column("host"),
)

_VARIES = ("dp", "micro_batch", "recompute")
"""Fields of a layout that may be others at each size."""


def document(report: ScaleReport) -> Document:
    """One table, and where communication stops being hidden."""
    return tuple(_blocks(report))


def _blocks(report: ScaleReport) -> Iterator[Block]:
    grows = "the batch grows with it" if report.mode == "weak" else "the batch stays"
    yield Heading(f"{report.model} on {report.cluster}, {report.mode} scaling: {grows}")
    yield Facts(tuple(_facts(report)))
    yield Table(_COLUMNS, tuple(map(_row, report.rows)))
    for sentence in report.sentences:
        yield Sentence(sentence)
    if report.left_out:
        yield Heading("Left out")
        texts = (f"{counted(entry.nodes, 'node')}: {entry.reason}" for entry in report.left_out)
        yield Items(tuple(texts))
    if report.warnings:
        yield Heading("Notes")
        yield Items(tuple(warning.text for warning in report.warnings))


def _facts(report: ScaleReport) -> Iterator[tuple[str, str]]:
    yield "Job", f"{report.framework}, {report.precision}, sequences of {report.seq_len:,}"
    first = report.rows[0]
    same = {name: value for name, value in first.layout.items() if name not in _VARIES}
    yield "Layout", layout_words(same, first.chosen)
    fabrics = dict.fromkeys(row.fabric for row in report.rows if row.fabric)
    if fabrics:
        yield "Fabric", ", ".join(fabrics)


def _row(row: ScaleRow) -> tuple[str, ...]:
    spent = row.breakdown_s
    parts = (spent.compute, spent.exposed_tp, spent.exposed_dp, spent.exposed_pp)
    return (
        str(row.nodes),
        f"{row.gpus:,}",
        f"{row.global_batch:,}",
        number(row.step_time_s),
        number(row.tokens_per_s_per_gpu),
        percent(row.efficiency),
        percent(row.mfu),
        str(row.layout["micro_batch"]),
        str(row.layout["recompute"]),
        *(percent(part / row.step_time_s) for part in (*parts, spent.bubble, spent.host)),
    )
