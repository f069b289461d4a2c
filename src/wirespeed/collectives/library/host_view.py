"""HostView: what the library sees of one node's part of a group, in its own planning speeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.catalog import gpu
from wirespeed.collectives.library.constants import planning
from wirespeed.collectives.mesh_rings import disjoint_rings
from wirespeed.collectives.peers import Leg, peer_leg
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.kinds import ComponentKind, LinkKind, PathType

Ids = npt.NDArray[np.int64]
Fits = Callable[[float], int]
"""How many channels of a speed [GB/s] fit."""

_SMALL = 1e-6
_UNLIMITED = 1024


@dataclass(frozen=True, slots=True)
class HostView:
    """One node or NVLink domain.

    Attributes:
        gpus: how many take part here.
        total: what one GPU sends over NVLink, or over PCIe without it [GB/s].
        loops: channels that fit as rings inside; `chains` as open chains.
        type_intra: the farthest hop of a ring.
        switched: GPUs are joined by NVSwitches that multicast.
        nics: [GB/s] of each NIC that a channel may use, its PCIe included.
        type_inter: from a GPU to its NIC.
        shared_nics: a ring may end where it began although another GPU closes it.
    """

    gpus: int
    total: float
    loops: Fits
    chains: Fits
    type_intra: PathType
    switched: bool
    nics: tuple[float, ...]
    type_inter: PathType
    shared_nics: bool


def look(cluster: Cluster, gpus: Ids) -> HostView:
    """The view of GPUs (component ids) of one node or NVLink domain."""
    lanes, per_lane = _mesh_lanes(cluster, gpus), nvlink_speed(cluster)
    nics, type_inter, shared = _nics(cluster, gpus)
    spokes = _switch_total(cluster, gpus) * per_lane
    switched = spokes > 0 and _nvlink_used(cluster, gpus)
    count = len(gpus)
    if count == 1:
        limit = _gpu_pcie(cluster, int(gpus[0]))
        free: Fits = lambda speed: _floor(limit, speed)  # noqa: E731
        return HostView(1, limit, free, free, PathType.LOC, False, nics, type_inter, True)
    if switched:
        return HostView(
            gpus=count,
            total=spokes,
            loops=lambda speed: _floor(spokes, speed),
            chains=lambda speed: _chains(_floor(spokes, speed), count),
            type_intra=PathType.NVL,
            switched=True,
            nics=nics,
            type_inter=type_inter,
            shared_nics=shared,
        )
    rings = disjoint_rings(lanes) if count > 2 else [((0, 1), int(lanes[0, 1]))]
    if sum(number for _, number in rings) > 0 and _nvlink_used(cluster, gpus, lanes):
        widths = [number * per_lane for _, number in rings]

        def fits(speed: float) -> int:
            return sum(_floor(width, speed) for width in widths)

        total = float(lanes.sum(axis=1).min()) * per_lane
        return HostView(count, total, fits, fits, PathType.NVL, False, nics, type_inter, shared)
    width, farthest = _pcie_ring(cluster, gpus)
    over: Fits = lambda speed: _floor(width, speed)  # noqa: E731
    return HostView(count, width, over, over, farthest, False, nics, type_inter, shared)


def nvlink_speed(cluster: Cluster) -> float:
    """What the library credits one NVLink or xGMI link of this machine with [GB/s]."""
    row, known = gpu(cluster.machine.gpu), planning()
    if row.vendor == "AMD":
        return known.xgmi_GBps.get(row.gfx, known.xgmi_GBps["other"])
    # A GPU that is announced has no number yet: it gets what the newest has.
    cc = math.inf if row.cc is None else row.cc
    return ([speed for least, speed in known.nvlink_GBps if cc >= least] or [0.0])[-1]


def nic_speed(cluster: Cluster, device: int) -> float:
    """What the library credits all NICs nearest to a GPU with [GB/s]; 0 without any."""
    speeds, _, _ = _nics(cluster, np.array([device]))
    return sum(speeds)


def _floor(width: float, speed: float) -> int:
    """Channels that fit; more than any library opens where nothing limits them."""
    return _UNLIMITED if math.isinf(width) else math.floor(width / speed + _SMALL)


def _chains(loops: int, gpus: int) -> int:
    """Open chains where every GPU sends in `loops`: the last of a chain sends nothing in it."""
    most = loops
    while (most + 1) - (most + 1) // gpus <= loops:
        most += 1
    return most


def _nvlink_used(cluster: Cluster, gpus: Ids, lanes: Ids | None = None) -> bool:
    """Whether the library uses the links: of a mesh, those of two GPUs that `lanes` join."""
    a, b = (0, -1) if lanes is None else np.argwhere(lanes)[0].tolist()
    return len(gpus) < 2 or peer_leg(cluster, int(gpus[a]), int(gpus[b]), len(gpus)) is Leg.NVLINK


def _links_of(cluster: Cluster, gpus: Ids) -> Ids:
    """NVLink and xGMI links that are up and leave these GPUs."""
    topology = cluster.topology
    up = topology.capacity[: topology.links] > 0
    fabric = np.isin(topology.link_kind, (LinkKind.NVLINK, LinkKind.XGMI))
    return np.flatnonzero(up & fabric & np.isin(topology.source, gpus)).astype(np.int64)


def _switch_total(cluster: Cluster, gpus: Ids) -> int:
    """Links to NVSwitches of the GPU that has the fewest."""
    topology = cluster.topology
    links = _links_of(cluster, gpus)
    links = links[topology.kind[topology.target[links]] == ComponentKind.NVSWITCH]
    place = np.searchsorted(np.sort(gpus), topology.source[links])
    return int(np.bincount(place, topology.lanes[links], minlength=len(gpus)).min())


def _mesh_lanes(cluster: Cluster, gpus: Ids) -> Ids:
    """[n, n] links from GPU to GPU."""
    topology = cluster.topology
    place = {int(g): k for k, g in enumerate(gpus)}
    lanes = np.zeros((len(gpus), len(gpus)), np.int64)
    for link in _links_of(cluster, gpus):
        target = place.get(int(topology.target[link]))
        if target is not None:
            lanes[place[int(topology.source[link])], target] += topology.lanes[link]
    return lanes


def _pcie_ring(cluster: Cluster, gpus: Ids) -> tuple[float, PathType]:
    """Speed [GB/s] of a ring over PCIe and its farthest hop; through memory it is PHB at least."""
    width, farthest = math.inf, PathType.LOC
    for source, target in zip(gpus, np.roll(gpus, -1), strict=True):
        a, b = int(source), int(target)
        hop = cluster.router.path_type(a, b)
        speed = _path_speed(cluster, a, b)
        if peer_leg(cluster, a, b, len(gpus)) is Leg.HOST:
            hop = max(hop, PathType.PHB)
        elif hop is PathType.PHB and cluster.machine.cpu_vendor == "Intel":
            speed /= planning().intel_p2p_overhead
        width, farthest = min(width, speed), max(farthest, hop)
    return width, farthest


def _path_speed(cluster: Cluster, source: int, target: int) -> float:
    """Planning speed [GB/s] of the PCIe way between two devices of a unit; 0 where none is."""
    topology = cluster.topology
    unit = topology.unit_at(source)
    begin = int(topology.first_component[unit])
    routes = cluster.router.routes(unit)
    links = routes.pcie_links(source - begin, target - begin)
    if links is None:
        return 0.0
    shape, vendor = routes.unit, cluster.machine.cpu_vendor
    speeds = [
        _link_speed(LinkKind(shape.link_kind[k]), shape.lanes[k], shape.bandwidth[k], vendor)
        for k in links
    ]
    return min(speeds, default=math.inf)


def _link_speed(kind: LinkKind, lanes: int, bandwidth: float, vendor: str) -> float:
    known = planning()
    if kind is LinkKind.PCIE:
        doublings = round(math.log2(bandwidth / lanes / 0.25e9))
        return float(lanes) * known.pcie_lane_GBps * 2.0**doublings
    if kind is LinkKind.CPU:
        if vendor == "Intel" and bandwidth >= known.intel_fast_from_GBps * 1e9:
            return known.intel_fast_socket_GBps
        return known.socket_GBps.get(vendor, known.socket_GBps["other"])
    return math.inf


def _gpu_pcie(cluster: Cluster, device: int) -> float:
    """Planning speed [GB/s] of a GPU's own PCIe or C2C link."""
    topology = cluster.topology
    found = np.flatnonzero(topology.source == device)
    own = [k for k in found if topology.link_kind[k] in (LinkKind.PCIE, LinkKind.C2C)]
    speeds = [
        _link_speed(LinkKind(topology.link_kind[k]), topology.lanes[k], topology.bandwidth[k], "")
        for k in own
    ]
    return max(speeds, default=math.inf)


def _nics(cluster: Cluster, gpus: Ids) -> tuple[tuple[float, ...], PathType, bool]:
    """Speed of each NIC nearest to one of these GPUs, the farthest way to one, and sharing."""
    topology = cluster.topology
    speeds: dict[int, float] = {}
    neighbours: dict[int, int] = {}
    farthest = PathType.LOC
    for device in gpus.tolist():
        for nic in cluster.router.nearest_nics(device):
            way = _path_speed(cluster, device, nic)
            speeds[nic] = max(speeds.get(nic, 0.0), min(topology.rate[nic] / 1e9, way))
            neighbours[nic] = neighbours.get(nic, 0) + 1
            farthest = max(farthest, cluster.router.path_type(device, nic))
    # A GPU cannot send more through its NICs than its own PCIe link carries.
    ordered = tuple(speeds[nic] for nic in sorted(speeds))
    shared = bool(neighbours) and min(neighbours.values()) > 1
    return ordered, farthest, shared or len(gpus) == 1
