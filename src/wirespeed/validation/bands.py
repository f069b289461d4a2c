"""Fitting bands: quantiles of measured over forecast time, by class, with whole folds held out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt
import tomli_w

from wirespeed.comparison.bands import ANY, Band, BandClass, BandFile, band_of
from wirespeed.comparison.classes import SizeClass
from wirespeed.validation.scored import ScoredRow

SHARE = 0.8
LEAST_ROWS, LEAST_FOLDS = 30, 4
"""What a class must have to get a band of its own."""
PARTS = 10
"""Into how many parts folds are dealt where bands are checked against rows they have not seen."""


class Coverage(msgspec.Struct, frozen=True):
    """How bands fitted without a row's fold do on the row, over a class of rows."""

    platform: str
    size: str
    rows: int
    covered: float
    """Share of rows inside their band; 0.8 is meant."""
    half_width: float
    """Median over the rows of half the band's width, over the forecast."""
    error: float
    """Median absolute error of the same rows."""


@dataclass(frozen=True, slots=True)
class Residual:
    """How far a forecast lay off one measured row: forecast over measured time, less 1."""

    of: BandClass
    fold: str
    error: float


Shares = Mapping[str, float]
"""By size class: which share of the rows it is fitted on a band is made to hold."""


def fit_bands(rows: Iterable[Residual], shares: Shares | None = None) -> list[Band]:
    """Bands of all classes with enough rows and folds, in order of class."""
    classes: dict[BandClass, list[Residual]] = {}
    for row in rows:
        for wide in row.of.broader():
            classes.setdefault(wide, []).append(row)
    bands = []
    for wide, members in classes.items():
        folds = {row.fold for row in members}
        broadest = wide.operation == wide.generation == ANY
        if broadest or (len(members) >= LEAST_ROWS and len(folds) >= LEAST_FOLDS):
            share = (shares or {}).get(wide.size, SHARE)
            bands.append(_band(wide, members, len(folds), share))
    return sorted(bands, key=lambda b: (b.platform, b.size, b.operation, b.generation))


def residuals(rows: Iterable[ScoredRow]) -> list[Residual]:
    """The residuals of the scored rows that count."""
    return [
        Residual(
            BandClass(
                row.platform.value,
                str(row.size_class),
                row.compared.forecast.operation,
                row.generation,
            ),
            row.record.fold or row.record.source,
            row.error,
        )
        for row in rows
        if row.counts
    ]


def _band(wide: BandClass, rows: Sequence[Residual], folds: int, share: float) -> Band:
    ratios = 1 / (1 + np.array([row.error for row in rows]))
    low, high = np.quantile(ratios, [(1 - share) / 2, (1 + share) / 2])
    return Band(
        wide.platform,
        wide.size,
        wide.operation,
        wide.generation,
        round(min(float(low), 1.0), 4),
        round(max(float(high), 1.0), 4),
        len(rows),
        folds,
    )


def as_toml(bands: Sequence[Band], parameters: str) -> str:
    """The file of bands, with the hash of the parameters that they belong to."""
    head = "# 80 % bands by class: measured over forecast time, whole folds held out.\n"
    return head + tomli_w.dumps(msgspec.to_builtins(BandFile(parameters, tuple(bands))))


def calibrated_shares(rows: Sequence[Residual]) -> dict[str, float]:
    """The share to fit each size class to, so that 80 % of unseen rows fall into their bands.

    Folds differ more from each other than rows of one fold do, so it lies above 0.8.
    """
    candidates = (0.76, 0.78, 0.80, 0.82, 0.84, 0.86, 0.88, 0.90, 0.92, 0.94, 0.96)
    best: dict[str, tuple[float, float]] = {}
    for share in candidates:
        for entry in coverage(rows, {str(size): share for size in SizeClass}):
            miss = abs(entry.covered - SHARE)
            if entry.platform == "all" and miss < best.get(entry.size, (1.0, 0.0))[0]:
                best[entry.size] = (miss, share)
    return {str(size): best[str(size)][1] for size in SizeClass if str(size) in best}


def coverage(rows: Sequence[Residual], shares: Shares | None = None) -> list[Coverage]:
    """How bands do on rows whose folds they were not fitted on, by platform and size class."""
    parts = np.array([part_of(row.fold) for row in rows])
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for part in range(PARTS):
        rest = [row for row, own in zip(rows, parts, strict=True) if own != part]
        known = {band.covers: band for band in fit_bands(rest, shares)}
        for row, own in zip(rows, parts, strict=True):
            if own == part:
                _note(row, known, found)
    return [
        _coverage(platform, size, np.array(values))
        for (platform, size), values in sorted(found.items())
    ]


def _note(
    row: Residual,
    known: Mapping[BandClass, Band],
    found: dict[tuple[str, str], list[tuple[float, float, float]]],
) -> None:
    band = band_of(row.of, known)
    if band is None:
        return
    ratio = 1 / (1 + row.error)
    values = (float(band.low <= ratio <= band.high), (band.high - band.low) / 2, abs(row.error))
    for platform in (row.of.platform, "all"):
        for size in (row.of.size, "all"):
            found.setdefault((platform, size), []).append(values)


def _coverage(platform: str, size: str, values: npt.NDArray[np.float64]) -> Coverage:
    covered, width, error = values.T
    return Coverage(
        platform,
        size,
        len(values),
        float(covered.mean()),
        float(np.median(width)),
        float(np.median(error)),
    )


def part_of(fold: str) -> int:
    """The part that a fold belongs to, the same on every run."""
    return int.from_bytes(hashlib.sha256(fold.encode()).digest()[:4]) % PARTS
