"""What an exchange of everyone with everyone puts on a Clos network, counted tier by tier.

With destination-based routing the way up depends on the source's leaf and the destination alone,
the way down on the destination; with spraying all cables of a tier share alike. So the bytes on
every cable are sums over products of two counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wirespeed.topology.fabrics.clos_hashed import hashed_loads
from wirespeed.topology.fabrics.clos_repairs import lead_round
from wirespeed.topology.fabrics.clos_sprayed import add_sprayed
from wirespeed.topology.fabrics.crowds import Crowd, crossing
from wirespeed.topology.fabrics.wiring import Routing

if TYPE_CHECKING:
    from wirespeed.topology.fabrics.clos_wiring import ClosWiring

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def crowd_loads(
    wiring: ClosWiring,
    source: Crowd,
    target: Crowd,
    routing: Routing,
    seed: int,
    capacity: Floats,
) -> Floats | None:
    """[links up to the fabric's last] bytes on each; None where pairs have to be routed singly.

    That is so with spraying where NICs' own cables decide how much goes over which plane, and where
    some pairs have no way: looking at them names one.
    """
    if routing is Routing.ECMP:
        return hashed_loads(wiring, source, target, seed, capacity)
    tiers = wiring.link_ranges()
    loads = np.zeros(tiers[-1].stop)
    sprays = routing is Routing.SPRAY
    even = all(_alike(capacity[tier]) and _up(capacity[tier]) for tier in tiers[1:])
    if sprays and not _ends_alike(wiring, source, target, capacity):
        return None
    for plane in range(wiring.planes):
        _add_plane(wiring, source, target, plane, loads, sprays, inner=even or not sprays)
        uneven = sprays and not even and wiring.shape.uplinks > 0
        if uneven and not add_sprayed(wiring, source, target, plane, loads, capacity):
            return None
    if not sprays:
        lead_round(wiring, source, target, loads, capacity)
    return loads


def _ends_alike(wiring: ClosWiring, source: Crowd, target: Crowd, capacity: Floats) -> bool:
    """Whether all NICs' cables are up, and alike where there is a choice between planes."""
    sides = ((wiring.table.find(source.nic), 0), (wiring.table.find(target.nic), 1))
    planes = range(wiring.planes)
    ends = [
        capacity[wiring.nic_links(plane)[port] + back] for port, back in sides for plane in planes
    ]
    rates = np.concatenate(ends)
    return _up(rates) and (wiring.planes == 1 or _alike(rates))


def _up(values: Floats) -> bool:
    return bool((values > 0).all())


def _alike(values: Floats) -> bool:
    return len(values) == 0 or bool((values == values[0]).all())


def _add_plane(
    wiring: ClosWiring,
    source: Crowd,
    target: Crowd,
    plane: int,
    loads: Floats,
    sprays: bool,
    *,
    inner: bool,
) -> None:
    """Adds what goes over one plane while all is up: NICs' cables, and with `inner` the others."""
    shape = wiring.shape
    a, b = wiring.table.find(source.nic), wiring.table.find(target.nic)
    leaf_a, leaf_b = wiring.leaf[a], wiring.leaf[b]
    pod_a, pod_b = wiring.pod[leaf_a], wiring.pod[leaf_b]
    one_a, one_b = np.zeros(len(a), np.int64), np.zeros(len(b), np.int64)
    part = 1 / wiring.planes

    def put(leave: Ids, arrive: Ids, apart: tuple[Ids, Ids] | None = None) -> Floats:
        """[leave numbers, arrive numbers] bytes on this plane."""
        out, into, amount = crossing(source, target, leave, arrive, apart)
        rows, columns = int(leave.max()) + 1, int(arrive.max()) + 1
        table = np.bincount(out * columns + into, amount * part, minlength=rows * columns)
        return table.astype(np.float64).reshape(rows, columns)

    cable = wiring.nic_links(plane)
    loads[cable] += _sized(put(a, one_b)[:, 0], len(cable))
    loads[cable + 1] += _sized(put(one_a, b)[0], len(cable))
    if not shape.uplinks or not inner:
        return
    choice = wiring.choose(a[:0], b, Routing.STATIC, 0, plane)
    leaves, uplinks = np.arange(wiring.leaves)[:, None], np.arange(shape.uplinks)
    up, leaf = wiring.leaf_link(leaves, uplinks, plane), (leaf_a, leaf_b)
    by_cable = leaf_b * shape.uplinks + choice.down
    loads[up] += _tier(put(leaf_a, one_b if sprays else choice.up, leaf), up.shape, sprays)
    down = put(one_a, leaf_b if sprays else by_cable, leaf)[0]
    loads[up + 1] += _rows(down, up.shape, sprays)
    if not shape.cores:
        return
    spines = np.arange(wiring.spines)[:, None]
    trunks, pod = wiring.spine_link(spines, np.arange(shape.spine_uplinks), plane), (pod_a, pod_b)
    of_pod = (len(wiring.tree), shape.spines * shape.spine_uplinks)
    way = (choice.up % shape.spines) * shape.spine_uplinks + choice.spine_up
    rising = _tier(put(pod_a, one_b if sprays else way, pod), of_pod, sprays)
    loads[trunks] += rising.reshape(trunks.shape)
    by_spine = pod_b * of_pod[1] + choice.spine * shape.spine_uplinks + choice.spine_down
    falling = put(one_a, pod_b if sprays else by_spine, pod)[0]
    loads[trunks + 1] += _rows(falling, of_pod, sprays).reshape(trunks.shape)


def _tier(table: Floats, shape: tuple[int, ...], sprays: bool) -> Floats:
    """[switches, cables] from a row a switch: by cable, or one sum to be shared by all."""
    full = np.zeros(shape)
    if sprays:
        full[: len(table)] = table[:, :1] / shape[1]
    else:
        full[: len(table), : table.shape[1]] = table
    return full


def _rows(amount: Floats, shape: tuple[int, ...], sprays: bool) -> Floats:
    """[switches, cables] from numbers by switch, or by switch and cable."""
    if sprays:
        return _tier(amount[:, None], shape, sprays)
    return _sized(amount, shape[0] * shape[1]).reshape(shape)


def _sized(values: Floats, size: int) -> Floats:
    return np.pad(values, (0, size - len(values)))
