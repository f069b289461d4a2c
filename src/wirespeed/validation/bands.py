"""Fitting bands: quantiles of measured over forecast time, by class, with whole folds held out."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt
import tomli_w

from wirespeed.comparison.bands import ANY, Band, BandClass, BandFile, band_of
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
    within: float
    """The absolute error that 80 % of the same rows keep."""


@dataclass(frozen=True, slots=True)
class Residual:
    """How far a forecast lay off one measured row: forecast over measured time, less 1."""

    of: BandClass
    fold: str
    error: float


Shares = Mapping[tuple[str, str], float]
"""By platform and size class: which share of the rows it is fitted on a band is made to hold."""


def fit_bands(rows: Iterable[Residual], shares: Shares | None = None) -> list[Band]:
    """Bands of all classes with enough rows and folds, in order of class.

    How wide a band is, platform, size and operation decide: of single generations there are too
    few folds to tell. A generation with rows of its own has an entry, which says that it has been
    seen, with the width of all.
    """
    classes: dict[BandClass, list[Residual]] = {}
    for row in rows:
        for wide in row.of.broader():
            classes.setdefault(wide, []).append(row)
    bands = []
    for wide, members in classes.items():
        folds = {row.fold for row in members}
        broadest = wide.operation == wide.generation == ANY
        if broadest or (len(members) >= LEAST_ROWS and len(folds) >= LEAST_FOLDS):
            share = (shares or {}).get((wide.platform, wide.size), SHARE)
            limits = _limits(classes[msgspec.structs.replace(wide, generation=ANY)], share)
            own = (wide.platform, wide.size, wide.operation, wide.generation)
            bands.append(Band(*own, *limits, len(members), len(folds)))
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


def _limits(rows: Sequence[Residual], share: float) -> tuple[float, float]:
    """Between which multiples of the forecast that share of the rows lies; all folds weigh alike.

    Another machine is a fold of its own, however many rows somebody else's sweep has.
    """
    ratios = 1 / (1 + np.array([row.error for row in rows]))
    counts = Counter(row.fold for row in rows)
    weights = np.array([1 / counts[row.fold] for row in rows])
    order = np.argsort(ratios)
    place = np.cumsum(weights[order]) - weights[order] / 2
    wanted = np.array([(1 - share) / 2, (1 + share) / 2]) * weights.sum()
    low, high = np.interp(wanted, place, ratios[order])
    return round(min(float(low), 1.0), 4), round(max(float(high), 1.0), 4)


def as_toml(bands: Sequence[Band], parameters: str) -> str:
    """The file of bands, with the hash of the parameters that they belong to."""
    head = "# 80 % bands by class: measured over forecast time, whole folds held out.\n"
    return head + tomli_w.dumps(msgspec.to_builtins(BandFile(parameters, tuple(bands))))


def calibrated_shares(rows: Sequence[Residual]) -> dict[tuple[str, str], float]:
    """The share to fit each class to, so that 80 % of unseen rows fall into their bands.

    Folds differ more from each other than rows of one fold do, so it mostly lies above 0.8.
    """
    classes = sorted({(row.of.platform, row.of.size) for row in rows})
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for share in np.arange(0.70, 0.985, 0.02).round(2).tolist():
        for entry in coverage(rows, dict.fromkeys(classes, share)):
            own, miss = (entry.platform, entry.size), abs(entry.covered - SHARE)
            if own in classes and miss < best.get(own, (1.0, 0.0))[0]:
                best[own] = (miss, share)
    return {own: share for own, (_, share) in best.items()}


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
        float(np.quantile(error, SHARE)),
    )


def part_of(fold: str) -> int:
    """The part that a fold belongs to, the same on every run."""
    return int.from_bytes(hashlib.sha256(fold.encode()).digest()[:4]) % PARTS
