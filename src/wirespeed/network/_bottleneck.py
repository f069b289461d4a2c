"""The time that the most loaded resource needs, and how full each resource runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from wirespeed.errors import UsageError
from wirespeed.network._uses import Floats, Uses


@dataclass(frozen=True, slots=True, eq=False)
class Bottleneck:
    """The last finish `time` [s], the `resource` that sets it, and the `loads` [R] in bytes.

    `resource` is the lowest number among equals, and -1 where nothing takes time. `time` is inf
    where bytes need a resource that is down (capacity 0).
    """

    time: float
    resource: int
    loads: Floats


def bottleneck_time(uses: Uses, bytes: ArrayLike, capacity: ArrayLike) -> Bottleneck:
    """The time until the most loaded resource has moved its bytes, and which one that is.

    `bytes` [B] of payload a transfer ([T] or one number), `capacity` [B/s] a resource [R].

    It is the exact last finish of transfers that carry equal bytes, start together and share by
    max-min (`fair_rates`), whatever their routes and weights. Why: the slowest transfers run at
    min(capacity / weights), the level of this bottleneck, and a transfer that leaves can only
    change the rates of those at least as fast as itself; with equal bytes the fastest leave first,
    so nothing that still runs ever changes. (Each finish is then bytes / fair_rates.)

    For unequal bytes, staggered starts or dependencies it is a lower bound: no way of sharing ends
    sooner. It is reached if the senders run at rates in proportion to their bytes.
    """
    limits = checked_capacity(capacity)
    return bottleneck_of(uses.loads(bytes, limits.size), limits)


def bottleneck_of(loads: ArrayLike, capacity: ArrayLike) -> Bottleneck:
    """The bottleneck of given `loads` [R] in bytes on `capacity` [R] in B/s."""
    limits = checked_capacity(capacity)
    amounts = np.asarray(loads, float)
    if amounts.shape != limits.shape:
        raise UsageError(f"{amounts.shape} loads for {limits.shape} capacities")
    times = busy_times(amounts, limits)
    if not times.any():
        return Bottleneck(0.0, -1, amounts)
    worst = int(times.argmax())
    return Bottleneck(float(times[worst]), worst, amounts)


def busy_times(loads: Floats, capacity: Floats) -> Floats:
    """The time [s] for which each resource must work [R]; inf where bytes meet capacity 0."""
    times = np.zeros(loads.shape)
    with np.errstate(divide="ignore"):
        np.divide(loads, capacity, out=times, where=loads > 0)
    return times


def utilisation(uses: Uses, rates: ArrayLike, capacity: ArrayLike) -> Floats:
    """The share of its capacity at which each resource runs [R], 1 where it is full.

    `rates` [T] in B/s. A resource without load shows 0, also where it is down; so does one of
    unlimited capacity, unless a transfer of unlimited rate crosses it: then nan, no share at all.
    """
    limits = checked_capacity(capacity)
    with np.errstate(invalid="ignore"):
        return busy_times(uses.loads(rates, limits.size), limits)


def checked_capacity(capacity: ArrayLike) -> Floats:
    """The capacities [R] in B/s as an array; an error unless all are zero or more."""
    limits = np.asarray(capacity, float)
    if limits.ndim != 1 or not (limits >= 0).all():
        raise UsageError(
            "capacities must be one row of numbers of zero or more",
            remedy="0 is a resource that is down, inf one that never holds up anything",
        )
    return limits
