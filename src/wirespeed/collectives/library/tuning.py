"""library_time: how long the library believes that an algorithm takes.

time = latency + bytes / bandwidth, with bandwidths from the graph search and from measured limits
of a channel, and latencies from a base and one hop's time on NVLink, PCIe or the network.
Source: NVIDIA/nccl, src/graph/tuning.cc, releases 2.8 to 2.31 (library_nccl.toml names them).
"""

from __future__ import annotations

import math

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
    speed = algorithm_bandwidth(algorithm, protocol, operation, graph, team, constants)
    if speed <= 0:
        return np.full(len(sizes), np.inf)
    delay = np.full(
        len(sizes), latency(algorithm, protocol, operation, graph, team, constants), np.float64
    )
    bandwidth = speed * _correction(algorithm, protocol, operation, sizes, team, constants)
    if (algorithm, protocol, operation) == (
        Algorithm.RING,
        Protocol.SIMPLE,
        Operation.ALL_REDUCE,
    ) and team.nodes > 1:
        full = _fills_ring(sizes, graphs.coll_channels, team, constants)
        delay = np.where(full, delay * constants.rules.plateau[team.generation], delay)
    return np.asarray(delay * US + sizes / (bandwidth * 1e9), np.float64)


def algorithm_bandwidth(
    algorithm: Algorithm,
    protocol: Protocol,
    operation: Operation,
    graph: GraphSummary,
    team: Team,
    constants: Constants,
) -> float:
    """Bytes of the operation a second [GB/s] that the cost model credits; 0 for never."""
    if algorithm in MULTICAST:
        bus = graph.channels * _multicast_channel(algorithm, operation, graph, team, constants)
    elif algorithm in COLLNET:
        return _collnet(algorithm, protocol, operation, graph, team, constants)
    else:
        bus = _chained(algorithm, protocol, operation, graph, team, constants)
    return bus * _ratio(algorithm, operation, team, constants)


def _chained(
    algorithm: Algorithm,
    protocol: Protocol,
    operation: Operation,
    graph: GraphSummary,
    team: Team,
    constants: Constants,
) -> float:
    """Bus bandwidth [GB/s] of a ring, tree or PAT."""
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


def _multicast_channel(
    algorithm: Algorithm,
    operation: Operation,
    graph: GraphSummary,
    team: Team,
    constants: Constants,
) -> float:
    """Bus bandwidth a channel [GB/s] of NVLS or NVLSTree."""
    rules = constants.rules
    tree, two = algorithm is Algorithm.NVLS_TREE, team.nodes <= 2
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


def _collnet(
    algorithm: Algorithm,
    protocol: Protocol,
    operation: Operation,
    graph: GraphSummary,
    team: Team,
    constants: Constants,
) -> float:
    """Algorithm bandwidth [GB/s] of CollNet, which only Simple serves."""
    if protocol is not Protocol.SIMPLE:
        return 0.0
    if algorithm is Algorithm.COLLNET_CHAIN:
        return graph.channels * graph.bw_intra * constants.rules.collnet_chain * 0.5
    if operation in GATHERS:
        if constants.rules.gather_direct:
            return team.per_node * min(graph.bw_intra, graph.bw_inter * 0.9)
        weight = (team.per_node - 1) / 7
        return team.per_node * graph.bw_intra * (weight * 0.85 + (1 - weight) * 0.95)
    # Half of what more than one GPU a NIC would cost.
    crowding = (1 + team.per_node / graph.channels) / 2
    hopper = _COLLNET_HOPPER if team.cc >= 90 else 1.0
    return graph.channels * graph.bw_intra / crowding * hopper * 0.5


def _ratio(algorithm: Algorithm, operation: Operation, team: Team, constants: Constants) -> float:
    """Algorithm bandwidth over bus bandwidth."""
    rules = constants.rules
    ring = team.ranks / _steps(operation, team.ranks)
    if algorithm is Algorithm.RING:
        return ring
    if operation in GATHERS and rules.gather_direct:
        return 1.0
    if algorithm in MULTICAST:
        return {"three_quarters": 0.75, "five_sixths": 5 / 6}.get(rules.nvls, ring)
    return 0.5


def _steps(operation: Operation, ranks: int) -> int:
    if operation is Operation.ALL_REDUCE:
        return 2 * (ranks - 1)
    return ranks - 1 if operation in GATHERS else ranks


def latency(
    algorithm: Algorithm,
    protocol: Protocol,
    operation: Operation,
    graph: GraphSummary,
    team: Team,
    constants: Constants,
) -> float:
    """Time of no bytes [us] that the cost model credits."""
    column, rules = _COLUMN[protocol], constants.rules
    inside = _hop_us(algorithm, protocol, graph, constants)
    between = _network_us(algorithm, protocol, graph, team, constants)
    base = constants.base_us[algorithm][column]
    ranks, nodes = team.ranks, team.nodes
    local, levels = ranks // nodes, int(math.log2(nodes))
    if algorithm is Algorithm.RING:
        return base + _around(protocol, operation, graph, team, constants, inside, between)
    if protocol is Protocol.LL and nodes > 1:
        inside *= rules.ll_network_factor
    match algorithm:
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


def _hop_us(
    algorithm: Algorithm, protocol: Protocol, graph: GraphSummary, constants: Constants
) -> float:
    """One hop inside a node; a way through another GPU (NVB) counts as PCIe."""
    near = graph.type_intra is PathType.NVL
    table = constants.nvlink_us if near else constants.pcie_us
    return table[algorithm][_COLUMN[protocol]]


def _network_us(
    algorithm: Algorithm,
    protocol: Protocol,
    graph: GraphSummary,
    team: Team,
    constants: Constants,
) -> float:
    """One hop between nodes, with what the plugin reports (twice with Simple, for its flush)."""
    rules = constants.rules
    lone = rules.lone_ranks_by_tree and team.per_node == 1
    row = Algorithm.TREE if lone else algorithm
    own = constants.network_us[row][_COLUMN[protocol]]
    if not rules.inter_latency_adds:
        return graph.latency_inter or own
    return own + graph.latency_inter * (2 if protocol is Protocol.SIMPLE else 1)


def _around(
    protocol: Protocol,
    operation: Operation,
    graph: GraphSummary,
    team: Team,
    constants: Constants,
    inside: float,
    between: float,
) -> float:
    """Time of all hops of a ring [us]."""
    rules, column = constants.rules, _COLUMN[protocol]
    steps, nodes = _steps(operation, team.ranks), team.nodes
    if operation in ROOTED:
        table = constants.network_us
        if nodes == 1:
            near = graph.type_intra is PathType.NVL
            table = constants.nvlink_us if near else constants.pcie_us
        if graph.same_channels:
            return table[Algorithm.RING][column]
        row = Algorithm.TREE if protocol is Protocol.SIMPLE else Algorithm.RING
        return steps * table[row][column]
    if nodes == 1:
        return steps * inside
    if protocol is Protocol.LL:
        inside *= rules.ll_network_factor
    if rules.net_overhead:
        overhead = _NET_OVERHEAD_US.get(team.cpu, 1.0)
        inside = max(inside, overhead * (3 if protocol is Protocol.SIMPLE else 1))
    if operation is Operation.ALL_REDUCE:
        across = 2 * (nodes - 1 + rules.inter_steps_more)
    else:
        across = nodes - 1
    return (steps - across) * inside + across * between


def _correction(
    algorithm: Algorithm,
    protocol: Protocol,
    operation: Operation,
    sizes: Floats,
    team: Team,
    constants: Constants,
) -> Floats:
    """What a tree keeps of its bandwidth at each size: a table over powers of two from 64 B."""
    corrected = algorithm is Algorithm.TREE or (
        algorithm is Algorithm.NVLS_TREE
        and constants.rules.nvls_tree_corrected
        and team.cc >= 100
        and team.cpu in ("Intel", "AMD")
    )
    if not corrected or operation is not Operation.ALL_REDUCE:
        return np.ones(len(sizes))
    table = np.array([*constants.tree_correction[_COLUMN[protocol]], 1.0])
    place = np.floor(np.log2(np.maximum(sizes, 64) / 64)).astype(np.int64)
    return np.asarray(table[np.minimum(place, len(table) - 1)], np.float64)


def _fills_ring(
    sizes: Floats, channels: int, team: Team, constants: Constants
) -> npt.NDArray[np.bool_]:
    """Sizes from which all steps of a ring are busy at once, which costs it latency."""
    share = constants.rules.plateau_from_share
    if share == 0:
        return np.asarray(sizes >= team.ranks / 16 * 65536, np.bool_)
    return np.asarray(sizes // (channels * team.ranks) >= share, np.bool_)
