"""Schedules played message by message: who holds what after each step.

A schedule of the package is a few phases of transfers with a repeat count. Here each algorithm is
written out a second time as the messages that its description means, chunk by chunk, and played on
symbolic buffers. The algorithms are in `schedule_expansions`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from wirespeed.collectives.operation import Operation
from wirespeed.collectives.schedule import Schedule

Edge = tuple[int, int, int, int]
"""Source, target, NIC out, NIC in. Ranks count from 0; switches that add up come behind them."""

NVSWITCH, FABRIC = -1, -2
"""What all switches of a kind are counted as."""

ON_RINGS = (
    Operation.ALL_REDUCE,
    Operation.ALL_GATHER,
    Operation.REDUCE_SCATTER,
    Operation.BROADCAST,
    Operation.REDUCE,
)


@dataclass(frozen=True)
class Message:
    """One chunk on one edge; `add` where the receiver sums it up."""

    edge: Edge
    chunk: int
    add: bool = False


@dataclass
class Expansion:
    """An algorithm written out: chunks with their share of the bytes, and steps of messages.

    `home` is the rank that a chunk is for (reduce_scatter, alltoall, sendrecv), `origin` the one
    that it comes from.
    """

    share: list[float] = field(default_factory=list)
    home: list[int] = field(default_factory=list)
    origin: list[int] = field(default_factory=list)
    steps: dict[int, list[Message]] = field(default_factory=lambda: defaultdict(list))
    switches: list[int] = field(default_factory=list)
    """Of each switch behind the ranks: NVSWITCH or FABRIC."""

    def chunk(self, share: float, *, home: int = -1, origin: int = -1) -> int:
        self.share.append(share)
        self.home.append(home)
        self.origin.append(origin)
        return len(self.share) - 1

    def bytes_by_edge(self, ranks: int) -> dict[Edge, float]:
        """What each edge carries in all, as a share of the operation's bytes."""
        total: dict[Edge, float] = defaultdict(float)
        for message in self.messages():
            a, b, out, enter = message.edge
            a, b = (x if x < ranks else self.switches[x - ranks] for x in (a, b))
            total[a, b, out, enter] += self.share[message.chunk]
        return dict(total)

    def messages(self) -> Iterator[Message]:
        for step in sorted(self.steps):
            yield from self.steps[step]


@dataclass(frozen=True)
class Outcome:
    """After the last step: [rank, chunk, contributor] how often each contribution is in there.

    `hops` is the longest chain of messages that wait for each other.
    """

    held: np.ndarray
    hops: int


def play(operation: Operation, ranks: int, root: int, what: Expansion) -> Outcome:
    """All messages in order; fails where one is sent before its sender has anything to send."""
    everything = ranks + len(what.switches)
    held = np.zeros((everything, len(what.share), ranks), np.int16)
    for chunk in range(len(what.share)):
        for rank in range(ranks):
            if _has_at_start(operation, rank, root, what.origin[chunk]):
                held[rank, chunk, rank] = 1
    chain = np.zeros((everything, len(what.share)), np.int64)
    for step in sorted(what.steps):
        said = what.steps[step]
        source, target = np.array([m.edge[:2] for m in said]).T
        chunk, add = np.array([m.chunk for m in said]), np.array([m.add for m in said])
        sent, waited = held[source, chunk], chain[source, chunk]
        assert sent.any(axis=1).all(), f"in step {step} a rank sends what it does not have"
        held[target[~add], chunk[~add]] = sent[~add]
        np.add.at(held, (target[add], chunk[add]), sent[add])
        np.maximum.at(chain, (target, chunk), waited + 1)
    return Outcome(held, int(chain.max()))


def _has_at_start(operation: Operation, rank: int, root: int, origin: int) -> bool:
    if operation is Operation.BROADCAST:
        return rank == root
    return origin in (-1, rank)


def has_result(operation: Operation, ranks: int, root: int, what: Expansion, held: np.ndarray):
    """Whether every rank that shall have a chunk has it, with each contribution exactly once."""
    for chunk, (home, origin) in enumerate(zip(what.home, what.origin, strict=True)):
        match operation:
            case Operation.ALL_REDUCE:
                there, wanted = range(ranks), np.ones(ranks)
            case Operation.REDUCE:
                there, wanted = [root], np.ones(ranks)
            case Operation.REDUCE_SCATTER:
                there, wanted = [home], np.ones(ranks)
            case Operation.BROADCAST:
                there, wanted = range(ranks), np.eye(ranks)[root]
            case Operation.ALL_GATHER:
                there, wanted = range(ranks), np.eye(ranks)[origin]
            case _:
                there, wanted = [home], np.eye(ranks)[origin]
        if any((held[rank, chunk] != wanted).any() for rank in there):
            return False
    return True


def bytes_of(schedule: Schedule) -> dict[Edge, float]:
    """What the phases of a schedule put on each edge, as a share of the operation's bytes."""
    total: dict[Edge, float] = defaultdict(float)
    for phase in schedule.phases:
        for t in (phase.transfers, *([phase.block.pairs()] if phase.block else [])):
            for row in zip(t.source, t.target, t.nic_out, t.nic_in, t.share, strict=True):
                total[tuple(map(int, row[:4]))] += float(row[4]) * phase.repeat
        if (s := phase.spokes) is not None:
            for rank, nic, out, into in zip(s.rank, s.nic, s.out, s.into, strict=True):
                switch = NVSWITCH if nic < 0 else FABRIC
                total[int(rank), switch, int(nic), -1] += float(out)
                total[switch, int(rank), -1, int(nic)] += float(into)
    return {edge: amount for edge, amount in total.items() if amount}


def waits_of(schedule: Schedule) -> float:
    """Messages that wait for each other, as the schedule counts them."""
    return sum(
        phase.repeat if phase.waits is None else float(phase.waits.sum())
        for phase in schedule.phases
    )


@dataclass(frozen=True)
class Played:
    """An algorithm on one case: the package's schedule and the same written out."""

    operation: Operation
    ranks: int
    schedule: Schedule
    expansion: Expansion
    root: int = 0

    def outcome(self) -> Outcome:
        return play(self.operation, self.ranks, self.root, self.expansion)

    def is_right(self) -> bool:
        """Whether the right bytes are at the right ranks in the end."""
        held = self.outcome().held
        return has_result(self.operation, self.ranks, self.root, self.expansion, held)
