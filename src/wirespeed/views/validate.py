"""Errors by group, the worst records, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from wirespeed.validation.groups import Group
from wirespeed.validation.report import ValidationReport, WorstRecord
from wirespeed.views.document import Block, Column, Document, Heading, Items, Sentence, Table
from wirespeed.views.words import counted

_MOST_RECORDS = 20
_CLASS = ("platform", "operation", "size_class", "generation", "folds")
_FIGURES = (
    Column("rows"),
    Column("records"),
    Column("sources"),
    Column("median", "%"),
    Column("90th", "%"),
    Column("bias", "%"),
    Column("by source", "%"),
)


def document(report: ValidationReport) -> Document:
    """Tables by platform and size, by operation, by fold; the worst records; the skipped ones."""
    return tuple(_blocks(report))


def _blocks(report: ValidationReport) -> Iterator[Block]:
    records = len({row.record for row in report.rows})
    yield Heading(f"{counted(records, 'record')}, {counted(len(report.rows), 'row')}")
    yield Sentence(
        "Error: forecast time over measured time, less 1; medians of its absolute value. "
        "Healthy records count, of repeated runs beyond one NVLink domain the best."
    )
    yield from _table("By platform and size", report.groups, ("platform", "size_class"))
    yield from _table("By operation", report.groups, ("platform", "operation"))
    yield from _table("By generation", report.groups, ("platform", "generation"))
    yield from _table("By folds", report.groups, ("platform", "folds"))
    yield Heading("Worst records")
    yield _worst(report.worst[:_MOST_RECORDS])
    if report.skipped:
        yield Heading(f"{counted(len(report.skipped), 'record')} skipped")
        reasons = Counter(entry.reason for entry in report.skipped).most_common()
        yield Items(tuple(f"{count}: {reason}" for reason, count in reasons))
    if report.warnings:
        yield Heading("Notes")
        yield Items(tuple(f"{notice.text} ({notice.where})" for notice in report.warnings))


def _table(title: str, groups: Sequence[Group], names: tuple[str, ...]) -> Iterator[Block]:
    """Groups that are told apart by these names alone."""
    fixed = [name for name in _CLASS if name not in names]
    chosen = [g for g in groups if all(getattr(g, name) == "all" for name in fixed)]
    if not chosen:
        return
    yield Heading(title)
    columns = tuple(Column(name.replace("_", " "), right=False) for name in names)
    rows = tuple(_row(group, names) for group in chosen)
    strong = frozenset(
        k for k, g in enumerate(chosen) if all(getattr(g, n) == "all" for n in names[1:])
    )
    yield Table((*columns, *_FIGURES), rows, strong=strong)


def _row(group: Group, names: tuple[str, ...]) -> tuple[str, ...]:
    return (
        *(getattr(group, name) for name in names),
        str(group.rows),
        str(group.records),
        str(group.sources),
        _percent(group.median),
        _percent(group.p90),
        f"{group.bias * 100:+.1f}",
        _percent(group.source_median),
    )


def _worst(records: Sequence[WorstRecord]) -> Table:
    columns = (
        Column("record", right=False),
        Column("operation", right=False),
        Column("GPU", right=False),
        Column("nodes"),
        Column("ranks"),
        Column("rows"),
        Column("median", "%"),
        Column("bias", "%"),
    )
    rows = tuple(
        (
            entry.id or str(entry.record),
            entry.operation,
            entry.gpu,
            str(entry.nodes),
            str(entry.ranks),
            str(entry.rows),
            _percent(entry.median),
            f"{entry.bias * 100:+.1f}",
        )
        for entry in records
    )
    return Table(columns, rows)


def _percent(share: float) -> str:
    return f"{share * 100:.1f}"
