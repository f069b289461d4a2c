"""Arcs: a directed graph of capacities, and what can be left out of it without changing a cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

_SAME = 9
"""Significant digits in which equal shares agree."""


@dataclass(slots=True, eq=False)
class Arcs:
    """Capacities [B/s] by pair of vertices; parallel arcs add up, arcs of capacity 0 are not there.

    Iterating yields (source, target, capacity).
    """

    out: dict[int, dict[int, float]] = field(default_factory=dict)
    into: dict[int, dict[int, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, source: ArrayLike, target: ArrayLike, capacity: ArrayLike) -> Arcs:
        """Arcs from arrays of the same length."""
        arcs = cls()
        columns = (np.asarray(column).tolist() for column in (source, target, capacity))
        for a, b, rate in zip(*columns, strict=True):
            arcs.add(a, b, rate)
        return arcs

    def __iter__(self) -> Iterator[tuple[int, int, float]]:
        for a, ends in self.out.items():
            for b, capacity in ends.items():
                yield a, b, capacity

    @property
    def vertices(self) -> set[int]:
        """All vertices with an arc."""
        return {v for v in (*self.out, *self.into) if self.neighbours(v)}

    def neighbours(self, vertex: int) -> set[int]:
        """Vertices that an arc joins with this one, either way."""
        return {*self.out.get(vertex, ()), *self.into.get(vertex, ())}

    def add(self, a: int, b: int, capacity: float) -> None:
        """Widen the arc from a to b."""
        if a == b or not capacity > 0:
            return
        ends = self.out.setdefault(a, {})
        ends[b] = ends.get(b, 0.0) + capacity
        self.into.setdefault(b, {})[a] = ends[b]

    def remove(self, vertex: int) -> tuple[dict[int, float], dict[int, float]]:
        """Takes a vertex out; the capacities of the arcs that left and entered it."""
        out, into = self.out.pop(vertex, {}), self.into.pop(vertex, {})
        for b in out:
            del self.into[b][vertex]
        for a in into:
            del self.out[a][vertex]
        return out, into

    def leaving(self, vertex: int) -> float:
        """Capacity of all arcs out of a vertex."""
        return sum(self.out.get(vertex, {}).values())

    def entering(self, vertex: int) -> float:
        """Capacity of all arcs into a vertex."""
        return sum(self.into.get(vertex, {}).values())


def simplify(arcs: Arcs, kept: Iterable[int]) -> Arcs:
    """The same arcs, changed in place, without vertices that no least cut needs to tell apart.

    Whatever the sides of the `kept` vertices are, the least cut over the sides of all others stays
    the same. Left out are dead ends and links of a chain; one vertex with those that are joined to
    the same neighbours in the same proportions; and one with the neighbour to which it is joined at
    least as widely as to all others together, since it never gains by being on the other side.
    """
    stay = frozenset(kept)
    queue = sorted(arcs.vertices - stay)
    while queue:
        touched: set[int] = set()
        for vertex in queue:
            touched |= _shorten(arcs, vertex)
        touched |= _merge_alike(arcs, stay)
        queue = sorted((touched & arcs.vertices) - stay)
    return arcs


def _shorten(arcs: Arcs, vertex: int) -> set[int]:
    """Removes a dead end, a link of a chain or a follower; the neighbours that this touched."""
    around = arcs.neighbours(vertex)
    if len(around) <= 1:
        arcs.remove(vertex)
        return around
    if len(around) == 2:
        a, b = around
        out, into = arcs.remove(vertex)
        arcs.add(a, b, min(into.get(a, 0.0), out.get(b, 0.0)))
        arcs.add(b, a, min(into.get(b, 0.0), out.get(a, 0.0)))
        return around
    out, into = arcs.out.get(vertex, {}), arcs.into.get(vertex, {})
    total_out, total_in = sum(out.values()), sum(into.values())
    for other in around:
        to, back = out.get(other, 0.0), into.get(other, 0.0)
        if back >= total_out - to and to >= total_in - back:
            _contract(arcs, vertex, other)
            return around
    return set()


def _contract(arcs: Arcs, vertex: int, other: int) -> None:
    out, into = arcs.remove(vertex)
    for b, capacity in out.items():
        arcs.add(other, b, capacity)
    for a, capacity in into.items():
        arcs.add(a, other, capacity)


def _merge_alike(arcs: Arcs, stay: frozenset[int]) -> set[int]:
    """Joins vertices whose neighbours are the same, in the same proportions."""
    first: dict[tuple[tuple[int, float, float], ...], int] = {}
    touched: set[int] = set()
    for vertex in sorted(arcs.vertices - stay):
        total = arcs.leaving(vertex) + arcs.entering(vertex)
        out, into = arcs.out.get(vertex, {}), arcs.into.get(vertex, {})
        key = tuple(
            (v, round(out.get(v, 0.0) / total, _SAME), round(into.get(v, 0.0) / total, _SAME))
            for v in sorted(arcs.neighbours(vertex))
        )
        twin = first.setdefault(key, vertex)
        if twin != vertex:
            around = arcs.neighbours(vertex)
            _contract(arcs, vertex, twin)
            touched |= {*around, twin}
    return touched | _merge_joined(arcs, stay)


def _merge_joined(arcs: Arcs, stay: frozenset[int]) -> set[int]:
    """Joins vertices that differ in nothing but that an arc each way joins them, as in a clique.

    For any sides of the others both gain or lose alike, and apart they pay for the arc as well.
    """
    first: dict[tuple[tuple[int, float, float], ...], int] = {}
    touched: set[int] = set()
    for vertex in sorted(arcs.vertices - stay):
        out, into = arcs.out.get(vertex, {}), arcs.into.get(vertex, {})
        around = [
            (v, _rounded(out.get(v, 0.0)), _rounded(into.get(v, 0.0)))
            for v in arcs.neighbours(vertex)
        ]
        # With itself as if joined to itself, each of them has the same neighbours.
        for both in {there for _, there, back in around if there == back}:
            key = tuple(sorted([*around, (vertex, both, both)]))
            twin = first.setdefault(key, vertex)
            if twin != vertex and twin in arcs.neighbours(vertex):
                touched |= {*arcs.neighbours(vertex), twin}
                _contract(arcs, vertex, twin)
                break
    return touched - {vertex for vertex in touched if not arcs.neighbours(vertex)}


def _rounded(capacity: float) -> float:
    return float(f"{capacity:.{_SAME}g}")
