"""Measured rows beside a forecast: which size is forecast, and what is compared with what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.collectives.operation import COPIES, Operation
from wirespeed.collectives.result import ForecastRow
from wirespeed.readers.records import RecordRow

PLATEAU = 4 * 2**30
"""[B] at which a plateau is forecast."""
COPY_PLATEAU = 256 * 2**20
"""[B] for copies."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One measured row and its forecast; what was not measured is None.

    Attributes:
        forecast_size: [B] that was forecast: the row's own, or that of a plateau.
        measured_us: the time as printed, or what size and bandwidth make of it; None for a
            plateau, where a printed time belongs to something else.
        measured_GBps: busbw as printed, algbw where only that is; of copies algbw.
        error: forecast time over measured time, less 1; None where nothing can be compared.
    """

    size: int | None
    forecast_size: int
    measured_us: float | None
    measured_GBps: float | None
    forecast: ForecastRow
    forecast_GBps: float
    error: float | None


def forecast_size(row: RecordRow, operation: Operation) -> int:
    """The size [B] at which a measured row is forecast; an empty message as one byte."""
    if row.size is None:
        return COPY_PLATEAU if operation in COPIES else PLATEAU
    return max(row.size, 1)


def compare(row: RecordRow, forecast: ForecastRow, operation: Operation) -> Compared:
    """A measured row beside the forecast of its size.

    Times are compared where one is printed or follows from size and bandwidth, bandwidths else.
    """
    use_bus = row.busbw is not None and operation not in COPIES
    bandwidth = row.busbw if use_bus else row.algbw
    expected = forecast.busbw_GBps if use_bus else forecast.algbw_GBps
    time = None if row.size is None else row.time_us
    error = None
    if row.size is not None and row.size > 0 and time:
        error = forecast.time_us / time - 1
    elif row.size != 0 and bandwidth:
        error = bandwidth / expected - 1
    return Compared(
        size=row.size,
        forecast_size=forecast_size(row, operation),
        measured_us=time,
        measured_GBps=bandwidth,
        forecast=forecast,
        forecast_GBps=expected,
        error=error,
    )


def sizes_of(rows: Sequence[RecordRow], operation: Operation) -> list[int]:
    """The sizes [B] to forecast for some rows, each once, rising."""
    return sorted({forecast_size(row, operation) for row in rows})
