"""The algorithms written out message by message, for the oracle to play.

EXPANSIONS is the registry: a new algorithm gets a function in it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from collectives.schedule_oracle import (
    FABRIC,
    NVSWITCH,
    Expansion,
    Message,
    Played,
)
from wirespeed.collectives.algorithms.direct import alltoall_schedule, sendrecv_schedule
from wirespeed.collectives.algorithms.nvls import (
    collnet_schedule,
    nvls_schedule,
    nvls_tree_schedule,
)
from wirespeed.collectives.algorithms.ring import ring_schedule
from wirespeed.collectives.algorithms.tree import door_of_each, parents, tree_schedule
from wirespeed.collectives.layout import Layout
from wirespeed.collectives.operation import Operation
from wirespeed.collectives.rings import Rings


def on_rings(operation: Operation, rings: Rings, root: int = 0) -> Played:
    """Ring: chunk after chunk around each ring, or along it from the root, or towards the root."""
    ranks, what = rings.order.shape[1], Expansion()
    for order, out, enter, weight in zip(
        rings.order.tolist(),
        rings.nic_out.tolist(),
        rings.nic_in.tolist(),
        rings.weight.tolist(),
        strict=True,
    ):
        edge = list(zip(order, [*order[1:], order[0]], out, enter, strict=True))
        _EXPAND_RING[operation](what, order, edge, weight, root)
    return Played(operation, ranks, ring_schedule(operation, rings, root), what, root)


def _pass_around(what, order, edge, weight, *, adds: bool, copies: bool, begin: int = 0):
    """Each of n chunks visits all ranks: summed up on the way, or copied, or one after the other.

    Summed chunk q starts behind position q and ends there, from where it is copied on.
    """
    n = len(order)
    only_copied = copies and not adds
    chunks = [
        what.chunk(weight / n, home=order[q], origin=order[q] if only_copied else -1)
        for q in range(n)
    ]
    for lap in range(n - 1):
        for q in range(n):
            if adds:
                what.steps[lap].append(Message(edge[(q + 1 + lap) % n], chunks[q], add=True))
            if copies:
                after = lap + (n - 1 if adds else 0)
                what.steps[after].append(Message(edge[(q + lap) % n], chunks[q]))


def _along(what, order, edge, weight, root, *, add: bool):
    """Pieces one behind the other from the root around, or from behind the root up to it."""
    n, pieces = len(order), 3
    first = (order.index(root) + add) % n
    for piece in range(pieces):
        chunk = what.chunk(weight / pieces)
        for hop in range(n - 1):
            what.steps[piece + hop].append(Message(edge[(first + hop) % n], chunk, add))


_EXPAND_RING: dict[Operation, Callable[..., None]] = {
    Operation.ALL_REDUCE: lambda w, o, e, s, r: _pass_around(w, o, e, s, adds=True, copies=True),
    Operation.REDUCE_SCATTER: lambda w, o, e, s, r: _pass_around(
        w, o, e, s, adds=True, copies=False
    ),
    Operation.ALL_GATHER: lambda w, o, e, s, r: _pass_around(w, o, e, s, adds=False, copies=True),
    Operation.BROADCAST: lambda w, o, e, s, r: _along(w, o, e, s, r, add=False),
    Operation.REDUCE: lambda w, o, e, s, r: _along(w, o, e, s, r, add=True),
}


def on_trees(layout: Layout) -> Played:
    """Tree: up the chain of each domain and up the tree over the domains, then all the way back."""
    what, channels = Expansion(), max(1, layout.doors)
    for channel in range(channels):
        heads, nics = door_of_each(layout, channel)
        chains = [_chain(layout, d, channel, int(heads[d])) for d in range(len(layout))]
        for tree in (0, 1):
            _up_and_down(what, what.chunk(0.5 / channels), chains, parents(len(layout), tree), nics)
    ranks = sum(len(ranks) for ranks in layout.ranks)
    return Played(Operation.ALL_REDUCE, ranks, tree_schedule(layout), what)


def _chain(layout: Layout, domain: int, channel: int, head: int) -> list[int]:
    orders = layout.shape_of(domain).orders
    walk = layout.ranks[domain][orders[channel % len(orders)][0]].tolist()
    at = walk.index(head) if layout.doors else 0
    return walk[at:] + walk[:at]


def _up_and_down(what, chunk, chains, parent, nics):
    longest = max(map(len, chains)) - 1
    level = [_level(parent, d) for d in range(len(parent))]
    top = longest + max(level)
    for d, chain in enumerate(chains):
        for k in range(1, len(chain)):
            up, down = (chain[k], chain[k - 1], -1, -1), (chain[k - 1], chain[k], -1, -1)
            what.steps[longest - k].append(Message(up, chunk, add=True))
            what.steps[top + max(level) + k - 1].append(Message(down, chunk))
        if parent[d] >= 0:
            a, b = (chain[0], int(nics[d])), (chains[parent[d]][0], int(nics[parent[d]]))
            up, down = (a[0], b[0], a[1], b[1]), (b[0], a[0], b[1], a[1])
            what.steps[top - level[d]].append(Message(up, chunk, add=True))
            what.steps[top + level[d] - 1].append(Message(down, chunk))


def _level(parent: np.ndarray, domain: int) -> int:
    hops = 0
    while parent[domain] >= 0:
        domain, hops = int(parent[domain]), hops + 1
    return hops


def in_switches(operation: Operation, layout: Layout) -> Played:
    """NVLS: a domain's NVSwitches add up each chunk for its head, who has it multicast.

    With several domains the heads of a chunk have switches of the fabric do the same between them.
    """
    case = _Heads(operation, layout)
    for c in range(case.chunks):
        case.gather(c)
        if len(layout) > 1:
            case.by_fabric(c)
        case.spread(c)
    schedule = nvls_schedule(operation, layout)
    return Played(operation, case.ranks, schedule, case.what)


def in_switches_and_trees(layout: Layout) -> Played:
    """NVLSTree: NVSwitches inside the domains; heads join their sums by two trees, half each."""
    case = _Heads(Operation.ALL_REDUCE, layout, parts=2)
    for c in range(case.chunks):
        case.gather(c)
        _, nics = door_of_each(layout, case.channel[c])
        case.by_tree(c, parents(len(layout), c % 2), nics)
        case.spread(c)
    return Played(Operation.ALL_REDUCE, case.ranks, nvls_tree_schedule(layout), case.what)


def in_fabric(layout: Layout) -> Played:
    """CollNetDirect: ranks of a domain add up at the head of each chunk, heads in the fabric."""
    case = _Heads(Operation.ALL_REDUCE, layout)
    for c in range(case.chunks):
        case.collect(c)
        case.by_fabric(c)
        case.hand_out(c)
    return Played(Operation.ALL_REDUCE, case.ranks, collnet_schedule(layout), case.what)


class _Heads:
    """Chunks that one rank a domain is responsible for: the one at the chunk's door.

    All domains are of one size and each rank has one door, or there is one domain.
    """

    MIDDLE = 10
    """The step at which domains begin to exchange what they have added up."""

    def __init__(self, operation: Operation, layout: Layout, parts: int = 1) -> None:
        self.operation, self.layout, self.what = operation, layout, Expansion()
        size = len(layout.ranks[0])
        self.ranks = size * len(layout)
        self.what.switches = [NVSWITCH] * len(layout) + [FABRIC]
        self.channel: list[int] = []
        self.head: list[list[int]] = []
        whole = operation is Operation.ALL_REDUCE
        for channel in range(size):
            heads, _ = door_of_each(layout, channel)
            if len(layout) == 1:
                heads = [int(layout.ranks[0][channel])]
            # One chunk for all domains, or one for the block of each head.
            for block in [-1] * parts if whole else heads:
                share = 1 / size / (parts if whole else len(layout))
                origin = int(block) if operation is Operation.ALL_GATHER else -1
                self.what.chunk(share, home=int(block), origin=origin)
                self.channel.append(channel)
                self.head.append([int(h) for h in heads])

    @property
    def chunks(self) -> int:
        return len(self.channel)

    def switch(self, domain: int) -> int:
        return self.ranks + domain

    def say(self, step: int, source: int, target: int, c: int, add: bool, nics=(-1, -1)) -> None:
        self.what.steps[step].append(Message((source, target, *nics), c, add))

    def gather(self, c: int) -> None:
        """Every rank to the switch, the switch to the head; a gathered block is there already."""
        if self.operation is Operation.ALL_GATHER:
            return
        for d, ranks in enumerate(self.layout.ranks):
            for rank in ranks.tolist():
                self.say(0, rank, self.switch(d), c, True)
            self.say(1, self.switch(d), self.head[c][d], c, False)

    def spread(self, c: int) -> None:
        """The head to the switch, the switch to every rank; a scattered block stays."""
        if self.operation is Operation.REDUCE_SCATTER:
            return
        for d, ranks in enumerate(self.layout.ranks):
            alone = len(self.layout) == 1 and self.operation is Operation.ALL_GATHER
            if alone and self.head[c][d] != self.what.origin[c]:
                continue
            self.say(100, self.head[c][d], self.switch(d), c, False)
            for rank in ranks.tolist():
                self.say(101, self.switch(d), rank, c, False)

    def collect(self, c: int) -> None:
        """Every rank's part straight to the head."""
        for d, ranks in enumerate(self.layout.ranks):
            for k, rank in enumerate(r for r in ranks.tolist() if r != self.head[c][d]):
                self.say(k, rank, self.head[c][d], c, True)

    def hand_out(self, c: int) -> None:
        """The head's result straight to every rank."""
        for d, ranks in enumerate(self.layout.ranks):
            for rank in ranks.tolist():
                if rank != self.head[c][d]:
                    self.say(100, self.head[c][d], rank, c, False)

    def by_fabric(self, c: int) -> None:
        """Heads to the fabric's switches, which add up, and back to the heads that want it."""
        fabric = self.ranks + len(self.layout)
        _, nics = door_of_each(self.layout, self.channel[c])
        for d, head in enumerate(self.head[c]):
            if self.what.origin[c] in (-1, head):
                self.say(self.MIDDLE, head, fabric, c, True, (int(nics[d]), -1))
            if self.operation is not Operation.REDUCE_SCATTER or self.what.home[c] == head:
                self.say(self.MIDDLE + 1, fabric, head, c, False, (-1, int(nics[d])))

    def by_tree(self, c: int, parent: np.ndarray, nics: np.ndarray) -> None:
        """Heads up a tree and down again."""
        level = [_level(parent, d) for d in range(len(parent))]
        top = self.MIDDLE + max(level)
        for d in np.flatnonzero(parent >= 0).tolist():
            above, (out, enter) = int(parent[d]), (int(nics[d]), int(nics[parent[d]]))
            self.say(top - level[d], self.head[c][d], self.head[c][above], c, True, (out, enter))
            down = top + level[d] - 1
            self.say(down, self.head[c][above], self.head[c][d], c, False, (enter, out))


def alltoall(ranks: int) -> Played:
    """Every rank's block for every other one, all at once; its own is there already."""
    what = Expansion()
    for source in range(ranks):
        for target in range(ranks):
            if source != target:
                chunk = what.chunk(1 / ranks, home=target, origin=source)
                what.steps[0].append(Message((source, target, -1, -1), chunk))
    return Played(Operation.ALLTOALL, ranks, alltoall_schedule(ranks), what)


def sendrecv(ranks: int) -> Played:
    """Every rank's buffer to the next."""
    what = Expansion()
    for source in range(ranks):
        target = (source + 1) % ranks
        chunk = what.chunk(1.0, home=target, origin=source)
        what.steps[0].append(Message((source, target, -1, -1), chunk))
    return Played(Operation.SENDRECV, ranks, sendrecv_schedule(ranks), what)


EXPANSIONS: dict[str, Callable[..., Played]] = {
    "ring": on_rings,
    "tree": on_trees,
    "direct.alltoall": alltoall,
    "direct.sendrecv": sendrecv,
    "nvls.nvls": in_switches,
    "nvls.nvls_tree": in_switches_and_trees,
    "nvls.collnet": in_fabric,
}
