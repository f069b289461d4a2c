"""An exchange on a Clos network whose switches hash flows: each pair of NICs is one flow.

There is no way to count them but one by one, so that is done with as little as it takes: the hash,
and the cables that it draws on each tier. What goes through NICs' own cables is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wirespeed.topology.fabrics.crowds import Crowd, pairs_of
from wirespeed.topology.fabrics.hashing import finished_hash, start_hash
from wirespeed.topology.fabrics.wiring import Routing

if TYPE_CHECKING:
    from wirespeed.topology.fabrics.clos_wiring import ClosWiring

Ids = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


def hashed_loads(
    wiring: ClosWiring, source: Crowd, target: Crowd, seed: int, capacity: Floats
) -> Floats:
    """[links up to the fabric's last] bytes on each.

    Raises Infeasible where a pair has no way that is up.
    """
    tiers = wiring.link_ranges()
    loads = np.zeros(tiers[-1].stop)
    dead = capacity[: len(loads)] == 0
    broken = bool(dead[tiers[0].start :].any())
    a, b = wiring.table.find(source.nic), wiring.table.find(target.nic)
    begun = [start_hash(a, seed + (plane << 32)) for plane in range(wiring.planes)]
    part = 1 / wiring.planes
    for i, j in pairs_of(source, target):
        one, other = a[i], b[j]
        weight = source.weight[i] * target.weight[j]
        used = [
            step
            for plane in range(wiring.planes)
            for step in _steps(wiring, one, other, begun[plane][i], plane)
        ]
        if broken:
            hit = np.zeros(len(one), bool)
            for who, link in used:
                hit[who] |= dead[link]
            if hit.any():
                _led_round(wiring, one[hit], other[hit], weight[hit], seed, capacity, loads)
                weight = np.where(hit, 0.0, weight)
        for who, link in used:
            loads += np.bincount(link, weight[who] * part, minlength=len(loads))
    return loads


def _steps(
    wiring: ClosWiring, a: Ids, b: Ids, begun: npt.NDArray[np.uint64], plane: int
) -> Iterator[tuple[Ids | slice, Ids]]:
    """The links of each tier, and which pairs use one there."""
    everyone = slice(None)
    yield everyone, wiring.nic_links(plane)[a]
    yield everyone, wiring.nic_links(plane)[b] + 1
    same_leaf, same_pod = wiring.common(a, b)
    out = np.flatnonzero(~same_leaf)
    if not len(out):
        return
    choice = wiring.hashed(a[out], b[out], finished_hash(begun[out], b[out]))
    leaf_a, leaf_b = wiring.leaf[a[out]], wiring.leaf[b[out]]
    yield out, wiring.leaf_link(leaf_a, choice.up, plane)
    yield out, wiring.leaf_link(leaf_b, choice.down, plane) + 1
    far = np.flatnonzero(~same_pod[out])
    if not len(far):
        return
    spine = wiring.spine_id(leaf_a[far], choice.up[far] % wiring.shape.spines)
    yield out[far], wiring.spine_link(spine, choice.spine_up[far], plane)
    spine = wiring.spine_id(leaf_b[far], choice.spine[far])
    yield out[far], wiring.spine_link(spine, choice.spine_down[far], plane) + 1


def _led_round(
    wiring: ClosWiring,
    a: Ids,
    b: Ids,
    weight: Floats,
    seed: int,
    capacity: Floats,
    loads: Floats,
) -> None:
    """Adds pairs that meet a dead link on the ways that they find instead."""
    nics = wiring.table.ports.component
    paths = wiring.paths(nics[a], nics[b], routing=Routing.ECMP, seed=seed, capacity=capacity)
    loads += np.bincount(paths.resource, weight[paths.owner()] * paths.share, minlength=len(loads))
