"""Which transfers and resources are alike, and the small network of their classes.

Theory. A partition is equitable if any two transfers of a class use the same number of resources
of each class with the same weights, and any two resources of a class have the same capacity and are
used by the same number of transfers of each class with the same weights. Filling treats all of a
class alike at each level, hence transfers of a class have the same max-min rate. Colour refinement
(1-WL) finds the coarsest such partition: begin with what is given (bytes, capacity), and split
classes by what their members touch until nothing splits. Hashes stand for the multisets while
splitting; equal things never get different hashes, so the result is never too fine; that it isn't
too coarse either is checked without hashes at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wirespeed.errors import UsageError
from wirespeed.network._bottleneck import checked_capacity
from wirespeed.network._uses import Bools, Floats, Ints, Uses, offsets, spans, weighted_counts

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """The class of each `transfer` [T] and each `resource` [R], from 0 without gaps."""

    transfer: Ints
    resource: Ints

    @property
    def transfers(self) -> int:
        """The number of classes of transfers."""
        return int(self.transfer.max(initial=-1)) + 1

    @property
    def resources(self) -> int:
        """The number of classes of resources."""
        return int(self.resource.max(initial=-1)) + 1


def partition(uses: Uses, capacity: ArrayLike, bytes: ArrayLike = 0.0) -> Partition:
    """The coarsest equitable partition: transfers of a class have equal rates and finishes.

    `capacity` [R] in B/s; `bytes` [T] or one number, or any numbers that tell transfers apart.
    Numbers are alike if they are equal to the last bit. Each round costs time in proportion to the
    uses; there are as many as the distance over which a difference spreads, half of a ring of n in
    which one link is slow.
    """
    capacities = checked_capacity(capacity)
    sizes = np.asarray(bytes, float)
    if sizes.shape not in ((), (uses.transfers,)):
        raise UsageError(f"{sizes.shape} bytes for {uses.transfers} transfers")
    whole = uses.merge_duplicates()
    if whole.resource.size and whole.resource.max() >= capacities.size:
        raise UsageError(f"resource {whole.resource.max()} is used, {capacities.size} are known")
    given = Partition(_dense(np.full(uses.transfers, sizes)), _dense(capacities))
    salt = 0
    while not is_equitable(whole, found := _refined(whole, given, salt)):
        salt += 1
    return found


def quotient(uses: Uses, capacity: ArrayLike, classes: Partition) -> tuple[Uses, Floats]:
    """The network of classes: its uses (a transfer is a class) and its capacities in B/s.

    `fair_rates` of it, taken at `classes.transfer`, are those of the whole; so are the times of
    `bottleneck_time` and `simulate` where `classes` tells unequal bytes and starts apart.
    """
    capacities = checked_capacity(capacity)
    width = classes.resources
    key, place = np.unique(
        classes.transfer[uses.owner] * width + classes.resource[uses.resource], return_inverse=True
    )
    resource = key % width if width else key
    alike = np.bincount(classes.resource, minlength=width)
    weight = weighted_counts(place, uses.weight, key.size) / alike[resource]
    counts = np.bincount(key // width if width else key, minlength=classes.transfers)
    of_class = np.zeros(width)
    of_class[classes.resource] = capacities
    return Uses(offsets(counts), resource, weight), of_class


def is_equitable(uses: Uses, classes: Partition) -> bool:
    """Whether all members of each class touch the same classes with the same weights.

    `uses` names each resource at most once a transfer. Exact: compares what they touch, in order.
    """
    by_resource = np.argsort(uses.resource, kind="stable")
    crossings = np.bincount(uses.resource, minlength=classes.resource.size)
    return _members_alike(
        classes.transfer, uses.counts, classes.resource[uses.resource], uses.weight
    ) and _members_alike(
        classes.resource,
        crossings,
        classes.transfer[uses.owner[by_resource]],
        uses.weight[by_resource],
    )


def _members_alike(member_class: Ints, counts: Ints, touched: Ints, weight: Floats) -> bool:
    """`touched` and `weight` lie member by member, `counts` of each."""
    first = offsets(counts)
    order = np.lexsort((weight, touched, np.repeat(np.arange(counts.size), counts)))
    touched, weight = touched[order], weight[order]
    model = np.unique(member_class, return_index=True)[1][member_class]
    if (counts != counts[model]).any():
        return False
    same = spans(first[model], counts)
    alike: Bools = (touched == touched[same]) & (weight == weight[same])
    return bool(alike.all())


def _refined(uses: Uses, given: Partition, salt: int) -> Partition:
    owner, resource = uses.owner, uses.resource
    weight = _mixed(uses.weight.view(np.uint64) + np.uint64(salt))
    transfers, resources = given.transfer, given.resource
    size = (-1, -1)
    while size != (now := (int(transfers.max(initial=-1)), int(resources.max(initial=-1)))):
        size = now
        transfers = _split(transfers, owner, _mixed(weight + _hashed(resources)[resource]))
        resources = _split(resources, resource, _mixed(weight + _hashed(transfers)[owner]))
    return Partition(transfers, resources)


def _split(classes: Ints, place: NDArray[np.integer], marks: Hashes) -> Ints:
    """Classes told apart further by the sum of the marks on each member."""
    sums = _hashed(classes)
    np.add.at(sums, place, marks)
    return _dense(sums)


def _dense(values: NDArray[np.generic]) -> Ints:
    number: Ints = np.unique(values, return_inverse=True)[1]
    return number


def _hashed(classes: Ints) -> Hashes:
    return _mixed(classes.astype(np.uint64) + np.uint64(1))


def _mixed(values: Hashes) -> Hashes:
    """The finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): 64 well stirred bits."""
    z = values * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
