"""training_groups: the errors of a collection of runs in a few figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import numpy.typing as npt

from wirespeed.validation.baseline import ALLOWED, Worsened, no_baseline

if TYPE_CHECKING:
    from wirespeed.validation.training_report import TrainingRow

Floats = npt.NDArray[np.float64]

_LEAST_LAYOUTS = 5
"""What a series must have to be ranked."""


class TrainingGroup(msgspec.Struct, frozen=True):
    """Errors of one collection; relative errors of step time but where said."""

    group: str
    rows: int
    mean: float | None
    """Of the absolute error."""
    median: float | None
    p90: float | None
    bias: float | None
    """Median of the signed error: above 0 the forecast is too slow."""
    tau: float | None
    """Kendall's rank correlation of layouts, the mean over series of five or more."""
    regret: float | None
    """How much slower the layout is that the forecast prefers than the best, the mean over them."""
    efficiency_points: float | None
    """Difference of scaling efficiency [percentage points], mean absolute over sizes of series."""
    efficiency_worst: float | None
    """The largest of them."""
    memory_rows: int
    memory_median: float | None


def grouped(rows: Iterable[TrainingRow]) -> list[TrainingGroup]:
    """Figures of each collection, in order of name, and of all together first."""
    known = list(rows)
    names = sorted({row.group for row in known})
    return [group("all", known), *(group(n, [r for r in known if r.group == n]) for n in names)]


def group(name: str, rows: Sequence[TrainingRow]) -> TrainingGroup:
    """Figures of some runs; those that do not count tell of scaling and memory alone."""
    signed = np.array([row.error for row in rows if row.counts and row.error is not None])
    off = np.abs(signed)
    memory = np.abs([row.memory_error for row in rows if row.memory_error is not None])
    series = _by_series(rows)
    judged = [[row for row in s if row.counts] for s in series]
    ranked = [s for s in judged if len(s) >= _LEAST_LAYOUTS and len({r.gpus for r in s}) == 1]
    points = np.concatenate([np.zeros(0), *map(_points, series)])
    return TrainingGroup(
        group=name,
        rows=len(off),
        mean=_or_none(off, np.mean),
        median=_or_none(off, np.median),
        p90=_or_none(off, lambda values: np.quantile(values, 0.9)),
        bias=_or_none(signed, np.median),
        tau=_or_none(np.array([kendall_tau(*_times(s)) for s in ranked]), np.mean),
        regret=_or_none(np.array([regret(*_times(s)) for s in ranked]), np.mean),
        efficiency_points=_or_none(points, np.mean),
        efficiency_worst=_or_none(points, np.max),
        memory_rows=len(memory),
        memory_median=_or_none(memory, np.median),
    )


def kendall_tau(measured: Floats, forecast: Floats) -> float:
    """Kendall's tau-b of two orders: 1 where all pairs agree, -1 where none does."""
    one = np.sign(measured[:, None] - measured)
    other = np.sign(forecast[:, None] - forecast)
    ties = np.sqrt((one**2).sum() * (other**2).sum())
    return float((one * other).sum() / ties) if ties else 1.0


def regret(measured: Floats, forecast: Floats) -> float:
    """How much slower what the forecast prefers is than the best, as measured."""
    return float(measured[int(forecast.argmin())] / measured.min() - 1)


def _by_series(rows: Sequence[TrainingRow]) -> list[list[TrainingRow]]:
    found: dict[str, list[TrainingRow]] = {}
    for row in rows:
        if row.error is not None and row.series:
            found.setdefault(row.series, []).append(row)
    return list(found.values())


def _times(rows: Sequence[TrainingRow]) -> tuple[Floats, Floats]:
    return (
        np.array([row.measured_s for row in rows], np.float64),
        np.array([row.forecast_s for row in rows], np.float64),
    )


def _points(rows: Sequence[TrainingRow]) -> Floats:
    """Differences of efficiency, in points, of each size of a series against its base.

    The base is the largest size within one node, or the smallest where all are larger: what happens
    inside a node is not about scaling over nodes. Of several runs of a size the fastest counts.
    """
    best: dict[int, TrainingRow] = {}
    for row in rows:
        if row.gpus not in best or _rate(row) > _rate(best[row.gpus]):
            best[row.gpus] = row
    inside = [gpus for gpus, row in best.items() if row.nodes == 1]
    base = best[max(inside) if inside else min(best)]
    larger = [row for gpus, row in best.items() if gpus > base.gpus]
    measured = np.array([_rate(row) / _rate(base) for row in larger])
    forecast = np.array([_forecast_rate(row) / _forecast_rate(base) for row in larger])
    return np.asarray(np.abs(forecast - measured) * 100)


def _rate(row: TrainingRow) -> float:
    """Items a second and GPU as measured."""
    assert row.measured_s
    return row.items / row.measured_s / row.gpus


def _forecast_rate(row: TrainingRow) -> float:
    return row.items / row.forecast_s / row.gpus


def _or_none(values: Floats, figure: Callable[[Floats], float]) -> float | None:
    return float(figure(values)) if len(values) else None


def worsened(before: Iterable[TrainingGroup], now: Iterable[TrainingGroup]) -> list[Worsened]:
    """Groups of a baseline whose median error grew by over a point, or that lost their rows."""
    current = {group.group: group.median for group in now}
    found = []
    for group in before:
        if group.median is None:
            continue
        latest = current.get(group.group)
        if latest is None or latest > group.median + ALLOWED:
            found.append(Worsened(group.group, group.median, latest))
    return found


class _Saved(msgspec.Struct):
    groups: tuple[TrainingGroup, ...]


def read_training_baseline(data: bytes, *, file: str) -> tuple[TrainingGroup, ...]:
    """The groups of a report that was saved as JSON; InputError for anything else."""
    try:
        return msgspec.json.decode(data, type=_Saved).groups
    except msgspec.DecodeError as error:
        raise no_baseline(file, str(error)) from None
