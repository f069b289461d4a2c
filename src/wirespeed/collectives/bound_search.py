"""Limits: for each family of cuts, how long at least, and what the tightest cut is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.bound_demand import ROOTED, leaving
from wirespeed.collectives.bound_graph import OUTSIDE
from wirespeed.collectives.operation import Operation
from wirespeed.network import Arcs, CutTable, least_cuts, simplify

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_EQUAL = 1 + 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """Least seconds for each byte; of equal limits the one with more ranks on both sides counts."""

    seconds: float
    inner: int
    name: Callable[[], str]


NONE = Limit(0.0, 0, lambda: "")


def tightest(limits: Iterable[Limit]) -> Limit:
    """The limit that takes longest; of those equal the innermost."""
    best = NONE
    for limit in limits:
        clearly = limit.seconds > best.seconds * _EQUAL
        equal = limit.seconds * _EQUAL >= best.seconds and limit.seconds > 0
        if clearly or (equal and limit.inner > best.inner):
            best = limit
    return best


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """Least cuts of one graph: through each direction, and where both share.

    Attributes:
        members: the ranks' GPUs in it.
        outside: ranks beyond its `OUTSIDE`.
        out, into: [members] B/s out of and into each GPU.
        both: [members] B/s out and in together, where components that serve both limit it; None
            where no component does.
    """

    members: tuple[int, ...]
    outside: int
    one_way: CutTable
    shared: CutTable | None
    out: Floats
    into: Floats
    both: Floats | None

    @property
    def whole(self) -> tuple[float, float, float]:
        """[B/s] out of all members to the outside, into them, and both together."""
        last = len(self.members)
        out, into = float(self.one_way.capacity[last, 0]), float(self.one_way.capacity[0, 1])
        both = out + into
        if self.shared is not None:
            both = min(both, 2 * float(self.shared.capacity[last, 0]))
        return out, into, both


def search(
    arcs: Arcs,
    shared: Arcs | None,
    members: tuple[int, ...],
    outside: int,
    fixed: Mapping[int, int],
) -> Searched | None:
    """All least cuts of a graph; None where that is too much.

    `shared` are the arcs with both directions in one, `fixed` the sides of GPUs (1 sends).
    """
    free = [OUTSIDE] if outside else []
    simplify(arcs, [*members, *free])
    one_way = least_cuts(arcs, members, free=free, fixed=fixed)
    if one_way is None:
        return None
    both, table = None, None
    if shared is not None:
        simplify(shared, [*members, *free])
        table = least_cuts(shared, members, free=free, fixed=fixed)
        both = 2 * np.array([shared.leaving(m) for m in members])
    return Searched(
        members=members,
        outside=outside,
        one_way=one_way,
        shared=table,
        out=np.array([arcs.leaving(m) for m in members]),
        into=np.array([arcs.entering(m) for m in members]),
        both=both,
    )


def cut_limits(
    operation: Operation,
    searched: Searched,
    ranks: int,
    sides: tuple[int, ...],
    name: Callable[[frozenset[int], int], str],
) -> list[Limit]:
    """The tightest cut of a graph for each side that its outside may be on.

    `name` gets the senders among the members and the side of the outside.
    """
    found = []
    for side in sides if searched.outside else (-1,):
        for table, both_ways in ((searched.one_way, False), (searched.shared, True)):
            if table is None:
                continue
            capacity = table.capacity if side < 0 else table.capacity[:, side]
            count = np.arange(len(capacity), dtype=np.float64)
            senders = count + (searched.outside if side == 1 else 0)
            amount = leaving(operation, senders, ranks)
            if both_ways:
                if operation in ROOTED:
                    continue
                amount = (amount + leaving(operation, ranks - senders, ranks)) / 2
            found.append(
                _tightest_count(searched, table, capacity, amount, senders, ranks, side, name)
            )
    return found


def _tightest_count(
    searched: Searched,
    table: CutTable,
    capacity: Floats,
    amount: Floats,
    senders: Floats,
    ranks: int,
    side: int,
    name: Callable[[frozenset[int], int], str],
) -> Limit:
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = np.where(amount > 0, amount / capacity, 0.0)
    inner = np.minimum(senders, ranks - senders)
    close = seconds * _EQUAL >= seconds.max(initial=0.0)
    k = int(np.where(close, inner, -1.0).argmax())
    sides = {} if side < 0 else {OUTSIDE: side}

    def named() -> str:
        return name(_plainest(searched, table, k, sides), side)

    return Limit(float(seconds[k]), int(inner[k]), named)


def _plainest(
    searched: Searched, table: CutTable, count: int, sides: dict[int, int]
) -> frozenset[int]:
    """The senders of a least cut; where one GPU stands alone, the first that is like it."""
    members = frozenset(searched.members)
    senders = table.senders(count, sides)
    for alone, rates in ((senders, searched.out), (members - senders, searched.into)):
        if len(alone) == 1 and len(members) > 1:
            own = rates[searched.members.index(next(iter(alone)))]
            alike = np.flatnonzero((searched.out == own) & (searched.into == own))
            first = frozenset(searched.members[k] for k in alike[:1]) or alone
            return first if alone is senders else members - first
    return senders
