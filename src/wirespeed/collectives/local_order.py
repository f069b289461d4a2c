"""The order in which a ring passes the GPUs of one domain.

With NVSwitches every order is as good as any other. On a mesh of direct links, rings that share no
lane are searched. Over PCIe the ring follows the tree, so that it crosses each bridge and socket
once each way, and keeps bridged pairs together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.mesh_rings import disjoint_rings
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.kinds import ComponentKind, LinkKind

Ids = npt.NDArray[np.int64]


def local_orders(cluster: Cluster, gpus: Ids) -> list[tuple[Ids, float]]:
    """Rings over positions of `gpus` (component ids of one domain), with the lanes each fills."""
    positions = np.arange(len(gpus))
    if len(gpus) < 3:
        return [(positions, 1.0)]
    lanes = _mesh_lanes(cluster, gpus)
    if lanes is None:
        return [(positions, 1.0)]
    rings = disjoint_rings(lanes) if lanes.any() else []
    if not rings and lanes.any(axis=1).all():
        # As the library does, which looks for ways through another GPU when it finds no others.
        rings = disjoint_rings(lanes, through=True)
    if rings:
        return [(np.array(ring, np.int64), float(count)) for ring, count in rings]
    return [(_tree_order(cluster, gpus), 1.0)]


def local_walks(
    cluster: Cluster,
    gpus: Ids,
    doors: Sequence[tuple[int, int]],
    exits: Sequence[tuple[int, int]],
) -> list[tuple[Ids, int, int]]:
    """Walks over all positions on a mesh that share no lane: one in by each door, out by each exit.

    Doors and exits are (position, NIC). The network is one more corner of the mesh, with a lane to
    each door and from each exit: its rings are the walks. Empty where they are not as many.
    """
    lanes = _mesh_lanes(cluster, gpus) if len(gpus) > 2 and doors else None
    if lanes is None or not lanes.any():
        return []
    lanes = np.pad(lanes, ((1, 0), (1, 0)))
    ins, outs = _at(doors), _at(exits)
    for position, nics in ins.items():
        lanes[0, 1 + position] = len(nics)
    for position, nics in outs.items():
        lanes[1 + position, 0] = len(nics)
    rings = [ring for ring, count in disjoint_rings(lanes) for _ in range(count)]
    if len(rings) < len(doors):
        return []
    walks = [np.array(ring[1:], np.int64) - 1 for ring in rings]
    found = [(w, ins[int(w[0])].pop(0), outs[int(w[-1])].pop(0)) for w in walks]
    order = [nic for _, nic in doors]
    return sorted(found, key=lambda walk: order.index(walk[1]))


def _at(doors: Sequence[tuple[int, int]]) -> dict[int, list[int]]:
    """The NICs at each position."""
    found: dict[int, list[int]] = {}
    for position, nic in doors:
        found.setdefault(position, []).append(nic)
    return found


def _mesh_lanes(cluster: Cluster, gpus: Ids) -> Ids | None:
    """[n, n] direct NVLink or xGMI lanes among GPUs that have no switch; None with a switch."""
    topology = cluster.topology
    unit = topology.unit_at(int(gpus[0]))
    links = slice(topology.first_link[unit], topology.first_link[unit + 1])
    source, target = topology.source[links], topology.target[links]
    up = topology.capacity[links] > 0
    fabric = np.isin(topology.link_kind[links], (LinkKind.NVLINK, LinkKind.XGMI)) & up
    place = {int(g): k for k, g in enumerate(gpus)}
    lanes = np.zeros((len(gpus), len(gpus)), np.int64)
    for k in np.flatnonzero(fabric & np.isin(source, gpus)):
        if topology.kind[target[k]] == ComponentKind.NVSWITCH:
            return None
        if int(target[k]) in place:
            lanes[place[int(source[k])], place[int(target[k])]] += topology.lanes[links][k]
    return lanes


def _tree_order(cluster: Cluster, gpus: Ids) -> Ids:
    """Positions ordered so that neighbours in the PCIe tree follow each other.

    The way from one fixed CPU down to a GPU, read as a sequence of components, is its place in the
    tree; GPUs that NVLink joins stand together at the first one's place. A component counts as the
    first GPU below it, so that how a machine was put together decides nothing.
    """
    topology = cluster.topology
    unit = topology.unit_at(int(gpus[0]))
    begin = int(topology.first_component[unit])
    routes = cluster.router.routes(unit)
    cpus = sorted(routes.unit.of_kind(ComponentKind.CPU), key=lambda c: int(routes.unit.numa[c]))
    ways: list[tuple[int, ...]] = []
    for gpu in gpus:
        links = routes.pcie_links(int(cpus[0]), int(gpu) - begin) if len(cpus) else None
        ways.append(tuple(int(routes.unit.target[link]) for link in links or ()))
    first: dict[int, int] = {}
    for k, way in enumerate(ways):
        for component in way:
            first.setdefault(component, k)
    places = [tuple(first[component] for component in way) for way in ways]
    leaders = list(places)
    for a in range(len(gpus)):
        for b in range(a):
            if routes.nvlink(int(gpus[b]) - begin, int(gpus[a]) - begin) is not None:
                leaders[a] = leaders[b]
                break
    keys = [(leaders[k], places[k], k) for k in range(len(gpus))]
    return np.array(sorted(range(len(gpus)), key=keys.__getitem__), np.int64)
