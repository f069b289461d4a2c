"""library_time: how long the library believes that an algorithm takes.

time = latency + bytes / bandwidth, with bandwidths from the graph search and from measured limits
of a channel, and latencies from a base and one hop's time on NVLink, PCIe or the network.
Source: NVIDIA/nccl, src/graph/tuning.cc, releases 2.8 to 2.31 (library_nccl.toml names them).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.library.constants import Constants
from wirespeed.collectives.library.graph_summary import Graphs, GraphSummary, Team
from wirespeed.collectives.library.names import COLLNET, GATHERS, MULTICAST, ROOTED, Algorithm
from wirespeed.collectives.operation import Operation
from wirespeed.collectives.protocol import Protocol
from wirespeed.topology.kinds import PathType
from wirespeed.units import US

Floats = npt.NDArray[np.float64]

_COLUMN = {Protocol.LL: 0, Protocol.LL128: 1, Protocol.SIMPLE: 2}
_NET_OVERHEAD_US = {"Intel": 1.0, "AMD": 2.0}
_LL128_TREE = 120 / 128
_LL_TREE = 1 / 3.8
_PAT_SHARE = 0.75
_COLLNET_HOPPER = 0.85


@dataclass(frozen=True, slots=True)
class Case:
    """One algorithm and protocol for one operation, with all that the cost model reads."""

    algorithm: Algorithm
    protocol: Protocol
    operation: Operation
    graph: GraphSummary
    team: Team
    constants: Constants


def library_time(
    algorithm: Algorithm,
    protocol: Protocol,
    operation: Operation,
    sizes: Floats,
    graphs: Graphs,
    team: Team,
    constants: Constants,
) -> Floats:
    """[s] that the library expects for each size [B]; inf where the algorithm cannot run.

    Sizes as nccl-tests counts them. Whether an option is switched off, lacks a data type or has no
    such operation is `availability`'s business; here a graph without channels takes forever.
    """
    graph = graphs.of.get(algorithm)
    if graph is None or graph.channels == 0:
        return np.full(len(sizes), np.inf)
    case = Case(algorithm, protocol, operation, graph, team, constants)
    speed = algorithm_bandwidth(case)
    if speed <= 0:
        return np.full(len(sizes), np.inf)
    delay = np.full(len(sizes), latency(case), np.float64)
    bandwidth = speed * _correction(case, sizes)
    crosses = team.nodes > 1 and operation is Operation.ALL_REDUCE
    if crosses and (algorithm, protocol) == (Algorithm.RING, Protocol.SIMPLE):
        full = _fills_ring(case, sizes, graphs.coll_channels)
        delay = np.where(full, delay * constants.rules.plateau[team.generation], delay)
    return np.asarray(delay * US + sizes / (bandwidth * 1e9), np.float64)


def algorithm_bandwidth(case: Case) -> float:
    """Bytes of the operation a second [GB/s] that the cost model credits; 0 for never."""
    if case.algorithm in COLLNET:
        return _collnet(case)
    if case.algorithm in MULTICAST:
        return case.graph.channels * _multicast_channel(case) * _ratio(case)
    return _chained(case) * _ratio(case)


def _chained(case: Case) -> float:
    """Bus bandwidth [GB/s] of a ring, tree or PAT."""
    algorithm, protocol, operation = case.algorithm, case.protocol, case.operation
    graph, team, constants = case.graph, case.team, case.constants
    rules, row, scale = constants.rules, team.generation, team.scale
    channel = graph.bw_intra if team.nodes <= 2 else graph.bw_inter
    if algorithm is Algorithm.TREE and rules.tree_least_of_both:
        channel = min(graph.bw_intra, graph.bw_inter)
    bus = min(graph.channels * channel, constants.bus_limit_GBps.get(row, math.inf))
    ll_limit = constants.ll_GBps[_ll_row(team)][scale]
    if algorithm is Algorithm.PAT:
        return bus * _PAT_SHARE
    if algorithm is Algorithm.RING:
        if protocol is Protocol.LL:
            adds = team.nodes > 1 or operation in (Operation.ALL_REDUCE, Operation.REDUCE)
            return min(
                ll_limit, bus * (rules.ring_ll_share if adds else rules.ring_ll_share_copying)
            )
        if protocol is Protocol.LL128:
            share = rules.one_gpu_ll128 if team.per_node < 2 else rules.ring_ll128
            return min(bus * share, graph.channels * constants.ring_ll128_GBps[row][scale])
        return bus
    bus = min(bus * 0.92, graph.channels * constants.tree_GBps[row][scale])
    if protocol is Protocol.LL:
        bus = min(bus * _LL_TREE, ll_limit)
    elif protocol is Protocol.LL128:
        share = 7 / 9 if team.nodes == 1 else _LL128_TREE
        bus = min(bus * share, graph.channels * constants.tree_ll128_GBps[row][scale])
    return bus * (rules.lone_tree if team.per_node == 1 else 1.0)


def _ll_row(team: Team) -> str:
    """LL is limited by the GPU on one node and by the CPU's PCIe beyond."""
    if team.nodes == 1:
        return team.generation
    return "ampere" if team.cpu == "AMD" else "volta"


def _multicast_channel(case: Case) -> float:
    """Bus bandwidth a channel [GB/s] of NVLS or NVLSTree."""
    operation, graph, team, constants = case.operation, case.graph, case.team, case.constants
    rules = constants.rules
    tree, two = case.algorithm is Algorithm.NVLS_TREE, team.nodes <= 2
    if rules.nvls == "three_quarters":
        limit = constants.bus_limit_GBps.get(team.generation, math.inf)
        return min(graph.bw_intra, limit / graph.channels)
    if rules.nvls == "five_sixths":
        if tree:
            return min(graph.bw_intra, graph.bw_inter / (1 if two else 2))
        if operation in GATHERS and rules.gather_direct:
            return min(graph.bw_intra * (1 - 1 / team.per_node), graph.bw_inter * 0.9)
        return min(graph.bw_intra, graph.bw_inter)
    if graph.channels < 2:
        return 0.0
    efficiency = constants.nvls_efficiency.get(team.generation, 0.0)
    inside = graph.bw_intra * efficiency * (graph.channels - 1) / graph.channels
    inside *= 2.0 if operation is Operation.ALL_REDUCE else 1 - 1 / team.per_node
    between = graph.bw_inter * (2 if two and tree else 1)
    limit = constants.nvls_tree_GBps[team.generation][team.scale] if tree else math.inf
    return min(inside, between, limit)


def _collnet(case: Case) -> float:
    """Algorithm bandwidth [GB/s] of CollNet, which only Simple serves."""
    graph, team, constants = case.graph, case.team, case.constants
    if case.protocol is not Protocol.SIMPLE:
        return 0.0
    if case.algorithm is Algorithm.COLLNET_CHAIN:
        return graph.channels * graph.bw_intra * constants.rules.collnet_chain * 0.5
    if case.operation in GATHERS:
        if constants.rules.gather_direct:
            return team.per_node * min(graph.bw_intra, graph.bw_inter * 0.9)
        weight = (team.per_node - 1) / 7
        return team.per_node * graph.bw_intra * (weight * 0.85 + (1 - weight) * 0.95)
    # Half of what more than one GPU a NIC would cost.
    crowding = (1 + team.per_node / graph.channels) / 2
    hopper = _COLLNET_HOPPER if team.cc >= 90 else 1.0
    return graph.channels * graph.bw_intra / crowding * hopper * 0.5


def _ratio(case: Case) -> float:
    """Algorithm bandwidth over bus bandwidth."""
    rules, ranks = case.constants.rules, case.team.ranks
    ring = ranks / _steps(case.operation, ranks)
    if case.algorithm is Algorithm.RING:
        return ring
    if case.operation in GATHERS and rules.gather_direct:
        return 1.0
    if case.algorithm in MULTICAST:
        return {"three_quarters": 0.75, "five_sixths": 5 / 6}.get(rules.nvls, ring)
    return 0.5


def _steps(operation: Operation, ranks: int) -> int:
    if operation is Operation.ALL_REDUCE:
        return 2 * (ranks - 1)
    return ranks - 1 if operation in GATHERS else ranks


def latency(case: Case) -> float:
    """Time of no bytes [us] that the cost model credits."""
    rules, protocol, algorithm = case.constants.rules, case.protocol, case.algorithm
    inside, between = _hop_us(case), _network_us(case)
    base = case.constants.base_us[algorithm][_COLUMN[protocol]]
    ranks, nodes = case.team.ranks, case.team.nodes
    local, levels = ranks // nodes, int(math.log2(nodes))
    if protocol is Protocol.LL and nodes > 1:
        inside *= rules.ll_network_factor
    match algorithm:
        case Algorithm.RING:
            return base + _around(case, inside, between)
        case Algorithm.TREE:
            return base + 2 * ((local - 1) * inside + levels * between)
        case Algorithm.COLLNET_DIRECT:
            arity = (local - 1) * rules.collnet_arity_us
            return base + 2 * (min(1, local - 1) * inside + arity) + between
        case Algorithm.COLLNET_CHAIN:
            return base + 2 * (local - 1) * inside + between
        case Algorithm.NVLS:
            return base + inside + (between if nodes > 1 else 0.0)
        case Algorithm.NVLS_TREE:
            return base + inside + 2 * levels * between
    return base + levels * (between / 3.5) + ranks * 2.8


def _hop_us(case: Case) -> float:
    """One hop inside a node; a way through another GPU (NVB) counts as PCIe."""
    near = case.graph.type_intra is PathType.NVL
    table = case.constants.nvlink_us if near else case.constants.pcie_us
    return table[case.algorithm][_COLUMN[case.protocol]]


def _network_us(case: Case) -> float:
    """One hop between nodes, with what the plugin reports (twice with Simple, for its flush)."""
    rules, reported = case.constants.rules, case.graph.latency_inter
    lone = rules.lone_ranks_by_tree and case.team.per_node == 1
    row = Algorithm.TREE if lone else case.algorithm
    own = case.constants.network_us[row][_COLUMN[case.protocol]]
    if not rules.inter_latency_adds:
        return reported or own
    return own + reported * (2 if case.protocol is Protocol.SIMPLE else 1)


def _around(case: Case, inside: float, between: float) -> float:
    """Time of all hops of a ring [us]."""
    rules, nodes = case.constants.rules, case.team.nodes
    steps = _steps(case.operation, case.team.ranks)
    if case.operation in ROOTED:
        return _down_the_ring(case, steps)
    if nodes == 1:
        return steps * inside
    if rules.net_overhead:
        overhead = _NET_OVERHEAD_US.get(case.team.cpu, 1.0)
        inside = max(inside, overhead * (3 if case.protocol is Protocol.SIMPLE else 1))
    if case.operation is Operation.ALL_REDUCE:
        across = 2 * (nodes - 1 + rules.inter_steps_more)
    else:
        across = nodes - 1
    return (steps - across) * inside + across * between


def _down_the_ring(case: Case, steps: int) -> float:
    """Time of a broadcast or reduce [us]: one hop counts where all channels have one order."""
    constants, column = case.constants, _COLUMN[case.protocol]
    near = case.graph.type_intra is PathType.NVL
    inside = constants.nvlink_us if near else constants.pcie_us
    table = inside if case.team.nodes == 1 else constants.network_us
    if case.graph.same_channels:
        return table[Algorithm.RING][column]
    row = Algorithm.TREE if case.protocol is Protocol.SIMPLE else Algorithm.RING
    return steps * table[row][column]


def _correction(case: Case, sizes: Floats) -> Floats:
    """What a tree keeps of its bandwidth at each size: a table over powers of two from 64 B."""
    team, constants = case.team, case.constants
    corrected = case.algorithm is Algorithm.TREE or (
        case.algorithm is Algorithm.NVLS_TREE
        and constants.rules.nvls_tree_corrected
        and team.cc >= 100
        and team.cpu in ("Intel", "AMD")
    )
    if not corrected or case.operation is not Operation.ALL_REDUCE:
        return np.ones(len(sizes))
    table = np.array([*constants.tree_correction[_COLUMN[case.protocol]], 1.0])
    place = np.floor(np.log2(np.maximum(sizes, 64) / 64)).astype(np.int64)
    return np.asarray(table[np.minimum(place, len(table) - 1)], np.float64)


def _fills_ring(case: Case, sizes: Floats, channels: int) -> npt.NDArray[np.bool_]:
    """Sizes from which all steps of a ring are busy at once, which costs it latency."""
    ranks, share = case.team.ranks, case.constants.rules.plateau_from_share
    if share == 0:
        return np.asarray(sizes >= ranks / 16 * 65536, np.bool_)
    return np.asarray(sizes // (channels * ranks) >= share, np.bool_)
