"""delayed: a collective whose ranks do not all arrive at once.

No formula knows who waits for whom: every message of the schedule is a transfer that waits for the
one that brought its data and for the one before it on the same connection, and events say when each
ends. It takes as many transfers as there are, so it is for small groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.candidates import schedule_named, taken
from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.costs import cost_class, costs_of
from wirespeed.collectives.laid import overhead
from wirespeed.collectives.operation import COPIES, Collective
from wirespeed.collectives.protocol import Protocol
from wirespeed.collectives.result import LateRow
from wirespeed.collectives.schedule import Transfers
from wirespeed.errors import Infeasible, UsageError
from wirespeed.network import After, Uses, simulate
from wirespeed.topology.cluster import Cluster, Group, everyone
from wirespeed.units import US

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

_MOST = 20_000
"""Transfers that are still simulated one by one."""


@dataclass(frozen=True, slots=True)
class Delayed:
    """A call with late ranks.

    Attributes:
        time: [s] from the first rank's arrival to the end of the last.
        waited: [s] how much later that is than with nobody late.
        algorithm: the one that the library takes.
    """

    time: float
    waited: float
    algorithm: str


def delayed(
    collective: Collective,
    cluster: Cluster,
    size: int,
    late: Mapping[int, float],
    group: Group | None = None,
) -> Delayed:
    """A call of `size` bytes in which rank r arrives `late[r]` seconds after the first.

    Rings and straight messages are known; Infeasible for other algorithms, and for groups of more
    than some thousands of messages. UsageError for a rank that is not there.
    """
    members = group or everyone(cluster)
    start = np.zeros(len(members))
    for rank, seconds in late.items():
        if not 0 <= rank < len(members) or not 0 <= seconds < np.inf:
            raise UsageError(
                f"rank {rank} cannot be {seconds:g} s late",
                where="late",
                why=f"ranks run from 0 to {len(members) - 1}, and no one is early",
            )
        start[rank] = seconds
    if collective.operation in COPIES:
        raise UsageError(f"{collective.operation} has no ranks that wait for each other")
    candidate = taken(collective, cluster, members, size)
    flow = _flow(collective, cluster, members, candidate, size)
    ends = [_makespan(flow, cluster, begin) for begin in (start, np.zeros(len(members)))]
    rest = float(candidate.time(np.array([size], np.float64))[0]) - candidate.per_byte * size
    return Delayed(ends[0] + rest, ends[0] - ends[1], candidate.algorithm)


def late_row(
    collective: Collective,
    cluster: Cluster,
    size: int,
    late: Mapping[str, tuple[int, float]],
    group: Group,
) -> LateRow:
    """`delayed` as a row of a result; `late` has ranks and seconds by the words that name them."""
    found = delayed(collective, cluster, size, dict(late.values()), group)
    return LateRow(
        nodes=len(np.unique(cluster.topology.node[group.gpus])),
        size_bytes=size,
        late=tuple(late),
        algorithm=found.algorithm,
        time_us=(found.time - found.waited) / US,
        late_us=found.time / US,
        waited_us=found.waited / US,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Flow:
    """[t] all messages of a call: who, how many bytes, on what, after which."""

    source: Ids
    target: Ids
    bytes: Floats
    uses: Uses
    after: After


def _flow(
    collective: Collective, cluster: Cluster, group: Group, candidate: Candidate, size: int
) -> _Flow:
    schedule = schedule_named(candidate.algorithm, collective, cluster, group)
    if candidate.algorithm not in ("Ring", "Direct"):
        raise Infeasible(
            f"late ranks of {candidate.algorithm}",
            why="only rings and straight messages are followed message by message",
            remedy="force one with --algo Ring",
        )
    (phase,) = schedule.phases
    hops = phase.transfers if phase.block is None else phase.block.pairs()
    if len(hops) * phase.repeat > _MOST:
        raise Infeasible(
            f"late ranks of {len(group)} GPUs",
            why=f"that is {len(hops) * phase.repeat:,} messages; up to {_MOST:,} are followed",
            remedy="take fewer ranks, or one node",
        )
    one = _uses(collective, cluster, group, candidate, hops)
    laps = np.tile(np.arange(len(hops)), phase.repeat)
    return _Flow(
        source=hops.source[laps],
        target=hops.target[laps],
        bytes=hops.share[laps] * size,
        uses=one.select(laps),
        after=_dependencies(hops, phase.repeat),
    )


def _uses(
    collective: Collective, cluster: Cluster, group: Group, candidate: Candidate, hops: Transfers
) -> Uses:
    """What each message of a step uses, with the overhead of transport and protocol."""
    on = Carrier(cluster, group)
    costs = costs_of(cost_class(cluster, collective.launch), cluster.parameters)
    factor = overhead(candidate.algorithm, costs, Protocol(candidate.protocol))
    resources, weights = [], []
    for k in range(len(hops)):
        one = slice(k, k + 1)
        alone = Transfers(
            hops.source[one], hops.target[one], np.ones(1), hops.nic_out[one], hops.nic_in[one]
        )
        loads = on.carry(alone).loads
        wire = sum((load * factor[term] for term, load in loads.items()), np.zeros(1))
        used = np.flatnonzero(wire)
        resources.append(used.tolist())
        weights.append(wire[used].tolist())
    return Uses.from_lists(resources, weights)


def _dependencies(hops: Transfers, laps: int) -> After:
    """In each lap a message waits for what its sender got in the last lap, and for itself there.

    Hops of a ring follow each other in the order of the schedule, channel after channel.
    """
    count = len(hops)
    if laps == 1:
        return After.from_lists([[] for _ in range(count)])
    brings: dict[tuple[int, int], int] = {}
    ranks = int(hops.source.max()) + 1
    for k, target in enumerate(hops.target.tolist()):
        brings[k // ranks, target] = k
    before = [brings[k // ranks, rank] for k, rank in enumerate(hops.source.tolist())]
    rows: list[list[int]] = [[] for _ in range(count)]
    for lap in range(1, laps):
        last = (lap - 1) * count
        rows += [sorted({last + before[k], last + k}) for k in range(count)]
    return After.from_lists(rows)


def _makespan(flow: _Flow, cluster: Cluster, arrival: Floats) -> float:
    """[s] of the last message; one begins when both of its ends are there."""
    begin = np.maximum(arrival[flow.source], arrival[flow.target])
    capacity = cluster.topology.capacity
    end = simulate(flow.uses, flow.bytes, capacity, start=begin, after=flow.after).makespan
    if not np.isfinite(end):
        raise Infeasible("a message never arrives", why="a link that it needs is down")
    return end
