"""Finish times of any set of transfers: unequal, staggered, dependent, delayed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import ArrayLike

from wirespeed.errors import UsageError
from wirespeed.network._bottleneck import checked_capacity
from wirespeed.network._shares import Shares
from wirespeed.network._uses import Bools, Floats, Ints, Uses, offsets

SAME = 1 + 1e-12
"""Events this close are one event: equal transfers finish together whatever their last bits."""


@dataclass(frozen=True, slots=True, eq=False)
class After:
    """Which transfers each one waits for: `t` waits for `transfer[first[t] : first[t + 1]]`."""

    first: Ints
    transfer: Ints

    def __post_init__(self) -> None:
        if self.first[0] != 0 or self.first[-1] != self.transfer.size:
            raise UsageError("`first` must run from 0 to the number of dependencies")
        known = self.first.size - 1
        if self.transfer.size and not (0 <= self.transfer.min() <= self.transfer.max() < known):
            raise UsageError(f"a transfer waits for one that is not among the {known}")

    @classmethod
    def from_lists(cls, rows: Iterable[Sequence[int]]) -> After:
        """Dependencies from one list of predecessors a transfer."""
        lists = [list(row) for row in rows]
        counts = np.array([len(row) for row in lists], np.int64)
        return cls(offsets(counts), np.array([t for row in lists for t in row], np.int64))

    def successors(self) -> list[list[int]]:
        """The transfers that wait for each one."""
        waiting = np.repeat(np.arange(self.first.size - 1), np.diff(self.first))
        order = np.argsort(self.transfer, kind="stable")
        counts = np.bincount(self.transfer, minlength=self.first.size - 1)
        return [part.tolist() for part in np.split(waiting[order], np.cumsum(counts)[:-1])]


@dataclass(frozen=True, slots=True, eq=False)
class Finish:
    """When each transfer ends: `times` [T] in seconds, and when it began to move, `begins` [T].

    Both are inf where they never happen. `events` counts the moments at which something began or
    ended, `solved` how often shares were worked out anew.
    """

    times: Floats
    begins: Floats
    events: int
    solved: int

    @property
    def makespan(self) -> float:
        """The time of the last finish [s]: inf if one never ends, 0 without transfers."""
        return float(self.times.max(initial=0.0))

    @property
    def stalled(self) -> Ints:
        """The transfers that never end: their path, or what they wait for, is down."""
        return np.flatnonzero(np.isinf(self.times))


def simulate(
    uses: Uses,
    bytes: ArrayLike,
    capacity: ArrayLike,
    *,
    start: ArrayLike | None = None,
    after: After | None = None,
    latency: ArrayLike | None = None,
) -> Finish:
    """The finish of each transfer when all that move share max-min fairly at every moment.

    `bytes` [B] of payload and `start` [s] and `latency` [s] are one number or [T]; `capacity` is
    [R] in B/s. A transfer begins to move `latency` after its start and after the finish of all that
    it waits for; it loads its resources from then to its finish. One whose route is down never
    ends, nor does what waits for it; the others go on. One that nothing finite holds up, or that
    has no bytes, ends when it begins.

    The result is that of solving all rates at each event; see `Shares` for why only the part that
    a change reaches is solved. An event costs the uses of that part, times the rounds of growing
    it. Transfers of equal bytes that start together cause one solve in all (`bottleneck_time` says
    why). Where each link carries one or two transfers a change reaches few; where each carries
    ten of unequal bytes it reaches a tenth of all, and an event costs about a full solve.
    """
    run = _Run(uses, bytes, checked_capacity(capacity), start, after, latency)
    while run.step():
        pass
    return run.result()


class _Run:
    def __init__(
        self,
        uses: Uses,
        bytes: ArrayLike,
        capacity: Floats,
        start: ArrayLike | None,
        after: After | None,
        latency: ArrayLike | None,
    ) -> None:
        count = uses.transfers
        whole = uses.merge_duplicates()
        down = _crosses(whole, capacity == 0)
        limiting = _without_unlimited(whole, capacity)
        self._left = _each("bytes", bytes, count)
        # What becomes of a transfer when it begins: it ends at once, never, or has to move.
        self._at_once: list[bool] = ((limiting.counts == 0) | (self._left == 0)).tolist()
        self._never: list[bool] = (down & (self._left > 0)).tolist()
        self._shares = Shares(limiting, capacity)
        self._updated = np.zeros(count)
        self._ready: list[float] = _each("start", start, count).tolist()
        self._latency: list[float] = _each("latency", latency, count).tolist()
        if after is not None and after.first.size != count + 1:
            raise UsageError(f"dependencies of {after.first.size - 1} among {count} transfers")
        self._successors = after.successors() if after is not None else [[]] * count
        self._waits: list[int] = np.diff(after.first).tolist() if after is not None else [0] * count
        self._begin = [np.inf] * count
        self._end = [np.inf] * count
        self._running = [False] * count
        self._ends: list[tuple[float, int]] = []
        self._begins = [
            (self._ready[t] + self._latency[t], t) for t in range(count) if not self._waits[t]
        ]
        heapify(self._begins)
        self._events = 0

    def step(self) -> bool:
        """Carry out all that happens at the next moment; False when nothing is left."""
        now = min(self._begins[:1] + self._ends[:1], default=(np.inf, 0))[0]
        if now == np.inf:
            return False
        leave = self._end_until(now * SAME)
        enter = self._begin_until(now * SAME)
        if leave or enter:
            self._events += 1
            self._share(now, leave, enter)
        return True

    def _end_until(self, time: float) -> list[int]:
        leave = []
        while self._ends and self._ends[0][0] <= time:
            end, transfer = heappop(self._ends)
            if self._running[transfer] and self._end[transfer] == end:
                self._running[transfer] = False
                leave.append(transfer)
                self._release(transfer)
        return leave

    def _begin_until(self, time: float) -> list[int]:
        enter = []
        while self._begins and self._begins[0][0] <= time:
            begin, transfer = heappop(self._begins)
            self._begin[transfer] = begin
            if self._never[transfer]:
                self._release(transfer)
            elif self._at_once[transfer]:
                self._end[transfer] = begin
                self._release(transfer)
            else:
                self._running[transfer] = True
                enter.append(transfer)
        return enter

    def _release(self, transfer: int) -> None:
        """Tell those that wait; what waits for one that never ends never begins."""
        over = [transfer]
        while over:
            done = over.pop()
            for next_ in self._successors[done]:
                self._waits[next_] -= 1
                self._ready[next_] = max(self._ready[next_], self._end[done])
                if self._waits[next_]:
                    continue
                if self._ready[next_] == np.inf:
                    over.append(next_)
                else:
                    heappush(self._begins, (self._ready[next_] + self._latency[next_], next_))

    def _share(self, now: float, leave: list[int], enter: list[int]) -> None:
        self._updated[enter] = now
        changed, before = self._shares.change(leave, enter)
        moved = before * (now - self._updated[changed])
        left = np.maximum(self._left[changed] - moved, 0)
        self._left[changed] = left
        self._updated[changed] = now
        ends = now + left / self._shares.rates[changed]
        for transfer, end in zip(changed.tolist(), ends.tolist(), strict=True):
            self._end[transfer] = end
            heappush(self._ends, (end, transfer))

    def result(self) -> Finish:
        """All times; an error if transfers are left that wait for each other."""
        waiting = [transfer for transfer, count in enumerate(self._waits) if count]
        if waiting:
            raise UsageError(
                f"transfers wait for each other in a circle: {waiting[:8]}",
                remedy="remove a dependency of one of them",
            )
        return Finish(np.array(self._end), np.array(self._begin), self._events, self._shares.solved)


def _each(name: str, value: ArrayLike | None, count: int) -> Floats:
    """One number a transfer, zero or more and finite."""
    numbers = np.asarray(0.0 if value is None else value, float)
    if numbers.shape not in ((), (count,)):
        raise UsageError(f"{numbers.shape} {name} for {count} transfers")
    if not ((numbers >= 0) & (numbers < np.inf)).all():
        raise UsageError(f"{name} must be zero or more and finite")
    return np.full(count, numbers, float)


def _crosses(uses: Uses, resources: Bools) -> Bools:
    """Which transfers use one of these resources [T]."""
    return np.bincount(uses.owner[resources[uses.resource]], minlength=uses.transfers) > 0


def _without_unlimited(uses: Uses, capacity: Floats) -> Uses:
    """The uses of resources that can hold something up."""
    keep = (capacity < np.inf)[uses.resource]
    counts = np.bincount(uses.owner[keep], minlength=uses.transfers)
    return Uses(offsets(counts), uses.resource[keep], uses.weight[keep])
