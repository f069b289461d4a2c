"""The least cut for each number of terminals on the sending side, over all ways to choose them.

A cut splits the vertices in a sending and a receiving side; its capacity is that of all arcs from
the first to the second. By max-flow min-cut (Ford, Fulkerson 1956) nothing crosses faster.

There are 2^n ways to split n terminals. They need not be tried one by one: what is best depends on
the number of terminals alone, so vertices are eliminated one after the other, each by the choice of
its side that is best for every choice of its neighbours (dynamic programming over an elimination
order; U. Bertelè, F. Brioschi, Nonserial dynamic programming, 1972). The cost is exponential only
in the most neighbours that a vertex has when its turn comes, which is small for what people build.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from wirespeed.network._arcs import Arcs
from wirespeed.network._tables import Counted, Edge, Fixed, Least, Sum, Table, Values

_WIDEST = 2**22
"""Entries of a table, about 32 MB, beyond which the search is given up."""


@dataclass(frozen=True, slots=True, eq=False)
class CutTable:
    """Least capacities by what is on the sending side.

    Attributes:
        capacity: [k + 1] with k of the terminals on the sending side; inf where that cannot be.
            With free vertices (`least_cuts`), [k + 1, 2, …]: one axis each in rising order, 1 where
            it sends.
    """

    capacity: Values
    _root: Table = field(repr=False)
    _terminals: frozenset[int] = field(repr=False)

    def senders(self, count: int, sides: Mapping[int, int] | None = None) -> frozenset[int]:
        """The terminals on the sending side of a least cut with `count` of them.

        `sides` says for every free vertex whether it sends (1) or receives (0).
        """
        chosen = dict(sides or {})
        self._root.trace(count, chosen)
        return frozenset(v for v in self._terminals if chosen[v])


def least_cuts(
    arcs: Arcs,
    terminals: Iterable[int],
    *,
    free: Iterable[int] = (),
    fixed: Mapping[int, int] | None = None,
    demands: Mapping[tuple[int, int], float] | None = None,
) -> CutTable | None:
    """The least cut for every number of terminals on the sending side; None where it is too wide.

    Args:
        arcs: capacities; simplified by the caller, with terminals and free vertices kept.
        terminals: vertices that are counted.
        free: vertices whose side the table tells apart.
        fixed: vertices whose side is given, 1 sends.
        demands: amounts taken off where the first vertex of a pair sends and the second receives.
    """
    counted, open_ = frozenset(terminals), tuple(sorted(free))
    factors: list[Table] = [
        Edge(a, b, there, back) for (a, b), (there, back) in _pairs(arcs, demands or {}).items()
    ]
    factors += [Fixed(v, side) for v, side in (fixed or {}).items()]
    left = ({*arcs.vertices, *counted} | {v for f in factors for v in f.scope}) - set(open_)
    joined: dict[int, set[int]] = {v: set() for v in {*left, *open_}}
    for factor in factors:
        for v in factor.scope:
            joined[v] |= {w for w in factor.scope if w != v}
    while left:
        vertex = min(left, key=lambda v: (len(joined[v]), v))
        left.remove(vertex)
        mine = [f for f in factors if vertex in f.scope]
        factors = [f for f in factors if vertex not in f.scope]
        if _entries(mine, len(joined[vertex]) + 1) > _WIDEST:
            return None
        total = _sum(mine) if mine else Counted((vertex,))
        factors.append(Least(total, vertex, counts=vertex in counted))
        for v in joined.pop(vertex):
            joined[v] |= set(factors[-1].scope) - {v}
            joined[v].discard(vertex)
    if not factors:
        factors = [Counted(())]
    root = _sum([*factors, Counted(open_)]) if open_ else _sum(factors)
    return CutTable(root.values, root, counted)


def _pairs(
    arcs: Arcs, demands: Mapping[tuple[int, int], float]
) -> dict[tuple[int, int], tuple[float, float]]:
    """Cost of (first sends, second receives) and of the reverse, for each pair joined."""
    both: dict[tuple[int, int], list[float]] = {}
    for a, b, capacity in arcs:
        both.setdefault((min(a, b), max(a, b)), [0.0, 0.0])[int(a > b)] += capacity
    for (a, b), amount in demands.items():
        both.setdefault((min(a, b), max(a, b)), [0.0, 0.0])[int(a > b)] -= amount
    return {pair: (there, back) for pair, (there, back) in both.items()}


def _entries(factors: list[Table], scope: int) -> int:
    return (1 + sum(f.most for f in factors)) << scope


def _sum(factors: list[Table]) -> Table:
    """All factors as one; those that count nothing first, where adding is cheapest."""
    ordered = sorted(factors, key=lambda f: (f.most, len(f.scope)))
    total = ordered[0]
    for factor in ordered[1:]:
        total = Sum(total, factor)
    return total
