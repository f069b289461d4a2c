"""What a cut is called: the kind of border first, then who stands against whom.

gpu: node0/gpu3 against the rest · socket: gpus 0–3 against 4–7 of node0 · node: node0 against the
rest · NVLink domain: rack1 against the rest · leaf: nodes 0–31 against the rest · pod · halves
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from wirespeed.collectives.bound_tiers import Tier
from wirespeed.topology.address import name_of
from wirespeed.topology.cluster import Cluster, Group

_SHOWN = 8


def cut_name(
    cluster: Cluster, group: Group, senders: Collection[int], tiers: Sequence[Tier] = ()
) -> str:
    """The name of the cut that has these GPUs of the group (component ids) on its sending side."""
    topology = cluster.topology
    sending = np.isin(group.gpus, list(senders))
    if 2 * int(sending.sum()) > len(group) or (
        2 * int(sending.sum()) == len(group) and not sending[0]
    ):
        sending = ~sending
    side, rest = group.gpus[sending], group.gpus[~sending]
    if len(side) == 1:
        return f"gpu: {name_of(topology, int(side[0]))} against the rest"
    nodes, other_nodes = np.unique(topology.node[side]), np.unique(topology.node[rest])
    if not np.isin(nodes, other_nodes).any():
        return _of_nodes(cluster, side, rest, tiers)
    word = "gpus:"
    if len(nodes) == 1:
        others = rest[topology.node[rest] == nodes[0]]
        if not np.isin(topology.numa[side], topology.numa[others]).any():
            word = "socket: gpus"
        begin = f"{word} {spans(topology.index[side])} against"
        if len(others) == len(rest):
            return f"{begin} {spans(topology.index[others])} of node{nodes[0]}"
        return f"{begin} the rest of node{nodes[0]} and all other nodes"
    shown = ", ".join(name_of(topology, int(g)) for g in side[:_SHOWN])
    return f"gpus: {shown}{' …' if len(side) > _SHOWN else ''} against the rest"


def _of_nodes(
    cluster: Cluster,
    side: np.ndarray[tuple[int], np.dtype[np.int64]],
    rest: np.ndarray[tuple[int], np.dtype[np.int64]],
    tiers: Sequence[Tier],
) -> str:
    """A cut that splits no node."""
    topology = cluster.topology
    units, others = np.unique(topology.unit_of(side)), np.unique(topology.unit_of(rest))
    nodes = np.unique(topology.node[side])
    if not np.isin(units, others).any():
        if len(units) == 1 and topology.units[topology.unit_class[units[0]]].nodes > 1:
            return f"NVLink domain: rack{units[0]} against the rest"
        for tier in tiers:
            groups = np.unique(tier.group[units])
            if len(groups) == 1 and groups[0] not in tier.group[others]:
                return f"{tier.word}: {_nodes(nodes)} against the rest"
    if len(nodes) == 1:
        return f"node: node{nodes[0]} against the rest"
    if len(side) == len(rest):
        return f"halves: {_nodes(nodes)} against {_nodes(np.unique(topology.node[rest]))}"
    return f"nodes: {spans(nodes)} against the rest"


def parts_name(word: str, parts: int) -> str:
    """The name of a limit on what many parts exchange by messages."""
    return f"{word}: each of {parts} against the rest, messages between GPUs alone"


def spans(numbers: Collection[int] | np.ndarray[tuple[int], np.dtype[np.int32]]) -> str:
    """Numbers in rising order, runs as 0–3."""
    parts: list[list[int]] = []
    for number in sorted(int(n) for n in numbers):
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(p[0]) if len(p) == 1 else f"{p[0]}–{p[-1]}" for p in parts)


def _nodes(nodes: np.ndarray[tuple[int], np.dtype[np.int32]]) -> str:
    return f"node{nodes[0]}" if len(nodes) == 1 else f"nodes {spans(nodes)}"
