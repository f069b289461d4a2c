"""NVLS: NVSwitches add up what GPUs hold and multicast the result (NVLink SHARP).

all_reduce on n GPUs: each reads its n-th of the sum, for which every GPU sends it, S bytes in all,
and stores that n-th once to a multicast address, from where every GPU receives S bytes. A GPU thus
sends and receives (1 + 1/n) S. Over several domains the n-ths are joined by trees between NICs
(NVLSTree) or by a fabric that reduces (NVLS with SHARP).
Source: NVIDIA, third-generation NVSwitch, Hot Chips 34 (2022); NCCL 2.17 and 2.18 release notes.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.algorithms.tree import between_domains, concatenate, depth
from wirespeed.collectives.layout import Layout
from wirespeed.collectives.operation import Operation
from wirespeed.collectives.schedule import (
    Phase,
    Schedule,
    Spokes,
    Transfers,
    nothing,
    transfers,
)


def nvls_schedule(operation: Operation, layout: Layout) -> Schedule:
    """NVLS inside each domain; several domains are joined by a fabric whose switches reduce."""
    inside = _inside(operation, layout)
    if len(layout) == 1:
        phase = Phase(nothing(), reduce=True, spokes=inside, spoke_waits=(1.0, 0.0))
        return Schedule("NVLS", (phase,), channels=16)
    both = _joined(inside, _through_fabric(operation, layout))
    phase = Phase(nothing(), reduce=True, spokes=both, spoke_waits=(1.0, 1.0))
    return Schedule("NVLS", (phase,), channels=16)


def nvls_tree_schedule(layout: Layout) -> Schedule:
    """all_reduce with NVLS inside the domains and a double binary tree between them."""
    channels = max(1, layout.doors)
    every = concatenate([between_domains(layout, channel, channels) for channel in range(channels)])
    waits = np.full(len(every), 2 * depth(len(layout)) / max(1, len(every)))
    spokes = _inside(Operation.ALL_REDUCE, layout)
    phase = Phase(every, waits=waits, reduce=True, spokes=spokes, spoke_waits=(1.0, 0.0))
    return Schedule("NVLSTree", (phase,), channels=16)


def collnet_schedule(layout: Layout) -> Schedule:
    """all_reduce by a fabric that reduces; GPUs of a domain exchange their parts directly.

    Each GPU of a domain of n adds up an n-th of what its peers hold, gives that to the fabric, and
    hands the result to its peers: 2(n-1)/n S out and in over NVLink (CollNetDirect).
    """
    hops = [_every_pair(ranks) for ranks in layout.ranks if len(ranks) > 1]
    pairs = concatenate(hops) if hops else nothing()
    phase = Phase(
        pairs,
        repeat=2,
        reduce=True,
        spokes=_through_fabric(Operation.ALL_REDUCE, layout),
        spoke_waits=(0.0, 1.0),
    )
    return Schedule("CollNetDirect", (phase,), channels=16)


def _every_pair(ranks: npt.NDArray[np.int64]) -> Transfers:
    """An n-th from each rank of a domain to each other one."""
    place, other = np.divmod(np.arange(len(ranks) ** 2), len(ranks))
    kept = place != other
    return transfers(ranks[place[kept]], ranks[other[kept]], 1 / len(ranks))


def _inside(operation: Operation, layout: Layout) -> Spokes:
    ranks = np.concatenate(layout.ranks)
    part = np.repeat(1 / layout.sizes, layout.sizes)
    whole = np.ones(len(ranks))
    out, into = {
        Operation.ALL_REDUCE: (whole + part, whole + part),
        Operation.REDUCE_SCATTER: (whole, part),
        Operation.ALL_GATHER: (part, whole),
    }[operation]
    return Spokes(ranks, np.full(len(ranks), -1), out, into)


def _through_fabric(operation: Operation, layout: Layout) -> Spokes:
    """Each door carries its part of the domain's sum up and of the result down."""
    rank, nic, share = [], [], []
    for d, ranks in enumerate(layout.ranks):
        doors = layout.shape_of(d).doors
        for position, local in doors:
            rank.append(int(ranks[position]))
            nic.append(int(layout.begin[d]) + local)
            share.append(1 / len(doors))
    parts = np.array(share)
    domains = len(layout)
    out = parts / domains if operation is Operation.ALL_GATHER else parts
    into = parts / domains if operation is Operation.REDUCE_SCATTER else parts
    return Spokes(np.array(rank, np.int64), np.array(nic, np.int64), out, into)


def _joined(a: Spokes, b: Spokes) -> Spokes:
    return Spokes(
        np.concatenate([a.rank, b.rank]),
        np.concatenate([a.nic, b.nic]),
        np.concatenate([a.out, b.out]),
        np.concatenate([a.into, b.into]),
    )
