"""Which GPUs take part: `--ranks` as a group.

0-3, 0,2,4,6, 0-7:2     ranks of the whole cluster, a step after the colon
node*/gpu0, node0/gpu3  GPUs by address
per-node=4              the first four of every node
stride=8, stride=8+3    every eighth rank, from rank 0 or from rank 3 on
"""

from __future__ import annotations

import re

import numpy as np

from wirespeed.errors import UsageError
from wirespeed.topology.address import find
from wirespeed.topology.cluster import Cluster, Group, everyone
from wirespeed.topology.kinds import ComponentKind

_RANGE = re.compile(r"(\d+)(?:-(\d+)(?::(\d+))?)?")
_PER_NODE = re.compile(r"per-node=(\d+)")
_STRIDE = re.compile(r"stride=(\d+)(?:\+(\d+))?")


def parse_ranks(text: str, cluster: Cluster) -> Group:
    """The group that a text names, in the order written; UsageError for anything else."""
    if match := _PER_NODE.fullmatch(text.strip()):
        return _per_node(text, int(match[1]), cluster)
    if match := _STRIDE.fullmatch(text.strip()):
        return _strided(text, int(match[1]), int(match[2] or 0), cluster)
    gpus: list[int] = []
    for part in text.split(","):
        gpus += _part(text, part.strip(), cluster)
    if len(set(gpus)) != len(gpus):
        raise _unreadable(text, "a GPU takes part once")
    return Group(np.array(gpus, np.int64))


def _part(text: str, part: str, cluster: Cluster) -> list[int]:
    if "/" in part or part.startswith("gpu"):
        found = find(cluster.topology, part.replace("node*", "*"))
        if (cluster.topology.kind[found] != ComponentKind.GPU).any():
            raise _unreadable(text, f"{part} is no GPU")
        return [int(gpu) for gpu in found]
    match = _RANGE.fullmatch(part)
    if not match:
        raise _unreadable(text, f"{part!r} is neither a rank, a range nor the address of a GPU")
    first = int(match[1])
    last = first if match[2] is None else int(match[2])
    step = int(match[3] or 1)
    ranks = everyone(cluster).gpus
    if last < first or step < 1:
        raise _unreadable(text, f"{part!r} holds no rank")
    if last >= len(ranks):
        raise _unreadable(text, f"ranks run from 0 to {len(ranks) - 1} here")
    return [int(gpu) for gpu in ranks[first : last + 1 : step]]


def _per_node(text: str, count: int, cluster: Cluster) -> Group:
    ranks = everyone(cluster).gpus
    nodes = cluster.topology.node[ranks]
    fewest = int(np.bincount(nodes).min())
    if not 1 <= count <= fewest:
        raise _unreadable(text, f"a node here has {fewest} GPUs")
    # Position of each GPU among those of its node; nodes stand one after the other.
    within = np.arange(len(ranks)) - np.searchsorted(nodes, nodes)
    return Group(ranks[within < count])


def _strided(text: str, step: int, first: int, cluster: Cluster) -> Group:
    ranks = everyone(cluster).gpus
    if not 1 <= step <= len(ranks) or first >= len(ranks):
        raise _unreadable(text, f"there are {len(ranks)} ranks here")
    return Group(ranks[first::step])


def _unreadable(text: str, why: str) -> UsageError:
    return UsageError(
        f"{text!r} does not say which ranks",
        where="--ranks",
        why=why,
        remedy="write for example 0-3, 0,2,4,6, node*/gpu0, per-node=4 or stride=8",
    )
