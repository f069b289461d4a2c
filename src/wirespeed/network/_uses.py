"""Uses: which resources each transfer loads, and how heavily."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wirespeed.errors import UsageError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Uses:
    """What each transfer loads: a sparse matrix of transfers × resources, row by row.

    Transfer `t` owns the uses `first[t]` to `first[t + 1]`; each names a `resource` [U] (0 … R - 1)
    and a `weight` [U] > 0: the bytes that this resource moves for one byte of payload. A transfer
    may name a resource twice: the weights add. One without uses is never held up.
    """

    first: Ints
    resource: NDArray[np.integer[Any]]
    weight: Floats

    def __post_init__(self) -> None:
        first, resource, weight = self.first, self.resource, self.weight
        if first.ndim != 1 or first.size == 0 or first[0] != 0 or first[-1] != resource.size:
            raise UsageError("`first` must run from 0 to the number of uses")
        if resource.shape != weight.shape or resource.ndim != 1:
            raise UsageError(
                f"{resource.shape} resources but {weight.shape} weights: one weight a use"
            )
        if (first[1:] < first[:-1]).any():
            raise UsageError("`first` must not decrease")
        if resource.size == 0:
            return
        if resource.min() < 0:
            raise UsageError("a resource has a negative number")
        if not (weight.min() > 0 and weight.max() < np.inf):
            raise UsageError("each weight must be positive and finite")

    @classmethod
    def from_lists(
        cls,
        resources: Iterable[Sequence[int]],
        weights: Iterable[Sequence[float]] | None = None,
    ) -> Uses:
        """Uses of one list of resources a transfer; weights like it, 1 where not given."""
        rows = [list(row) for row in resources]
        counts = np.array([len(row) for row in rows], np.int64)
        resource = np.array([r for row in rows for r in row], np.int64)
        if weights is None:
            return cls(offsets(counts), resource, np.ones(resource.size))
        weight_rows = [list(row) for row in weights]
        if [len(row) for row in weight_rows] != counts.tolist():
            raise UsageError("weights must have the shape of resources")
        weight = np.array([w for row in weight_rows for w in row], float)
        return cls(offsets(counts), resource, weight)

    @classmethod
    def uniform(cls, resources: ArrayLike, weight: float = 1.0) -> Uses:
        """Uses of transfers that all name the same number of resources: `resources` [T, n]."""
        table = np.asarray(resources)
        if table.ndim != 2:
            raise UsageError(f"resources must be a table [T, n], not {table.shape}")
        transfers, each = table.shape
        first = np.arange(transfers + 1, dtype=np.int64) * each
        return cls(first, table.reshape(-1), np.full(table.size, float(weight)))

    @classmethod
    def concatenate(cls, parts: Iterable[Uses]) -> Uses:
        """Uses of all the transfers of `parts`, in order, on the same resources."""
        several = list(parts)
        if not several:
            return cls.from_lists([])
        return cls(
            offsets(np.concatenate([part.counts for part in several])),
            np.concatenate([part.resource for part in several]),
            np.concatenate([part.weight for part in several]),
        )

    @property
    def transfers(self) -> int:
        """The number of transfers, T."""
        return self.first.size - 1

    @property
    def counts(self) -> Ints:
        """The number of uses of each transfer [T]."""
        return self.first[1:] - self.first[:-1]

    @property
    def owner(self) -> Ints:
        """The transfer of each use [U]."""
        return np.repeat(np.arange(self.transfers), self.counts)

    def loads(self, bytes: ArrayLike, resources: int) -> Floats:
        """Bytes that each resource moves [R] when transfers carry `bytes` ([T] or one number)."""
        amount = np.asarray(bytes, float)
        if amount.ndim == 0:
            return self._sums(self.weight, resources) * float(amount)
        if amount.shape != (self.transfers,):
            raise UsageError(f"{amount.shape} bytes for {self.transfers} transfers")
        return self._sums(self.weight * np.repeat(amount, self.counts), resources)

    def _sums(self, values: Floats, resources: int) -> Floats:
        sums = weighted_counts(self.resource, values, resources)
        if sums.size > resources:
            raise UsageError(f"resource {sums.size - 1} is used but only {resources} are known")
        return sums

    def select(self, transfers: ArrayLike) -> Uses:
        """Uses of the chosen transfers: a mask [T], or transfer numbers in the order wanted."""
        chosen = np.asarray(transfers)
        if chosen.dtype == bool:
            if chosen.shape != (self.transfers,):
                raise UsageError(f"a mask of {chosen.shape} for {self.transfers} transfers")
            chosen = np.flatnonzero(chosen)
        chosen = chosen.astype(np.int64, copy=False)
        counts = self.counts[chosen]
        at = spans(self.first[chosen], counts)
        return Uses(offsets(counts), self.resource[at], self.weight[at])

    def merge_duplicates(self) -> Uses:
        """Uses with each resource at most once a transfer, in ascending order; weights added."""
        if self.resource.size == 0:
            return self
        width = int(self.resource.max()) + 1
        keys = self.owner * width + self.resource
        if (keys[1:] > keys[:-1]).all():
            return self
        unique, place = np.unique(keys, return_inverse=True)
        counts = np.bincount(unique // width, minlength=self.transfers)
        return Uses(
            offsets(counts), unique % width, weighted_counts(place, self.weight, unique.size)
        )


def offsets(counts: Ints) -> Ints:
    """Where each of consecutive runs of these lengths begins, and the end of the last [n + 1]."""
    begins = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=begins[1:])
    return begins


def weighted_counts(place: NDArray[np.integer[Any]], values: Floats, size: int) -> Floats:
    """The sum of the `values` that fall on each place [size, or more where a place lies above]."""
    return np.bincount(place, values, size).astype(np.float64, copy=False)


def spans(starts: Ints, counts: Ints) -> Ints:
    """The numbers starts[i] … starts[i] + counts[i] - 1 for every i, one after the other."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    steps: Ints = np.arange(total) + np.repeat(starts - (ends - counts), counts)
    return steps
