"""Tree: sums flow up a chain in each domain and a tree over domains, results flow back down.

Two trees over the domains each carry half; a leaf of one has children in the other, so all NICs
send and receive alike. Data is cut into chunks that follow each other: bandwidth is that of the
busiest link, latency that of the longest way to the root and back.
P. Sanders, J. Speck, J. L. Träff, Two-tree algorithms for full bandwidth broadcast, reduction and
scan, 2009; its use in NCCL since 2.4.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.layout import Layout
from wirespeed.collectives.schedule import Phase, Schedule, Transfers, transfers

Ids = npt.NDArray[np.int64]


def tree_schedule(layout: Layout) -> Schedule:
    """all_reduce by double binary trees, one pair of trees for each compute NIC of a domain."""
    channels = max(1, layout.doors)
    hops = [_chains(layout, channel, channels) for channel in range(channels)]
    if len(layout) > 1:
        hops += [between_domains(layout, channel, channels) for channel in range(channels)]
    every = concatenate(hops)
    inside = max(len(ranks) for ranks in layout.ranks) - 1
    across = 2 * depth(len(layout))
    within = every.nic_out < 0
    waits = np.where(
        within,
        2 * inside / max(1, int(within.sum())),
        across / max(1, int((~within).sum())),
    )
    return Schedule("Tree", (Phase(every, waits=waits, reduce=True),), 2 * channels)


@lru_cache(maxsize=64)
def parents(domains: int, tree: int) -> Ids:
    """[domains] the parent of each in one of the two trees; -1 for the root.

    Tree 0 is the in-order binary tree: odd numbers are leaves. Tree 1 is its mirror image (an even
    count) or the same turned by one (an odd one), so that its leaves are the others.
    """
    up = _inorder_parents(domains)
    up.flags.writeable = False
    if tree == 0:
        return up
    number = np.arange(domains)
    image = domains - 1 - number if domains % 2 == 0 else (number - 1) % domains
    back = np.empty(domains, np.int64)
    back[image] = number
    lifted = up[image]
    mirrored = np.where(lifted < 0, -1, back[lifted])
    mirrored.flags.writeable = False
    return mirrored


def depth(domains: int) -> int:
    """Hops from the farthest domain to the root."""
    return int(np.ceil(np.log2(domains))) if domains > 1 else 0


def concatenate(parts: list[Transfers]) -> Transfers:
    """All transfers of several lists."""
    return Transfers(
        *(
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("source", "target", "share", "nic_out", "nic_in")
        )
    )


def _inorder_parents(domains: int) -> Ids:
    domain = np.arange(domains)
    bit = domain & -domain
    up = (domain ^ bit) | (bit << 1)
    # Beyond the last one the way up is straight to the left.
    parent = np.where(up >= domains, domain ^ bit, up)
    parent[0] = -1
    return parent


def _chains(layout: Layout, channel: int, channels: int) -> Transfers:
    """Up and down the chain of each domain, from the rank at the door."""
    flat, sizes = np.concatenate(layout.ranks), layout.sizes
    first = np.cumsum(sizes) - sizes
    walk = np.empty_like(flat)
    for kind, shape in enumerate(layout.shapes):
        chain = shape.orders[channel % len(shape.orders)][0]
        if shape.doors:
            chain = np.roll(chain, -int(np.flatnonzero(chain == shape.doors[channel][0])[0]))
        begin = first[layout.shape == kind, None]
        walk[begin + np.arange(len(chain))] = flat[begin + chain]
    begins = np.zeros(len(flat), bool)
    begins[first] = True
    down, up = walk[~begins], walk[~np.roll(begins, -1)]
    return transfers(np.append(down, up), np.append(up, down), 1 / channels)


def between_domains(layout: Layout, channel: int, channels: int) -> Transfers:
    """Up and down both trees over the domains, by the channel's NIC of each."""
    heads, nics = door_of_each(layout, channel)
    hops = []
    for tree in (0, 1):
        parent = parents(len(layout), tree)
        child = np.flatnonzero(parent >= 0)
        parent = parent[child]
        half = 0.5 / channels
        hops.append(transfers(heads[child], heads[parent], half, nics[child], nics[parent]))
        hops.append(transfers(heads[parent], heads[child], half, nics[parent], nics[child]))
    return concatenate(hops)


def door_of_each(layout: Layout, channel: int) -> tuple[Ids, Ids]:
    """[domains] the rank and the NIC by which a channel leaves each domain (-1: no NIC)."""
    doors = [shape.doors[channel] if shape.doors else (0, -1) for shape in layout.shapes]
    position, nic = np.array(doors, np.int64)[layout.shape].T
    first = np.cumsum(layout.sizes) - layout.sizes
    heads = np.concatenate(layout.ranks)[first + position]
    return heads, np.where(nic >= 0, layout.begin + nic, -1)
