"""training_report: forecast steps beside the published ones of a file, in the contract's names."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wirespeed.catalog import parameters
from wirespeed.comparison.training_bands import with_band
from wirespeed.comparison.training_setup import (
    TrainingSetup,
    TrainingWorkshop,
    training_setup_of,
)
from wirespeed.errors import WirespeedError
from wirespeed.readers.records import BadRecord
from wirespeed.readers.training_records import TrainingRecord
from wirespeed.topology.result import ParameterSet, Result
from wirespeed.topology.software import Notice
from wirespeed.training.compute import parameter_hash
from wirespeed.training.forecast import forecast_step
from wirespeed.training.memory import printed
from wirespeed.training.result import Breakdown, StepForecast
from wirespeed.training.utilisation import items_of
from wirespeed.validation.scored import Skipped
from wirespeed.validation.training_fitting import measured_seconds
from wirespeed.validation.training_groups import TrainingGroup, grouped
from wirespeed.validation.training_targets import Target, targets

JUDGED = ("A", "B")
"""Grades whose errors count; in others something essential is missing."""


class TrainingRow(msgspec.Struct, frozen=True):
    """One run."""

    record: int
    """Position in the file, from 0."""
    id: str
    group: str
    series: str
    fold: str
    grade: str
    gpu: str
    gpus: int
    nodes: int
    items: int
    """Tokens or images of a step."""
    measured_s: float | None
    forecast_s: float
    low_s: float | None
    high_s: float | None
    measured_mem_gib: float | None
    forecast_mem_gib: float
    chosen: tuple[str, ...]
    """What the record leaves open and was chosen."""
    error: float | None
    """Forecast over measured step time, less 1."""
    memory_error: float | None
    counts: bool
    """Whether the errors of its group take it: graded A or B."""
    breakdown_s: Breakdown


class TrainingReport(
    Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.validate_training/1"
):
    """Everything that `wirespeed validate` says of training runs."""

    groups: tuple[TrainingGroup, ...]
    targets: tuple[Target, ...]
    """What was aimed at, and what the runs of this file reach."""
    skipped: tuple[Skipped, ...]
    rows: tuple[TrainingRow, ...]


def training_report(
    records: Sequence[TrainingRecord], bad: Sequence[BadRecord] = (), *, sample: int | None = None
) -> TrainingReport:
    """Forecasts of all runs beside what was measured, and the errors by group.

    Runs that cannot be read or forecast are skipped with their reason; those without a time are
    forecast all the same. `sample` takes at most so many of a series, evenly from its first to its
    last.
    """
    workshop = TrainingWorkshop()
    rows: list[TrainingRow] = []
    skipped = [Skipped(entry.position, entry.reason) for entry in bad]
    notes: dict[Notice, list[int]] = {}
    for record in records if sample is None else thinned(records, sample):
        try:
            setup = training_setup_of(record.inputs)
            cluster = workshop.cluster(setup)
            forecast = with_band(forecast_step(setup.job, cluster, ran=True), cluster)
        except WirespeedError as error:
            reason = f"{error.what}: {error.why}" if error.why else error.what
            skipped.append(Skipped(record.position, reason, record.id))
            continue
        rows.append(_row(record, setup, forecast))
        for note in setup.setup.notes:
            notes.setdefault(note, []).append(record.position)
    return TrainingReport(
        groups=tuple(grouped(rows)),
        targets=tuple(targets(rows)),
        skipped=tuple(sorted(skipped, key=lambda entry: entry.record)),
        rows=tuple(rows),
        warnings=tuple(_warning(note, where) for note, where in notes.items()),
        parameters=ParameterSet(parameter_hash(parameters().digest)),
    )


def thinned(records: Sequence[TrainingRecord], most: int) -> list[TrainingRecord]:
    """At most so many records of each series, evenly from its first to its last, in their order."""
    series: dict[tuple[str, str], list[int]] = {}
    for k, record in enumerate(records):
        series.setdefault((record.group, record.series or str(k)), []).append(k)
    kept: set[int] = set()
    for members in series.values():
        count = min(most, len(members))
        kept.update(
            members[round(j * (len(members) - 1) / max(count - 1, 1))] for j in range(count)
        )
    return [records[k] for k in sorted(kept)]


def _row(record: TrainingRecord, setup: TrainingSetup, forecast: StepForecast) -> TrainingRow:
    measured, memory = measured_seconds(record), record.measured.peak_mem_gb
    held = printed(forecast.memory_GiB, record.measured.peak_mem_unit)
    job = setup.job
    return TrainingRow(
        record=record.position,
        id=record.id,
        group=record.group,
        series=record.series,
        fold=record.fold,
        grade=record.grade,
        gpu=record.inputs.cluster.gpu or "",
        gpus=forecast.gpus,
        nodes=setup.setup.wiring.nodes,
        items=items_of(job),
        measured_s=measured,
        forecast_s=forecast.step_time_s,
        low_s=forecast.low_s,
        high_s=forecast.high_s,
        measured_mem_gib=memory,
        forecast_mem_gib=held,
        chosen=tuple(
            f"{name}={forecast.layout[name]}" for name in (*setup.chosen, *forecast.chosen)
        ),
        error=forecast.step_time_s / measured - 1 if measured else None,
        memory_error=held / memory - 1 if memory else None,
        counts=record.grade in JUDGED,
        breakdown_s=forecast.breakdown_s,
    )


def _warning(note: Notice, where: Sequence[int]) -> Notice:
    noun = "record" if len(where) == 1 else "records"
    return Notice(note.code, note.text, f"{noun} {', '.join(map(str, where))}")
