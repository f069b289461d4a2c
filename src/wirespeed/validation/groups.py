"""Groups: the errors of a class of rows in a few figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np

from wirespeed.validation.scored import ScoredRow

ALL = "all"


class Group(msgspec.Struct, frozen=True):
    """Absolute relative errors of forecast time [1] over the rows of one class."""

    platform: str
    operation: str
    size_class: str
    generation: str
    folds: str
    """seen: parameters were fitted on these folds; unseen; or all."""
    rows: int
    records: int
    sources: int
    median: float
    p90: float
    bias: float
    """Median of the signed error: above 0 the forecast is too slow."""
    source_median: float
    """Median over sources of each source's median."""


Key = tuple[str, str, str, str, str]
"""platform, operation, size class, generation, folds."""


def grouped(rows: Iterable[ScoredRow], seen: frozenset[str]) -> list[Group]:
    """Figures for every class that the tables show; `seen` are the folds that were fitted on."""
    classes: dict[Key, list[ScoredRow]] = {}
    for row in rows:
        if not row.counts:
            continue
        for key in _keys(row, "seen" if row.record.fold in seen else "unseen"):
            classes.setdefault(key, []).append(row)
    return [_group(key, members) for key, members in sorted(classes.items())]


def _keys(row: ScoredRow, folds: str) -> list[Key]:
    platform, size = row.platform.value, row.size_class
    operation, generation = row.record.inputs.collective, row.generation
    return [
        (ALL, ALL, ALL, ALL, ALL),
        (platform, ALL, ALL, ALL, ALL),
        (platform, ALL, ALL, ALL, folds),
        (platform, ALL, size, ALL, ALL),
        (platform, ALL, size, ALL, folds),
        (platform, operation, ALL, ALL, ALL),
        (platform, operation, size, ALL, ALL),
        (platform, ALL, ALL, generation, ALL),
        (platform, ALL, size, generation, ALL),
        (platform, operation, size, generation, ALL),
    ]


def _group(key: Key, rows: Sequence[ScoredRow]) -> Group:
    signed = np.array([row.error for row in rows])
    absolute = np.abs(signed)
    sources = np.array([row.record.source for row in rows])
    medians = [float(np.median(absolute[sources == name])) for name in np.unique(sources)]
    return Group(
        *key,
        rows=len(rows),
        records=_distinct(rows, lambda row: row.record.position),
        sources=len(medians),
        median=float(np.median(absolute)),
        p90=float(np.quantile(absolute, 0.9)),
        bias=float(np.median(signed)),
        source_median=float(np.median(medians)),
    )


def _distinct(rows: Sequence[ScoredRow], of: Callable[[ScoredRow], int]) -> int:
    return len({of(row) for row in rows})
