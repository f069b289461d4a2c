"""Max-min fair rates by filling from many low points at once.

Theory. Let all rates rise together; a resource whose capacity is used up stops the transfers that
cross it, and the rest rises on. The `level` of a resource is the rate at which it would fill if
all its running transfers kept rising together: what is left of its capacity over the sum of their
weights. When others stop early a level only rises. So a resource whose level is not above that of
any resource that it shares a running transfer with will be the first to stop those transfers, no
matter what happens elsewhere: it is safe to stop them now. Each round stops all such transfers,
all over the network; there are as many rounds as the longest chain of bottlenecks that wait for
each other, not as many as there are distinct rates, and a symmetric case takes one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wirespeed.errors import UsageError
from wirespeed.network._bottleneck import checked_capacity
from wirespeed.network._uses import Bools, Floats, Ints, Uses

TIE = 1 + 1e-12
"""Levels this close are one level: sums of equal weights differ in the last bits by their order."""


def fair_rates(uses: Uses, capacity: ArrayLike, *, limits: ArrayLike | None = None) -> Floats:
    """The max-min fair rate of each transfer [T] in B/s of payload.

    `capacity` [R] in B/s; `limits` [T] in B/s caps single transfers. A transfer of rate x takes
    weight · x of each resource that it uses. No rate can be raised without lowering one that is
    not higher. It is 0 where a used resource is down, and inf where nothing holds the transfer up:
    it has no limit and uses nothing of finite capacity.

    Each round costs time in proportion to the uses of transfers that still rise.
    """
    capacities = checked_capacity(capacity)
    bound = _limits(limits, uses.transfers)
    top = int(uses.resource.max(initial=-1))
    if top >= capacities.size:
        raise UsageError(f"resource {top} is used but only {capacities.size} are known")
    running = _Running.start(uses, capacities)
    rates = bound.copy()  # of those that no resource holds up
    left = capacities.copy()
    while running.transfer.size:
        running = _round(running, left, bound, rates)
    return rates


def _limits(limits: ArrayLike | None, transfers: int) -> Floats:
    if limits is None:
        return np.full(transfers, np.inf)
    bound = np.asarray(limits, float)
    if bound.shape != (transfers,) or not (bound >= 0).all():
        raise UsageError("limits must be one number of zero or more for each transfer")
    return bound


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    """The transfers that still rise and their uses; every transfer here has one or more."""

    transfer: Ints
    first: Ints
    counts: Ints
    resource: NDArray[np.integer[Any]]
    weight: Floats

    @classmethod
    def start(cls, uses: Uses, capacity: Floats) -> _Running:
        limited = capacity < np.inf
        if limited.all() and (uses.first[1:] > uses.first[:-1]).all():
            every = np.arange(uses.transfers)
            return cls(every, uses.first[:-1], uses.counts, uses.resource, uses.weight)
        keep = limited[uses.resource]
        counts = np.bincount(uses.owner[keep], minlength=uses.transfers)
        transfer = np.flatnonzero(counts)
        left = counts[transfer].astype(np.int64)
        first = np.cumsum(left) - left
        return cls(transfer, first, left, uses.resource[keep], uses.weight[keep])

    def split(self, stopped: Bools) -> tuple[Bools, _Running]:
        """Which uses belong to stopped transfers, and the rest."""
        gone = np.repeat(stopped, self.counts)
        keep, goes_on = ~gone, ~stopped
        rest = self.counts[goes_on]
        first = np.cumsum(rest) - rest
        ends = self.resource[keep], self.weight[keep]
        return gone, _Running(self.transfer[goes_on], first, rest, *ends)


def _round(running: _Running, left: Floats, bound: Floats, rates: Floats) -> _Running:
    """Stop what can be stopped: writes its `rates`, takes it from `left`, returns the rest."""
    weights = np.bincount(running.resource, running.weight, left.size)
    levels = np.full(left.size, np.inf)
    np.divide(left, weights, out=levels, where=weights > 0)
    limit = bound[running.transfer]

    lowest = levels.min()
    if limit.min() >= lowest:
        at_lowest = (levels <= lowest * TIE)[running.resource]
        if np.logical_or.reduceat(at_lowest, running.first).all():
            rates[running.transfer] = lowest
            return running.split(np.ones(running.transfer.size, bool))[1]

    level = levels[running.resource]
    reach = np.minimum.reduceat(level, running.first)
    stopped = limit <= reach * TIE
    reach = np.minimum(reach, limit)
    waits = np.zeros(left.size, bool)
    waits[running.resource[level > np.repeat(reach * TIE, running.counts)]] = True
    stopped |= np.logical_or.reduceat(~waits[running.resource], running.first)

    rates[running.transfer[stopped]] = reach[stopped]
    gone, rest = running.split(stopped)
    taken = running.weight[gone] * np.repeat(reach[stopped], running.counts[stopped])
    left -= np.bincount(running.resource[gone], taken, left.size)
    np.maximum(left, 0, out=left)
    return rest
