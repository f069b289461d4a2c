"""engine: a step as tasks on streams, run by events.

A rank class (one GPU of each pipeline stage) has streams: computing, and one for each kind of
communication that runs beside it. A stream does its tasks in the order in which they were given; a
task begins when its stream is free and all that it needs is done. Tasks of a rank that run at once
share what both keep busy (links, NICs, multiprocessors), see `collectives.beside.sharing`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np

from wirespeed.collectives.beside import sharing
from wirespeed.errors import UsageError

_SAME = 1e-12


@dataclass(slots=True)
class Task:
    """Something that a rank does.

    Attributes:
        name: what a timeline shows; `kind` is compute, tp, dp, pp, cp, optimizer or host.
        rank: its rank class; `stream` a stream of it.
        seconds: alone.
        needs: tasks that have to be done.
        uses: shares of the rank's resources that it keeps busy; empty: of none that others use.
        parts: seconds of it by kind of the breakdown; None: all is `kind`.
    """

    name: str
    kind: str
    rank: int
    stream: str
    seconds: float
    needs: tuple[int, ...] = ()
    uses: tuple[float, ...] = ()
    parts: dict[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A task as it ran, [s] from the step's begin."""

    task: int
    begin: float
    end: float


@dataclass(slots=True)
class Plan:
    """Tasks in the order of their streams."""

    tasks: list[Task] = field(default_factory=list)

    def add(self, task: Task) -> int:
        """The number of the task, which later ones may need."""
        self.tasks.append(task)
        return len(self.tasks) - 1


def run(tasks: Sequence[Task]) -> list[Span]:
    """When each task runs. Raises UsageError where tasks wait for each other in a circle."""
    return _Run(tasks).spans()


class _Run:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = tasks
        self.waits = [len(task.needs) for task in tasks]
        self.followers: list[list[int]] = [[] for _ in tasks]
        streams: dict[tuple[int, str], list[int]] = {}
        for k, task in enumerate(tasks):
            for need in task.needs:
                self.followers[need].append(k)
            streams.setdefault((task.rank, task.stream), []).append(k)
        self.next_in: list[int] = [-1] * len(tasks)
        self.free = [False] * len(tasks)
        for order in streams.values():
            self.free[order[0]] = True
            for a, b in pairwise(order):
                self.next_in[a] = b
        self.begin = [np.inf] * len(tasks)
        self.end = [np.inf] * len(tasks)
        self.left = [task.seconds for task in tasks]
        self.since = [0.0] * len(tasks)
        self.speed = [1.0] * len(tasks)
        self.running: dict[int, list[int]] = {}
        self.events: list[tuple[float, int, float]] = []
        self.shared: dict[tuple[tuple[float, ...], ...], list[float]] = {}
        self.slowed: dict[int, bool] = dict.fromkeys((task.rank for task in tasks), False)

    def spans(self) -> list[Span]:
        now = 0.0
        self._start([k for k in range(len(self.tasks)) if self._ready(k)], now)
        done = 0
        while self.events:
            now, k, speed = heappop(self.events)
            if self.end[k] < np.inf or speed != self.speed[k]:
                continue
            if abs(self.since[k] + self.left[k] / self.speed[k] - now) > _SAME * max(now, 1.0):
                continue
            done += 1
            self.end[k] = now
            rank = self.tasks[k].rank
            self.running[rank].remove(k)
            woken = list(self.followers[k])
            for follower in woken:
                self.waits[follower] -= 1
            if (after := self.next_in[k]) >= 0:
                self.free[after] = True
                woken.append(after)
            ready = sorted({t for t in woken if self._ready(t)})
            self._reshare(rank, now)
            self._start(ready, now)
        if done < len(self.tasks):
            stuck = next(t for k, t in enumerate(self.tasks) if self.end[k] == np.inf)
            raise UsageError(f"tasks wait for each other in a circle: {stuck.name}")
        return [Span(k, self.begin[k], self.end[k]) for k in range(len(self.tasks))]

    def _ready(self, k: int) -> bool:
        return self.waits[k] == 0 and self.free[k] and self.begin[k] == np.inf

    def _start(self, ready: list[int], now: float) -> None:
        ranks = set()
        for k in ready:
            self.begin[k] = self.since[k] = now
            self.running.setdefault(self.tasks[k].rank, []).append(k)
            ranks.add(self.tasks[k].rank)
            heappush(self.events, (now + self.left[k], k, self.speed[k]))
        for rank in ranks:
            self._reshare(rank, now)

    def _reshare(self, rank: int, now: float) -> None:
        """Work out anew how fast the tasks of a rank go that run at once."""
        together = self.running[rank]
        if not self.slowed[rank] and len(together) < 2:
            return
        speeds = self._speeds(together)
        self.slowed[rank] = any(speed != 1.0 for speed in speeds)
        for k, speed in zip(together, speeds, strict=True):
            if speed == self.speed[k]:
                continue
            self.left[k] = max(self.left[k] - (now - self.since[k]) * self.speed[k], 0.0)
            self.since[k], self.speed[k] = now, speed
            heappush(self.events, (now + self.left[k] / speed, k, speed))

    def _speeds(self, together: list[int]) -> list[float]:
        using = [k for k in together if self.tasks[k].uses]
        if len(using) < 2:
            return [1.0] * len(together)
        key = tuple(self.tasks[k].uses for k in using)
        if key not in self.shared:
            self.shared[key] = sharing(np.array(key)).speed.tolist()
        found = dict(zip(using, self.shared[key], strict=True))
        return [found.get(k, 1.0) for k in together]
