"""training_held_out: steps forecast by parameters that have not seen their folds."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from wirespeed.comparison.training_bands import ANY, StepBand, StepClass, class_of
from wirespeed.readers.training_records import TrainingRecord
from wirespeed.training.compute import PaceValue
from wirespeed.validation.training_fitting import Run, prepared
from wirespeed.validation.training_report import JUDGED, TrainingRow

PARTS = 5
"""Into how many parts folds are dealt; each is forecast by a fit of the others."""
SHARE = 0.8
LEAST_RUNS, LEAST_FOLDS = 20, 3
"""What a class must have to get a band of its own."""

Floats = npt.NDArray[np.float64]
Values = Mapping[str, PaceValue]
Fit = Callable[[Sequence[Run]], Values]
Told = Callable[[str], None]


def parts_of(records: Sequence[TrainingRecord]) -> list[int]:
    """The part of each record: folds of a group are dealt out in turn, whole."""
    folds: dict[str, list[str]] = {}
    for group, fold in sorted({(r.group, _fold(r)) for r in records}):
        folds.setdefault(group, []).append(fold)
    return [
        (folds[r.group].index(_fold(r)) + zlib.crc32(r.group.encode())) % PARTS for r in records
    ]


def held_out(
    records: Sequence[TrainingRecord],
    fitted_on: Sequence[TrainingRecord],
    fit: Fit,
    told: Told | None = None,
) -> dict[int, float]:
    """By position, the step [s] that parameters forecast which were fitted without its fold.

    `fitted_on` are the records that a fit takes, where it does not hold them out; `fit` gives
    parameters for their runs. `told` hears how far it is.
    """
    judged = [record for record in records if record.grade in JUDGED]
    part = dict(zip((r.position for r in judged), parts_of(judged), strict=True))
    few = {record.position for record in fitted_on}
    runs = prepared(judged)
    found: dict[int, float] = {}
    for k in range(PARTS):
        others = [r for r in runs if r.record.position in few and part[r.record.position] != k]
        values = fit(others)
        mine = [run for run in runs if part[run.record.position] == k]
        found |= {run.record.position: run.seconds(values) for run in mine}
        if told:
            told(f"part {k + 1} of {PARTS}: {len(others)} runs fitted, {len(mine)} forecast")
    return found


def unseen(rows: Sequence[TrainingRow], seconds: Mapping[int, float]) -> list[TrainingRow]:
    """The rows with these forecasts in place of the shipped parameters'; without one, as it is."""
    return [
        msgspec.structs.replace(
            row,
            forecast_s=seconds[row.record],
            error=None if row.measured_s is None else seconds[row.record] / row.measured_s - 1,
        )
        if row.record in seconds
        else row
        for row in rows
    ]


def fit_bands(rows: Sequence[TrainingRow]) -> list[StepBand]:
    """Bands of all classes with enough runs and folds, from rows whose folds were held out.

    Folds weigh alike: a large collection says no more of the next run than a small one.
    """
    classes: dict[StepClass, list[TrainingRow]] = {}
    for row in rows:
        if row.counts and row.error is not None:
            for wide in class_of(row.gpu, row.nodes).broader():
                classes.setdefault(wide, []).append(row)
    bands = []
    for wide, members in classes.items():
        folds = {row.fold for row in members}
        enough = len(members) >= LEAST_RUNS and len(folds) >= LEAST_FOLDS
        if enough or wide.generation == ANY:
            bands.append(_band(wide, members, len(folds)))
    return sorted(bands, key=lambda band: (band.generation, band.reach))


def _band(wide: StepClass, rows: Sequence[TrainingRow], folds: int) -> StepBand:
    ratios = np.array([1 / (1 + row.error) for row in rows if row.error is not None])
    sizes = {row.fold: sum(other.fold == row.fold for other in rows) for row in rows}
    weights = np.array([1 / sizes[row.fold] for row in rows])
    low, high = (_quantile(ratios, weights, q) for q in ((1 - SHARE) / 2, (1 + SHARE) / 2))
    return StepBand(
        wide.generation,
        wide.reach,
        round(min(low, 1.0), 3),
        round(max(high, 1.0), 3),
        len(rows),
        folds,
    )


def _quantile(values: Floats, weights: Floats, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][np.searchsorted(reached, share)])


def _fold(record: TrainingRecord) -> str:
    return record.fold or record.series or record.id or str(record.position)
