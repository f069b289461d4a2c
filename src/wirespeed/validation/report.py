"""report: forecasts beside the published measurements of a file, in the contract's names."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from wirespeed.catalog import parameters
from wirespeed.readers.records import BadRecord, Record
from wirespeed.topology.result import ParameterSet, Result
from wirespeed.topology.software import Notice
from wirespeed.validation.groups import Group, grouped
from wirespeed.validation.scored import ScoredRow, Skipped, score_all


class ReportRow(msgspec.Struct, frozen=True):
    """One measured row. GB are 1e9 bytes; copies in both directions are summed."""

    record: int
    """Position in the file, from 0."""
    row: int
    """Position in `rows`, or in `rows_inplace`."""
    id: str
    in_place: bool
    size_bytes: int | None
    forecast_size_bytes: int
    measured_us: float | None
    forecast_us: float
    measured_GBps: float | None
    forecast_GBps: float
    low_us: float | None
    high_us: float | None
    error: float | None
    """Forecast time over measured time, less 1."""
    counts: bool
    """Whether the groups take it: healthy, the best of repeated runs."""
    algorithm: str
    protocol: str


class WorstRecord(msgspec.Struct, frozen=True):
    """A record by how far off its forecast is."""

    record: int
    id: str
    platform: str
    operation: str
    gpu: str
    nodes: int
    ranks: int
    rows: int
    median: float
    bias: float


class ValidationReport(
    Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.validate/1"
):
    """Everything that `wirespeed validate` says of collectives."""

    groups: tuple[Group, ...]
    worst: tuple[WorstRecord, ...]
    """Healthy records, the worst median first."""
    skipped: tuple[Skipped, ...]
    rows: tuple[ReportRow, ...]


def report(records: Sequence[Record], bad: Sequence[BadRecord] = ()) -> ValidationReport:
    """Forecasts of all records beside what was measured, and the errors by group.

    Records that cannot be read or forecast are skipped with their reason.
    """
    rows, skipped, scorer = score_all(records)
    unread = [Skipped(entry.position, entry.reason) for entry in bad]
    return ValidationReport(
        groups=tuple(grouped(rows, fitted_folds())),
        worst=tuple(worst_records(rows)),
        skipped=tuple(sorted([*skipped, *unread], key=lambda entry: entry.record)),
        rows=tuple(map(_row, rows)),
        warnings=tuple(_warning(note, where) for note, where in scorer.notes.items()),
        parameters=ParameterSet(parameters().digest),
    )


def fitted_folds() -> frozenset[str]:
    """Folds that any parameter was fitted on."""
    return frozenset(fold for entry in parameters().table.values() for fold in entry.folds)


def worst_records(rows: Sequence[ScoredRow]) -> list[WorstRecord]:
    """Healthy records, the worst median absolute error first."""
    by_record: dict[int, list[ScoredRow]] = {}
    for row in rows:
        if row.counts:
            by_record.setdefault(row.record.position, []).append(row)
    worst = [_worst(members) for members in by_record.values()]
    return sorted(worst, key=lambda entry: (-entry.median, entry.record))


def _worst(rows: Sequence[ScoredRow]) -> WorstRecord:
    record, first = rows[0].record, rows[0]
    errors = np.array([row.error for row in rows])
    return WorstRecord(
        record=record.position,
        id=record.id,
        platform=first.platform.value,
        operation=record.inputs.collective,
        gpu=record.inputs.cluster.gpu or "",
        nodes=first.compared.forecast.nodes,
        ranks=first.compared.forecast.ranks,
        rows=len(rows),
        median=float(np.median(np.abs(errors))),
        bias=float(np.median(errors)),
    )


def _row(row: ScoredRow) -> ReportRow:
    compared = row.compared
    return ReportRow(
        record=row.record.position,
        row=row.number,
        id=row.record.id,
        in_place=row.in_place,
        size_bytes=compared.size,
        forecast_size_bytes=compared.forecast_size,
        measured_us=compared.measured_us,
        forecast_us=compared.forecast.time_us,
        measured_GBps=compared.measured_GBps,
        forecast_GBps=compared.forecast_GBps,
        low_us=compared.forecast.low_us,
        high_us=compared.forecast.high_us,
        error=compared.error,
        counts=row.counts,
        algorithm=compared.forecast.algorithm,
        protocol=compared.forecast.protocol,
    )


def _warning(note: Notice, where: Sequence[int]) -> Notice:
    listed = ", ".join(map(str, where[:8])) + (" …" if len(where) > 8 else "")
    return Notice(note.code, note.text, f"record{'s' if len(where) > 1 else ''} {listed}")
