"""Tree: sums flow up a chain in each domain and a tree over domains, results flow back down.

Two trees over the domains each carry half; a leaf of one has children in the other, so all NICs
send and receive alike. Data is cut into chunks that follow each other: bandwidth is that of the
busiest link, latency that of the longest way to the root and back.
P. Sanders, J. Speck, J. L. Träff, Two-tree algorithms for full bandwidth broadcast, reduction and
scan, 2009; its use in NCCL since 2.4.
"""

from __future__ import annotations

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


def parents(domains: int, tree: int) -> Ids:
    """[domains] the parent of each in one of the two trees; -1 for the root.

    Tree 0 is the in-order binary tree: odd numbers are leaves. Tree 1 is its mirror image (an even
    count) or the same turned by one (an odd one), so that its leaves are the others.
    """
    up = np.array([_inorder_parent(d, domains) for d in range(domains)], np.int64)
    if tree == 0:
        return up
    number = np.arange(domains)
    image = domains - 1 - number if domains % 2 == 0 else (number - 1) % domains
    back = np.empty(domains, np.int64)
    back[image] = number
    lifted = up[image]
    return np.where(lifted < 0, -1, back[lifted])


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


def _inorder_parent(domain: int, domains: int) -> int:
    if domain == 0:
        return -1
    bit = domain & -domain
    up = (domain ^ bit) | (bit << 1)
    # Beyond the last one the way up is straight to the left.
    return domain ^ bit if up >= domains else up


def _chains(layout: Layout, channel: int, channels: int) -> Transfers:
    """Up and down the chain of each domain, from the rank at the door."""
    below, above = [], []
    for d, ranks in enumerate(layout.ranks):
        shape = layout.shape_of(d)
        chain = shape.orders[channel % len(shape.orders)][0]
        if shape.doors:
            chain = np.roll(chain, -int(np.flatnonzero(chain == shape.doors[channel][0])[0]))
        walk = ranks[chain]
        below.append(walk[1:])
        above.append(walk[:-1])
    down, up = np.concatenate(below), np.concatenate(above)
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
    heads, nics = [], []
    for d, ranks in enumerate(layout.ranks):
        doors = layout.shape_of(d).doors
        position, nic = doors[channel] if doors else (0, -1)
        heads.append(int(ranks[position]))
        nics.append(int(layout.begin[d]) + nic if nic >= 0 else -1)
    return np.array(heads), np.array(nics)
