"""Tiers: the groups of units that a fabric makes, and what can pass between each and the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.model import Topology

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@runtime_checkable
class Tiered(Protocol):
    """A fabric whose NICs share leaves, and these pods."""

    def leaf_of(self, component: npt.ArrayLike) -> Ids:
        """[n] the leaf of each NIC."""
        ...

    def pod_of(self, component: npt.ArrayLike) -> Ids:
        """[n] the pod of each NIC."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Tier:
    """Groups of units that share leaves, or pods.

    Attributes:
        word: leaf or pod.
        group: [units] from 0 in order of their first unit.
        out, into: [groups] B/s to and from everything else.
        half: [groups] 1 for the groups of the first half; `across` is B/s from there to the other
            half and back, each the least of both; inf where that is not known.
    """

    word: str
    group: Ids
    out: Floats
    into: Floats
    half: Ids
    across: float


def tiers_of(topology: Topology, ranks: Ids) -> list[Tier]:
    """The tiers with two groups or more, from the leaves up; `ranks` [units] counts GPUs."""
    wiring = topology.wiring
    if not isinstance(wiring, Tiered):
        return []
    nics = topology.of_kind(ComponentKind.NIC)
    nics = nics[topology.rail[nics] >= 0]
    unit = topology.unit_of(nics)
    found: list[Tier] = []
    for word, shared in (("leaf", wiring.leaf_of(nics)), ("pod", wiring.pod_of(nics))):
        group = _connected(unit, shared, len(ranks))
        groups = int(group.max()) + 1
        if groups > 1 and not (found and len(found[-1].out) == groups):
            found.append(_tier(topology, word, group, nics, unit, ranks))
    return found


def _connected(unit: Ids, switch: Ids, units: int) -> Ids:
    """[units] groups of units that are joined by switches, directly or through each other."""
    label = np.arange(units)
    while True:
        least = np.full(int(switch.max(initial=0)) + 1, units)
        np.minimum.at(least, switch, label[unit])
        joined = label.copy()
        np.minimum.at(joined, unit, least[switch])
        if (joined == label).all():
            return np.unique(label, return_inverse=True)[1].reshape(-1)
        label = joined


def _tier(
    topology: Topology, word: str, group: Ids, nics: npt.NDArray[np.int32], unit: Ids, ranks: Ids
) -> Tier:
    first = int(topology.first_link[-1])
    source = topology.source[first:].astype(np.int64)
    target = topology.target[first:].astype(np.int64)
    label = _labels(topology, group, nics, unit, source, target)
    rate = topology.capacity[first : topology.links]
    back = rate.reshape(-1, 2)[:, ::-1].ravel()
    counts = np.bincount(group, ranks)
    half = (np.cumsum(counts) * 2 <= counts.sum()).astype(np.int64)
    groups = int(group.max()) + 1
    # Where both directions of every cable are alike, one says it all.
    ways = [rate] if np.array_equal(rate, back) else [rate, back]
    flows = [_passing(label, source, target, way, groups) for way in ways]
    across = [_across(label, half, source, target, way) for way in ways]
    return Tier(word, group, flows[0], flows[-1], half, min(across))


def _labels(
    topology: Topology,
    group: Ids,
    nics: npt.NDArray[np.int32],
    unit: Ids,
    source: Ids,
    target: Ids,
) -> Ids:
    """[components] the group of each; -1 for switches that serve several, or none."""
    label = np.full(topology.components, -1, np.int64)
    label[nics] = group[unit]
    up = label[source] >= 0
    label[target[up]] = label[source[up]]
    # A spine belongs to a group if all its leaves do.
    kind = topology.kind
    down = (kind[source] == ComponentKind.LEAF) & (kind[target] == ComponentKind.SPINE)
    least = np.full(topology.components, topology.components)
    most = np.full(topology.components, -1)
    np.minimum.at(least, target[down], label[source[down]])
    np.maximum.at(most, target[down], label[source[down]])
    one = (least == most) & (most >= 0)
    label[one] = most[one]
    return label


def _passing(label: Ids, source: Ids, target: Ids, rate: Floats, groups: int) -> Floats:
    """[groups] B/s out of each: a switch at its border passes on what comes in, at most."""
    mine, other = label[source], label[target]
    known, same = mine >= 0, mine == other
    out = np.bincount(source, rate * (known & ~same), minlength=len(label))
    into = np.bincount(target, rate * (known & same), minlength=len(label))
    passed = np.minimum(out, into)
    known = label >= 0
    return np.bincount(label[known], passed[known], minlength=groups).astype(np.float64)


def _across(label: Ids, half: Ids, source: Ids, target: Ids, rate: Floats) -> float:
    """B/s from the first half of the groups to the second, directly or by one switch between."""
    side = np.where(label >= 0, half[label], -1)
    mine, other = side[source], side[target]
    if ((mine < 0) & (other < 0) & (rate > 0)).any() or not 0 < half.sum() < len(half):
        return float("inf")
    up, down = (mine == 1) & (other < 0), (mine < 0) & (other == 0)
    into = np.bincount(target[up], rate[up], minlength=len(label))
    out = np.bincount(source[down], rate[down], minlength=len(label))
    direct = float(rate[(mine == 1) & (other == 0)].sum())
    return direct + float(np.minimum(into, out).sum())
