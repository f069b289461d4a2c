"""training_report: forecast steps beside the published ones of a file, in the contract's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from wirespeed.catalog import parameters
from wirespeed.comparison.training_setup import TrainingWorkshop, training_setup_of
from wirespeed.errors import WirespeedError
from wirespeed.readers.records import BadRecord
from wirespeed.readers.training_records import TrainingRecord
from wirespeed.topology.result import ParameterSet, Result
from wirespeed.training.forecast import forecast_step
from wirespeed.training.memory import printed
from wirespeed.training.result import Breakdown, StepForecast
from wirespeed.validation.scored import Skipped
from wirespeed.validation.training_fitting import measured_seconds
from wirespeed.validation.training_groups import TrainingGroup, grouped


class TrainingRow(msgspec.Struct, frozen=True):
    """One run."""

    record: int
    """Position in the file, from 0."""
    id: str
    group: str
    series: str
    gpus: int
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
    breakdown_s: Breakdown


class TrainingReport(
    Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.validate_training/1"
):
    """Everything that `wirespeed validate` says of training runs."""

    groups: tuple[TrainingGroup, ...]
    skipped: tuple[Skipped, ...]
    rows: tuple[TrainingRow, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """A record with its forecast."""

    record: TrainingRecord
    forecast: StepForecast


def training_report(
    records: Sequence[TrainingRecord], bad: Sequence[BadRecord] = ()
) -> TrainingReport:
    """Forecasts of all runs beside what was measured, and the errors by group.

    Runs that cannot be read or forecast are skipped with their reason; those without a time are
    forecast all the same.
    """
    workshop = TrainingWorkshop()
    rows: list[TrainingRow] = []
    skipped = [Skipped(entry.position, entry.reason) for entry in bad]
    for record in records:
        try:
            setup = training_setup_of(record.inputs)
            forecast = forecast_step(setup.job, workshop.cluster(setup))
        except WirespeedError as error:
            reason = f"{error.what}: {error.why}" if error.why else error.what
            skipped.append(Skipped(record.position, reason))
            continue
        rows.append(_row(record, forecast))
    grades = {record.position: record.grade for record in records}
    judged = [row for row in rows if grades[row.record] in ("A", "B")]
    return TrainingReport(
        groups=tuple(grouped(judged)),
        skipped=tuple(sorted(skipped, key=lambda entry: entry.record)),
        rows=tuple(rows),
        parameters=ParameterSet(parameters().digest),
    )


def _row(record: TrainingRecord, forecast: StepForecast) -> TrainingRow:
    measured, memory = measured_seconds(record), record.measured.peak_mem_gb
    held = printed(forecast.memory_GiB, record.measured.peak_mem_unit)
    return TrainingRow(
        record=record.position,
        id=record.id,
        group=record.group,
        series=record.series,
        gpus=forecast.gpus,
        items=round(forecast.tokens_per_s_per_gpu * forecast.step_time_s * forecast.gpus),
        measured_s=measured,
        forecast_s=forecast.step_time_s,
        low_s=forecast.low_s,
        high_s=forecast.high_s,
        measured_mem_gib=memory,
        forecast_mem_gib=held,
        chosen=tuple(f"{name}={forecast.layout[name]}" for name in forecast.chosen),
        error=forecast.step_time_s / measured - 1 if measured else None,
        memory_error=held / memory - 1 if memory else None,
        breakdown_s=forecast.breakdown_s,
    )
