"""Errors of training runs by collection, the worst runs, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from wirespeed.validation.training_groups import TrainingGroup
from wirespeed.validation.training_report import TrainingReport, TrainingRow
from wirespeed.validation.training_targets import Target
from wirespeed.views.document import Block, Column, Document, Heading, Items, Sentence, Table
from wirespeed.views.words import counted, number

_MOST_RUNS = 20
_COLUMNS = (
    Column("group", right=False),
    Column("runs"),
    Column("mean", "%"),
    Column("median", "%"),
    Column("90th", "%"),
    Column("bias", "%"),
    Column("tau"),
    Column("regret", "%"),
    Column("efficiency", "points"),
    Column("worst", "points"),
    Column("memory runs"),
    Column("memory", "%"),
)


def document(report: TrainingReport) -> Document:
    """A table of groups, the worst runs, the skipped ones."""
    return tuple(_blocks(report))


def _blocks(report: TrainingReport) -> Iterator[Block]:
    yield Heading(counted(len(report.rows), "run"))
    yield Sentence(
        "Error: forecast over measured step time, less 1. tau: rank correlation of layouts; "
        "regret: how much slower the layout is that the forecast prefers; efficiency: difference "
        "of scaling efficiency to the largest size inside a node, the mean and the worst; memory: "
        "median error of the peak. Runs of grade A and B count; for efficiency and memory all do."
    )
    if any(target.reached is not None for target in report.targets):
        yield Heading("Against the targets")
        yield _targets(report.targets)
    yield Heading("By collection")
    yield Table(_COLUMNS, tuple(map(_row, report.groups)), strong=frozenset({0}))
    worst = sorted(
        (r for r in report.rows if r.counts and r.error is not None), key=_off, reverse=True
    )
    if worst:
        yield Heading("Worst runs")
        columns = (
            Column("record"),
            Column("run", right=False),
            Column("GPUs"),
            Column("measured", "s"),
            Column("forecast", "s"),
            Column("error", "%"),
        )
        yield Table(columns, tuple(map(_worst, worst[:_MOST_RUNS])))
    if report.skipped:
        yield Heading(f"{counted(len(report.skipped), 'run')} skipped")
        reasons = Counter(entry.reason for entry in report.skipped).most_common()
        yield Items(tuple(f"{count}: {reason}" for reason, count in reasons))


def _off(row: TrainingRow) -> float:
    return abs(row.error or 0.0)


def _row(group: TrainingGroup) -> tuple[str, ...]:
    return (
        group.group,
        str(group.rows),
        *map(_percent, (group.mean, group.median, group.p90)),
        "" if group.bias is None else f"{group.bias * 100:+.1f}",
        "" if group.tau is None else f"{group.tau:.2f}",
        _percent(group.regret),
        "" if group.efficiency_points is None else f"{group.efficiency_points:.1f}",
        "" if group.efficiency_worst is None else f"{group.efficiency_worst:.1f}",
        str(group.memory_rows or ""),
        _percent(group.memory_median),
    )


def _worst(row: TrainingRow) -> tuple[str, ...]:
    assert row.measured_s is not None
    assert row.error is not None
    return (
        str(row.record),
        row.id,
        str(row.gpus),
        number(row.measured_s),
        number(row.forecast_s),
        f"{row.error * 100:+.0f}",
    )


FIGURES = {
    "mean": "mean error",
    "median": "median error",
    "tau": "Kendall's tau",
    "regret": "regret",
    "efficiency_points": "efficiency, mean",
    "efficiency_worst": "efficiency, worst",
    "memory_median": "median error of memory",
}


def figure(name: str, value: float) -> str:
    """A figure of a target with its unit."""
    if name == "tau":
        return f"{value:.2f}"
    if name.startswith("efficiency"):
        return f"{value:.1f} points"
    return f"{value * 100:.1f} %"


def _targets(targets: Sequence[Target]) -> Table:
    columns = (
        Column("runs of", right=False),
        Column("runs"),
        Column("figure", right=False),
        Column("target"),
        Column("reached"),
        Column("", right=False),
    )
    shown = [target for target in targets if target.reached is not None]
    rows = tuple(
        (
            target.name,
            str(target.runs),
            FIGURES[target.figure],
            figure(target.figure, target.limit),
            figure(target.figure, target.reached or 0.0),
            "met" if target.met else "missed",
        )
        for target in shown
    )
    return Table(columns, rows, strong=frozenset(k for k, t in enumerate(shown) if t.met))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share * 100:.1f}"
