"""Rings: the orders in which ranks pass data on, one a channel, found on the graph.

Inside an NVLink domain with switches every order is as good as any other. On a mesh of direct links
rings are searched that share no link. Over PCIe the ring follows the tree, so that it crosses each
bridge and socket once. Over several nodes each ring enters a node by one NIC and leaves it by
another (or the same), and all compute NICs of the node get one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.mesh_rings import disjoint_rings
from wirespeed.collectives.peers import domain_of
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind, LinkKind

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Rings:
    """Channels of a group.

    Attributes:
        order: [channels, ranks] ranks in the order of each ring.
        nic_out, nic_in: [channels, ranks] NIC components by which position k sends to k + 1, and by
            which that one receives; -1 inside a node.
        weight: [channels] each one's share of the bytes; sums to 1.
    """

    order: Ids
    nic_out: Ids
    nic_in: Ids
    weight: npt.NDArray[np.float64]


def find_rings(cluster: Cluster, group: Group) -> Rings:
    """The rings that the library would build for a group (two ranks or more)."""
    domain = domain_of(cluster, group.gpus)
    if len(np.unique(domain)) == 1:
        return _inside(_local_orders(cluster, group, np.arange(len(group))))
    return _across(cluster, group, domain)


def _inside(orders: list[tuple[Ids, float]]) -> Rings:
    order = np.array([ring for ring, _ in orders], np.int64)
    none = np.full_like(order, -1)
    weight = np.array([w for _, w in orders])
    return Rings(order, none, none, weight / weight.sum())


def _local_orders(cluster: Cluster, group: Group, ranks: Ids) -> list[tuple[Ids, float]]:
    """Rings over ranks of one unit, each with the lanes that it may fill."""
    gpus = group.gpus[ranks]
    if len(ranks) < 3:
        return [(ranks, 1.0)]
    lanes = _mesh_lanes(cluster, gpus)
    if lanes is not None:
        rings = disjoint_rings(lanes)
        if rings:
            return [(ranks[list(ring)], float(count)) for ring, count in rings]
    return [(ranks[_tree_order(cluster, gpus)], 1.0)]


def _mesh_lanes(cluster: Cluster, gpus: Ids) -> Ids | None:
    """[n, n] direct NVLink or xGMI lanes among GPUs that have no switch; None with a switch."""
    topology = cluster.topology
    place = {int(g): k for k, g in enumerate(gpus)}
    touching = np.isin(topology.source, gpus) & (topology.capacity[: topology.links] > 0)
    fabric = np.isin(topology.link_kind, (LinkKind.NVLINK, LinkKind.XGMI))
    lanes = np.zeros((len(gpus), len(gpus)), np.int64)
    for link in np.flatnonzero(touching & fabric):
        target = int(topology.target[link])
        if topology.kind[target] == ComponentKind.NVSWITCH:
            return None
        if target in place:
            lanes[place[int(topology.source[link])], place[target]] += topology.lanes[link]
    return lanes


def _tree_order(cluster: Cluster, gpus: Ids) -> Ids:
    """Positions ordered so that neighbours in the PCIe tree follow each other.

    The way from one fixed CPU down to each GPU, read as a sequence of components, is its place in
    the tree; NVLink bridges keep their pair together by the first GPU's place.
    """
    topology = cluster.topology
    unit = int(topology.unit_of(int(gpus[0])))
    begin = int(topology.first_component[unit])
    routes = cluster.router.routes(unit)
    cpus = routes.unit.of_kind(ComponentKind.CPU)
    places: list[tuple[int, ...]] = []
    for gpu in gpus:
        links = routes.pcie_links(int(cpus[0]), int(gpu) - begin) if len(cpus) else None
        places.append(tuple(int(routes.unit.target[link]) for link in links or ()))
    leaders = list(places)
    for a in range(len(gpus)):
        for b in range(a):
            if routes.nvlink(int(gpus[b]) - begin, int(gpus[a]) - begin) is not None:
                leaders[a] = leaders[b]
                break
    keys = [(leaders[k], places[k], k) for k in range(len(gpus))]
    return np.array(sorted(range(len(gpus)), key=keys.__getitem__), np.int64)


def _across(cluster: Cluster, group: Group, domain: Ids) -> Rings:
    """Rings over several domains: domains one after the other, one channel a NIC."""
    units = list(dict.fromkeys(domain.tolist()))
    members = [np.flatnonzero(domain == unit) for unit in units]
    local = [_local_orders(cluster, group, ranks) for ranks in members]
    entries = [_doors(cluster, group, ranks) for ranks in members]
    channels = max(1, min(len(doors) for doors in entries))
    order, nic_out, nic_in = [], [], []
    for channel in range(channels):
        ring: list[Ids] = []
        out: list[int] = []
        into: list[int] = []
        for step, (orders, doors) in enumerate(zip(local, entries, strict=True)):
            first, last = _door_pair(doors, channel, channels, flipped=step % 2 == 1)
            inner = orders[channel % len(orders)][0]
            ring.append(_between(inner, first[0], last[0]))
            into.append(first[1])
            out.append(last[1])
        order.append(np.concatenate(ring))
        ends = np.cumsum([len(part) for part in ring]) - 1
        sends = np.full(len(group), -1, np.int64)
        receives = sends.copy()
        sends[ends] = out
        receives[ends] = np.roll(into, -1)
        nic_out.append(sends)
        nic_in.append(receives)
    weight = np.full(channels, 1.0 / channels)
    return Rings(np.array(order), np.array(nic_out), np.array(nic_in), weight)


def _doors(cluster: Cluster, group: Group, ranks: Ids) -> list[tuple[int, int]]:
    """(rank, NIC) for each compute NIC that is nearest to a rank of this unit, by rail.

    GPUs that share their NICs take turns, so that as many GPUs as possible have one.
    """
    taken: dict[int, list[int]] = {}
    for rank in ranks.tolist():
        for nic in cluster.router.nearest_nics(int(group.gpus[rank])):
            taken.setdefault(nic, []).append(rank)
    topology = cluster.topology
    doors: list[tuple[int, int]] = []
    used: dict[int, int] = {}
    for nic in sorted(taken, key=lambda n: (int(topology.node[n]), int(topology.rail[n]))):
        rank = min(taken[nic], key=lambda r: (used.get(r, 0), r))
        used[rank] = used.get(rank, 0) + 1
        doors.append((rank, nic))
    return doors


def _door_pair(
    doors: list[tuple[int, int]], channel: int, channels: int, *, flipped: bool
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Way in and way out of a node for one channel.

    Two channels make a pair that uses two NICs in opposite order, and every other node swaps them,
    so that what leaves by a NIC enters the next node by the same one: traffic stays on its rail.
    """
    partner = channel ^ 1 if (channel ^ 1) < channels else channel
    first, last = doors[channel], doors[partner]
    return (last, first) if flipped else (first, last)


def _between(inner: Ids, first: int, last: int) -> Ids:
    """A node's ranks from `first` to `last`, the others in their order."""
    start = int(np.flatnonzero(inner == first)[0])
    turned = np.roll(inner, -start)
    if first == last:
        return turned
    return np.append(turned[turned != last], last)
