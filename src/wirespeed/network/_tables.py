"""Tables of least cost, by a count and the sides of a few vertices; each remembers its making."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Scope = tuple[int, ...]


class Table(Protocol):
    """Least cost with k terminals on the sending side, for all sides of the vertices in scope.

    `values` [most + 1, 2, …]: one axis a vertex of `scope`, in rising order, 1 where it sends.
    """

    scope: Scope
    values: Values

    @property
    def most(self) -> int:
        """The largest count."""
        ...

    def trace(self, count: int, sides: dict[int, int]) -> None:
        """Adds the sides of all vertices that were eliminated, for a count and sides in scope."""
        ...


class _Table:
    __slots__ = ("scope", "values")

    def __init__(self, scope: Scope, values: Values) -> None:
        self.scope = scope
        self.values = values

    @property
    def most(self) -> int:
        return len(self.values) - 1

    def trace(self, count: int, sides: dict[int, int]) -> None:
        """Nothing was eliminated here."""


class Edge(_Table):
    """What two vertices cost when the first sends and the second receives, and the reverse."""

    __slots__ = ()

    def __init__(self, a: int, b: int, there: float, back: float) -> None:
        # The pair comes in rising order.
        super().__init__((a, b), np.array([[[0.0, back], [there, 0.0]]]))


class Fixed(_Table):
    """A vertex that must be on one side."""

    __slots__ = ()

    def __init__(self, vertex: int, side: int) -> None:
        values = np.array([[np.inf, np.inf]])
        values[0, side] = 0.0
        super().__init__((vertex,), values)


class Counted(_Table):
    """No cost at all, whatever the sides."""

    __slots__ = ()

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope, np.zeros((1, *[2] * len(scope))))


class Sum(_Table):
    """Two tables together: costs and counts add up."""

    __slots__ = ("left", "right")

    def __init__(self, left: Table, right: Table) -> None:
        self.left, self.right = left, right
        scope = tuple(sorted({*left.scope, *right.scope}))
        a, b = _spread(left, scope), _spread(right, scope)
        if left.most == 0 or right.most == 0:
            super().__init__(scope, a + b)
            return
        if len(a) > len(b):
            a, b = b, a
        shape = np.broadcast_shapes(a.shape[1:], b.shape[1:])
        values = np.full((len(a) + len(b) - 1, *shape), np.inf)
        for count, row in enumerate(a):
            part = values[count : count + len(b)]
            np.minimum(part, row + b, out=part)
        super().__init__(scope, values)

    def trace(self, count: int, sides: dict[int, int]) -> None:
        """Shares the count between the two as it was when they were added."""
        a, b = _row(self.left, sides), _row(self.right, sides)
        low, high = max(0, count - self.right.most), min(count, self.left.most)
        split = low + int((a[low : high + 1] + b[count - high : count - low + 1][::-1]).argmin())
        self.left.trace(split, sides)
        self.right.trace(count - split, sides)


class Least(_Table):
    """A table with one vertex on the side that is best for it."""

    __slots__ = ("counts", "inner", "vertex")

    def __init__(self, inner: Table, vertex: int, *, counts: bool) -> None:
        self.inner, self.vertex, self.counts = inner, vertex, counts
        axis = inner.scope.index(vertex) + 1
        receives: Values = np.take(inner.values, 0, axis)
        sends: Values = np.take(inner.values, 1, axis)
        if counts:
            beyond = np.full((1, *receives.shape[1:]), np.inf)
            receives = np.concatenate([receives, beyond])
            sends = np.concatenate([beyond, sends])
        scope = tuple(v for v in inner.scope if v != vertex)
        super().__init__(scope, np.minimum(receives, sends))

    def trace(self, count: int, sides: dict[int, int]) -> None:
        """Chooses the side of the vertex again."""
        options = []
        for side in (0, 1):
            row = _row(self.inner, {**sides, self.vertex: side})
            k = count - (side if self.counts else 0)
            options.append(row[k] if 0 <= k < len(row) else np.inf)
        side = int(options[1] < options[0])
        sides[self.vertex] = side
        self.inner.trace(count - (side if self.counts else 0), sides)


def _spread(table: Table, scope: Scope) -> Values:
    """The values with an axis of length one for each vertex of `scope` that it does not know."""
    shape = (2 if v in table.scope else 1 for v in scope)
    return table.values.reshape(table.most + 1, *shape)


def _row(table: Table, sides: dict[int, int]) -> Values:
    row = table.values
    for v in table.scope:
        row = row[:, sides[v]]
    return row
