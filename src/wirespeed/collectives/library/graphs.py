"""find_graphs: channels and speeds that the library's graph search ends up with.

The search tries speeds from a ladder, fastest first, and keeps the one at which most channels times
speed fit; a few fast channels are then split in two. Inside an NVSwitch domain that is arithmetic
on each GPU's links, so nothing is searched here but rings on a mesh.
Source: NVIDIA/nccl, src/graph/search.cc and connect.cc, 2.28; held against posted logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wirespeed.catalog import gpu
from wirespeed.collectives.domains import domains_of
from wirespeed.collectives.library.constants import Constants, generation, planning
from wirespeed.collectives.library.environment import LibrarySettings
from wirespeed.collectives.library.graph_summary import Graphs, GraphSummary, Team
from wirespeed.collectives.library.host_view import Fits, HostView, look
from wirespeed.collectives.library.names import Algorithm
from wirespeed.collectives.peers import domain_of
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import PathType

Ids = npt.NDArray[np.int64]

_GIVE_UP = 0.49
"""A speed this much slower than what was found is not tried any more."""
_SPLIT_FROM = 25.0
_FEW = 4
_FOURFOLD = "gfx90a"


@dataclass(frozen=True, slots=True)
class Found:
    """Channels and what each is credited with [GB/s]."""

    channels: int
    speed: float


def team_of(cluster: Cluster, group: Group) -> Team:
    """The group as the cost model counts it."""
    nodes = len(np.unique(domain_of(cluster, group.gpus)))
    row = gpu(cluster.machine.gpu)
    return Team(len(group), nodes, row.cc or 0, cluster.machine.cpu_vendor, row.gfx)


def find_graphs(
    cluster: Cluster, group: Group, constants: Constants, settings: LibrarySettings
) -> Graphs:
    """The graphs of a group of two ranks or more; the poorest node decides for all."""
    team = team_of(cluster, group)
    views = [look(cluster, gpus) for gpus in _different_hosts(cluster, group)]
    ring = _weakest(_ring(view, team, constants, settings) for view in views)
    tree = _weakest(_tree(view, ring, team, constants) for view in views)
    multicast = _weakest(_nvls(view, ring, team, constants) for view in views)
    heads = _weakest(_heads(view, ring, team, constants) for view in views)
    delay = plugin_latency(cluster) if team.nodes > 1 else 0.0
    of = {Algorithm.RING: ring, Algorithm.TREE: tree, Algorithm.PAT: tree}
    of |= {Algorithm.COLLNET_CHAIN: tree, Algorithm.COLLNET_DIRECT: heads}
    of |= {Algorithm.NVLS: multicast, Algorithm.NVLS_TREE: multicast}
    return Graphs(
        of={name: replace(graph, latency_inter=delay) for name, graph in of.items()},
        coll_channels=_coll_channels(ring, team, constants, settings),
        nvls_channels=_nvls_channels(team, constants, settings),
    )


def _different_hosts(cluster: Cluster, group: Group) -> list[Ids]:
    """The GPUs of one host of every kind that takes part: same shape, same places."""
    domains = domains_of(cluster, group)
    return [group.gpus[domains.ranks[d]] for d in domains.example]


def _weakest(graphs: Iterable[GraphSummary]) -> GraphSummary:
    """What all hosts can do: each figure of the poorest, each distance of the farthest."""
    several = list(graphs)
    if len(several) == 1:
        return several[0]
    return GraphSummary(
        channels=min(g.channels for g in several),
        bw_intra=min(g.bw_intra for g in several),
        bw_inter=min(g.bw_inter for g in several),
        type_intra=max(g.type_intra for g in several),
        type_inter=max(g.type_inter for g in several),
        latency_inter=max(g.latency_inter for g in several),
        cross_nic=any(g.cross_nic for g in several),
        same_channels=all(g.same_channels for g in several),
    )


def _search(ladder: tuple[float, ...], fits: Fits, most: int, total: float) -> Found:
    """The best of the ladder: most channels times speed, the first of equals."""
    best = Found(0, 0.0)
    for speed in ladder:
        if best.channels and speed / best.speed <= _GIVE_UP:
            break
        channels = min(fits(speed), most)
        if channels * speed > best.channels * best.speed:
            best = Found(channels, speed)
        if best.channels * best.speed >= total or best.channels == most:
            break
    return best if best.channels else Found(1, ladder[-1])


def _split(found: Found, row: str, most: int, constants: Constants) -> Found:
    """A few fast channels become twice as many, since one block cannot drive so much."""
    fast = found.speed >= constants.rules.double_from_GBps[row]
    few = found.channels <= _FEW and found.speed >= _SPLIT_FROM
    if not fast and not few:
        return found
    channels = min(found.channels * 2, most)
    return Found(channels, found.speed / -(-channels // found.channels))


def _ring(
    view: HostView, team: Team, constants: Constants, settings: LibrarySettings
) -> GraphSummary:
    row, most = generation(team.cc), constants.rules.max_channels // 2
    if team.nodes == 1:
        found = _search(constants.ladders.intra[row], view.loops, most, view.total)
        found = _split(found, row, most, constants)
        return _summary(found, view, PathType.LOC)
    type_inter, crosses = _way_out(view, constants, settings)
    inside = view.chains if crosses else view.loops

    def fits(speed: float) -> int:
        return min(sum(int(nic / speed + 1e-6) for nic in view.nics), inside(speed))

    found = _search(constants.ladders.inter[row], fits, most, view.total)
    found = _split(found, row, most, constants)
    return replace(_summary(found, view, type_inter), cross_nic=crosses)


def _way_out(
    view: HostView, constants: Constants, settings: LibrarySettings
) -> tuple[PathType, bool]:
    """How far a ring's last GPU is from its NIC, and whether the ring may leave by another NIC.

    With a NIC to every GPU a ring that leaves by the NIC it came in by must hand its data on over
    NVLink (PXN), or cross the CPU; one that may change NICs need not.
    """
    if view.shared_nics or (len(view.nics) < 2 and view.gpus == 1):
        return view.type_inter, False
    if settings.cross_nic > 0 and len(view.nics) > 1:
        return view.type_inter, True
    if view.type_intra <= PathType.NVB and settings.pxn and constants.rules.pxn:
        return max(PathType.PXN, view.type_inter), False
    return max(PathType.PHB, view.type_inter), False


def _summary(found: Found, view: HostView, type_inter: PathType) -> GraphSummary:
    return GraphSummary(
        channels=found.channels,
        bw_intra=found.speed,
        bw_inter=found.speed,
        type_intra=view.type_intra,
        type_inter=type_inter,
    )


def _tree(view: HostView, ring: GraphSummary, team: Team, constants: Constants) -> GraphSummary:
    """As many trees as rings; inside a node they may run up to twice as fast as between nodes."""
    ladders = constants.ladders.intra if team.nodes == 1 else constants.ladders.inter

    def fits(speed: float) -> bool:
        return view.gpus == 1 or view.chains(speed) >= ring.channels

    speed = _lift(ring.bw_intra, ladders[generation(team.cc)], fits)
    return replace(ring, bw_intra=speed, bw_inter=ring.bw_inter if team.nodes > 1 else speed)


def _nvls(view: HostView, ring: GraphSummary, team: Team, constants: Constants) -> GraphSummary:
    """Every GPU feeds all heads, and a head its own share twice: h + 1 channels' worth in all.

    Inside one domain every GPU is a head; over several a GPU is one for its own NIC.
    """
    rules, row = constants.rules, generation(team.cc)
    none = replace(ring, channels=0)
    if not view.switched or rules.nvls == "none":
        return none
    if rules.nvls == "three_quarters":
        return ring if team.nodes == 1 else none
    if team.nodes > 1:
        return _heads(view, ring, team, constants)
    most = min(view.gpus, rules.nvls_heads)
    # All heads or none: data is to flow evenly from all GPUs.
    for speed in constants.ladders.intra[row]:
        if (most + 1) * speed <= view.total:
            # Nothing uses the network's speed here, so the search lifts it as far as it looks.
            lifted = _lift(speed, constants.ladders.intra[row], lambda _: True)
            return replace(ring, channels=most, bw_intra=speed, bw_inter=lifted)
    return none


def _lift(speed: float, ladder: tuple[float, ...], fits: Callable[[float], bool]) -> float:
    """The next faster speeds that fit, until twice the other side's is reached."""
    lifted = speed
    for faster in sorted(s for s in ladder if s > speed):
        if lifted >= 2 * speed or not fits(faster):
            break
        lifted = faster
    return lifted


def _heads(view: HostView, ring: GraphSummary, team: Team, constants: Constants) -> GraphSummary:
    """GPUs that are heads for their own NICs: for NVLS over several domains and CollNetDirect."""
    most = min(view.gpus, constants.rules.nvls_heads, len(view.nics))
    none = replace(ring, channels=0)
    if most == 0 or not view.switched or team.nodes == 1:
        return none
    ladder = constants.ladders.inter[generation(team.cc)]

    def fits(speed: float) -> int:
        heads = min(most, sum(nic >= speed for nic in view.nics))
        while heads and (heads + 1) * speed > view.total:
            heads -= 1
        return heads

    found = _search(ladder, fits, most, view.total)
    if fits(found.speed) < found.channels:
        return none
    heads = found.channels
    return replace(
        ring,
        channels=heads,
        bw_intra=_lift(found.speed, ladder, lambda s: (heads + 1) * s <= view.total),
        bw_inter=_lift(found.speed, ladder, lambda s: sum(n >= s for n in view.nics) >= heads),
        type_inter=view.type_inter,
    )


def _coll_channels(
    ring: GraphSummary, team: Team, constants: Constants, settings: LibrarySettings
) -> int:
    """Channels that rings and trees run on: twice the search's, within what the user set.

    On MI250X over nodes it is four times: a limit of 16 takes nothing off four NICs, one of 8 does.
    """
    times = 4 if team.gfx == _FOURFOLD and team.nodes > 1 else 2
    channels = min(times * ring.channels, constants.rules.max_channels)
    if settings.max_channels is not None:
        channels = min(channels, settings.max_channels)
    return max(channels, settings.min_channels or 1)


def _nvls_channels(team: Team, constants: Constants, settings: LibrarySettings) -> int:
    table, row = constants.rules.nvls_channels, generation(team.cc)
    several = f"{row}_multi" if team.nodes > 1 else row
    channels = table.get(several, table.get(row, 0))
    if settings.max_channels is not None:
        channels = min(channels, settings.max_channels)
    return max(channels, settings.min_channels or 0)


def plugin_latency(cluster: Cluster) -> float:
    """What the network plugin of this cluster reports as its latency [us]."""
    known = planning().network_us
    return known.get(cluster.machine.network, known["other"])
