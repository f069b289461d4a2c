"""why_not: what keeps the library from an algorithm and protocol; empty where nothing does.

Source: NVIDIA/nccl, src/graph/tuning.cc, src/enqueue.cc and src/transport/nvls.cc.
"""

from __future__ import annotations

from dataclasses import dataclass

from wirespeed.collectives.library.constants import Constants
from wirespeed.collectives.library.environment import LibrarySettings
from wirespeed.collectives.library.graph_summary import Graphs, Team
from wirespeed.collectives.library.names import COLLNET, GATHERS, MULTICAST, ROOTED, Algorithm
from wirespeed.collectives.library.rccl import LL128_GPUS
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.collectives.protocol import Protocol
from wirespeed.topology.kinds import PathType

_SUMMED = {"half", "float16", "fp16", "bfloat16", "bf16", "float", "float32", "fp32"}
_SUMMED |= {"double", "float64", "fp64", "int32", "uint32", "int64", "uint64", "int"}
_SUMMED_BLACKWELL = {"f8e4m3", "f8e5m2", "fp8", "float8_e4m3", "float8_e5m2"}
_MOST_NVLS_GATHER = 32


@dataclass(frozen=True, slots=True)
class Situation:
    """All that decides whether an algorithm may run.

    `multicast`: the NVSwitches can, and nobody took it away. `reduces`: the network's switches add.
    """

    collective: Collective
    team: Team
    graphs: Graphs
    constants: Constants
    settings: LibrarySettings
    multicast: bool
    reduces: bool


def why_not(algorithm: Algorithm, protocol: Protocol, on: Situation) -> str:
    """The reason in words, or an empty string where the library may use the pair."""
    return (
        _no_code(algorithm, protocol, on)
        or _switched_off(algorithm, protocol, on)
        or _no_hardware(algorithm, on)
        or (_no_ll128(algorithm, on) if protocol is Protocol.LL128 else "")
        or _no_graph(algorithm, on)
    )


def _no_code(algorithm: Algorithm, protocol: Protocol, on: Situation) -> str:
    operation, release = on.collective.operation, on.constants.release
    if algorithm.value not in on.constants.algorithms:
        return f"not in this release (constants of {release})"
    if operation in ROOTED and algorithm is not Algorithm.RING:
        return f"{operation} has the ring alone"
    if operation in GATHERS:
        served = {Algorithm.RING, Algorithm.NVLS, Algorithm.COLLNET_DIRECT, Algorithm.PAT}
        if algorithm not in served:
            return f"{operation} has no {algorithm}"
        if algorithm is not Algorithm.RING and "NVLS" not in on.constants.algorithms:
            return f"{operation} has the ring alone before NVLS"
    if operation is Operation.ALL_REDUCE and algorithm is Algorithm.PAT:
        return "PAT does all_gather and reduce_scatter"
    if algorithm not in (Algorithm.RING, Algorithm.TREE) and protocol is not Protocol.SIMPLE:
        return f"{algorithm} knows Simple alone"
    return ""


def _switched_off(algorithm: Algorithm, protocol: Protocol, on: Situation) -> str:
    operation, settings = on.collective.operation, on.settings
    if not settings.nvls and algorithm in MULTICAST:
        return "NCCL_NVLS_ENABLE=0"
    if settings.pat is False and algorithm is Algorithm.PAT:
        return "NCCL_PAT_ENABLE=0"
    allowed = settings.algorithms.get(operation)
    if allowed is not None and algorithm not in allowed:
        return "NCCL_ALGO or --algo leaves it out"
    protocols = settings.protocols.get(operation)
    if protocols is not None and protocol not in protocols:
        return "NCCL_PROTO or --proto leaves it out"
    return ""


def _no_hardware(algorithm: Algorithm, on: Situation) -> str:
    operation, team = on.collective.operation, on.team
    if algorithm in MULTICAST:
        return _no_multicast(algorithm, on)
    if algorithm in COLLNET:
        if team.nodes == 1:
            return "one node has no network to reduce in"
        if not on.reduces:
            return "the network does not reduce"
        if not on.settings.collnet and not _asked_for(algorithm, on):
            return "NCCL_COLLNET_ENABLE is not set"
        if operation in GATHERS and team.per_node > on.graphs.of[algorithm].channels:
            return "it needs a NIC to every GPU"
    if algorithm is Algorithm.PAT and on.settings.pat is None and team.nodes != team.ranks:
        return "PAT is for one GPU a node"
    return ""


def _no_multicast(algorithm: Algorithm, on: Situation) -> str:
    operation, team = on.collective.operation, on.team
    if not on.multicast:
        return "no NVSwitch that multicasts"
    if team.cc < 90:
        return "multicast needs compute capability 9.0"
    if operation is not Operation.ALL_GATHER and not _can_sum(on.collective.dtype, team.cc):
        return f"NVSwitches do not add {on.collective.dtype}"
    if algorithm is Algorithm.NVLS_TREE and team.nodes == 1:
        return "one node needs no tree"
    if team.per_node < 2:
        return "one GPU a node has nothing to multicast to"
    if algorithm is Algorithm.NVLS and team.nodes > 1:
        if not on.reduces or not (on.settings.collnet or _asked_for(Algorithm.NVLS, on)):
            return "over several nodes it needs a network that reduces (CollNet)"
        if operation in GATHERS and team.per_node > on.graphs.of[algorithm].channels:
            return "it needs a NIC to every GPU"
    if operation in GATHERS and team.per_node > _MOST_NVLS_GATHER:
        return f"{operation} by NVLS ends at {_MOST_NVLS_GATHER} GPUs"
    return ""


def _asked_for(algorithm: Algorithm, on: Situation) -> bool:
    """Whether a list of algorithms names it and no other that could run instead."""
    allowed = on.settings.algorithms.get(on.collective.operation)
    return allowed is not None and algorithm in allowed and Algorithm.RING not in allowed


def _can_sum(dtype: str, cc: int) -> bool:
    name = dtype.lower()
    return name in _SUMMED or (cc >= 100 and name in _SUMMED_BLACKWELL)


def _no_ll128(algorithm: Algorithm, on: Situation) -> str:
    """LL128 needs stores of 128 bytes to arrive whole: NVLink inside, a near NIC beyond."""
    operation, settings, rules = on.collective.operation, on.settings, on.constants.rules
    if settings.protocols.get(operation) is not None:
        return ""
    graph, team = on.graphs.of[algorithm], on.team
    if team.gfx:
        return "" if team.gfx in LL128_GPUS and team.nodes > 1 else "RCCL keeps LL128 for networks"
    if team.cc < 70 or team.generation not in rules.ll128_generations:
        return "LL128 is not trusted on this GPU"
    if graph.type_intra > (PathType.NVB if rules.ll128_over_nvb else PathType.NVL):
        return f"LL128 needs NVLink between GPUs, not {graph.type_intra.name}"
    pxn = rules.ll128_over_pxn and team.cc >= 90 and settings.ll128_over_c2c
    limit = PathType.PXN if pxn else PathType.PXB
    if team.nodes > 1 and graph.type_inter > limit:
        return f"LL128 needs a NIC no farther than {limit.name}, not {graph.type_inter.name}"
    return ""


def _no_graph(algorithm: Algorithm, on: Situation) -> str:
    if on.graphs.of[algorithm].channels == 0:
        return "no channel fits on the graph"
    if algorithm in MULTICAST and on.constants.rules.nvls == "efficiency":
        return "" if on.graphs.of[algorithm].channels > 1 else "it needs two channels"
    return ""
