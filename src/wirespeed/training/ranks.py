"""ranks: who talks to whom. The order of parallelism decides which ranks are neighbours.

An order names kinds from neighbouring ranks outwards. `tp-cp-ep-dp-pp` is Megatron's default: ranks
0 to tp - 1 are one tensor-parallel group, so that it stays inside a node. torchtitan's mesh (pp,
dp_replicate, dp_shard, cp, tp, from the outside) and DeepSpeed's (pipe, data, model) are the same
for what they have. HSDP shards among neighbours of the data-parallel ranks and replicates outside.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from wirespeed.errors import Infeasible, UsageError
from wirespeed.topology.cluster import Cluster, Group, everyone
from wirespeed.training.layout import Layout

MEGATRON = "tp-cp-ep-dp-pp"
ORDERS = {"megatron": MEGATRON, "torchtitan": "tp-cp-dp-pp", "fsdp": "tp-cp-dp-pp"}
"""Default orders by name; all put tensor parallelism among neighbours and the pipeline outside."""

Kind = Literal["tp", "cp", "dp", "pp", "shard", "replicate", "gradients", "ends"]
"""Kinds of groups.

`shard` holds one copy of what is sharded (data ranks of a shard group, with context parallelism),
`replicate` joins the copies, `gradients` is all that shares weights (dp and cp), and `ends` the
first and last stage, which sum the gradients of a tied table.
"""


def axes(layout: Layout) -> tuple[str, ...]:
    """The kinds of a layout's order, fastest first. Raises UsageError for an order that is none."""
    text = layout.rank_order or MEGATRON
    words = ORDERS.get(text.lower(), text).split("-")
    # Experts are not split off from data parallelism yet: the word has no effect.
    kinds = tuple(word for word in words if word != "ep")
    if sorted(kinds) != ["cp", "dp", "pp", "tp"]:
        missing = {"cp", "dp", "pp", "tp"} - set(kinds)
        known = {"cp", "dp", "pp", "tp"} - missing
        if sorted(kinds) == sorted(known) and all(_size(layout, k) == 1 for k in missing):
            return (*kinds, *sorted(missing))
        raise UsageError(
            f"{text!r} is no order of ranks",
            where="rank_order",
            why="it names tp, cp, dp and pp once each, from neighbours outwards",
            remedy=f"write for example {MEGATRON}",
        )
    return kinds


def _size(layout: Layout, kind: str) -> int:
    return int(getattr(layout, kind))


def shard_ranks(layout: Layout) -> int:
    """Data-parallel ranks that hold one copy between them."""
    if layout.sharding in (None, "none"):
        return 1
    return layout.shard_group or layout.dp


def rank_groups(layout: Layout, kind: Kind) -> npt.NDArray[np.int64]:
    """The groups of a kind as ranks, [groups, members]; members in the order of their axis.

    `gradients` and `shard` order by data-parallel rank first inside each context-parallel rank.
    """
    order = axes(layout)
    share = min(shard_ranks(layout), layout.dp)
    sizes: list[int] = []
    names: list[str] = []
    for axis in order:
        if axis == "dp":
            sizes += [share, layout.dp // share]
            names += ["shard", "replicate"]
        else:
            sizes.append(_size(layout, axis))
            names.append(axis)
    # The last axis of an array is its fastest.
    ranks = np.arange(layout.gpus).reshape(sizes[::-1])
    within = {
        "tp": ["tp"],
        "cp": ["cp"],
        "pp": ["pp"],
        "ends": ["pp"],
        "dp": ["replicate", "shard"],
        "shard": ["cp", "shard"],
        "replicate": ["replicate"],
        "gradients": ["cp", "replicate", "shard"],
    }[kind]
    axis_of = {name: len(names) - 1 - i for i, name in enumerate(names)}
    outer = [axis_of[n] for n in reversed(names) if n not in within]
    groups = ranks.transpose(*outer, *(axis_of[n] for n in within))
    size = int(np.prod([ranks.shape[axis_of[n]] for n in within]))
    members = groups.reshape(-1, size)
    return members[:, [0, -1]] if kind == "ends" and layout.pp > 1 else members


def groups_on(cluster: Cluster, layout: Layout, kind: Kind) -> tuple[Group, ...]:
    """The groups of a kind as GPUs of a cluster, rank r being its r-th GPU that is up.

    Raises Infeasible where the cluster has fewer GPUs than the layout needs.
    """
    gpus = everyone(cluster).gpus
    if len(gpus) < layout.gpus:
        raise Infeasible(
            f"the layout needs {layout.gpus:,} GPUs, the cluster has {len(gpus):,}",
            where="layout",
            why=f"dp {layout.dp} x tp {layout.tp} x pp {layout.pp} x cp {layout.cp}",
            remedy="take more nodes, or smaller degrees",
        )
    return tuple(Group(gpus[members]) for members in rank_groups(layout, kind))
