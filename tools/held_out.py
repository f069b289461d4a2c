"""Errors of forecasts on rows that no parameter was fitted on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from wirespeed.catalog import parameters
from wirespeed.readers.records import Record
from wirespeed.validation.bands import Coverage, Residual, calibrated_shares, coverage
from wirespeed.validation.fitted import beginning, cross_fitted, fit_all, residuals_of
from wirespeed.validation.fitting import Sample, collect

PLATFORMS = ("nvswitch", "mesh", "network")
SIZES = ("<=64K", "<=16M", ">16M", "all")
UNSEEN_GPUS = {
    "B300 and GB300": ("B300", "GB300"),
    "H200": ("H200-SXM",),
}
"""What is left out of a fit together, by the names that records have for it."""


class Error(NamedTuple):
    """One row: where its data went, how large it was, who measured it; forecast / measured - 1."""

    platform: str
    size: str
    source: str
    error: float


class Figures(NamedTuple):
    """The errors of some rows in a few figures."""

    rows: int
    median: float
    p90: float
    bias: float
    by_source: float


class HeldOut(NamedTuple):
    """Figures by platform and size with whole folds held out, and of GPUs left out altogether.

    `bands`: by platform and size, how bands do that were made without a row's fold.
    `gpus`: by GPU and platform, the figures when no row of that GPU was fitted on, and those of the
    same rows under the parameters that the package ships.
    """

    classes: dict[tuple[str, str], Figures]
    bands: dict[tuple[str, str], Coverage]
    gpus: dict[tuple[str, str], tuple[Figures, Figures]]


def held_out(records: Sequence[Record]) -> HeldOut:
    """All fits that leave something out; a minute or two."""
    data = collect(records)
    start = beginning(parameters())
    errors: list[Error] = []
    residuals: list[Residual] = []
    for fitted, part in cross_fitted(data, start):
        unseen = residuals_of(part, fitted)
        residuals += unseen
        errors += _errors(part, unseen)
    classes = {key: figures(rows) for key, rows in _by_class(errors)}
    covered = coverage(residuals, calibrated_shares(residuals))
    bands = {(entry.platform, entry.size): entry for entry in covered}
    return HeldOut(classes, bands, dict(_gpus(records)))


def _gpus(
    records: Sequence[Record],
) -> Iterator[tuple[tuple[str, str], tuple[Figures, Figures]]]:
    start = beginning(parameters())
    for gpu, spelled in UNSEEN_GPUS.items():
        mine = collect([r for r in records if r.inputs.cluster.gpu in spelled])
        others = collect([r for r in records if r.inputs.cluster.gpu not in spelled])
        unseen = _errors(mine, residuals_of(mine, fit_all(others, start)))
        known = _errors(mine, residuals_of(mine, parameters()))
        for platform in PLATFORMS:
            pair = [[e for e in errors if e.platform == platform] for errors in (unseen, known)]
            if pair[0]:
                yield (gpu, platform), (figures(pair[0]), figures(pair[1]))


def _errors(part: Sample, residuals: Iterable[Residual]) -> list[Error]:
    return [
        Error(row.platform, row.size_class, row.source, residual.error)
        for row, residual in zip(part.rows, residuals, strict=True)
    ]


def _by_class(errors: Sequence[Error]) -> Iterator[tuple[tuple[str, str], list[Error]]]:
    for platform in PLATFORMS:
        for size in SIZES:
            rows = [e for e in errors if e.platform == platform and size in (e.size, "all")]
            if rows:
                yield (platform, size), rows


def figures(rows: Sequence[Error]) -> Figures:
    """Figures of one class of rows."""
    signed = np.array([row.error for row in rows])
    absolute = np.abs(signed)
    sources = np.array([row.source for row in rows])
    each = [np.median(absolute[sources == name]) for name in sorted(set(sources.tolist()))]
    return Figures(
        rows=len(rows),
        median=float(np.median(absolute)),
        p90=float(np.quantile(absolute, 0.9)),
        bias=float(np.median(signed)),
        by_source=float(np.median(each)),
    )
