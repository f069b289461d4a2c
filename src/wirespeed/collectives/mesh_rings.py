"""Rings on a mesh of direct links that share no lane: the search that a mesh node lives on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Ring = tuple[int, ...]

_BUDGET = 20_000
"""Partial rings looked at before the best packing so far is taken."""


def disjoint_rings(lanes: Ids, *, through: bool = False) -> list[tuple[Ring, int]]:
    """Directed rings over all n GPUs with the lanes each may fill, together the most that fit.

    `lanes` [n, n] counts directed lanes between GPUs. Depth-first with bound: no packing exceeds
    the fewest lanes that leave or enter a GPU. Empty where no ring exists at all. `through` lets a
    hop pass one other GPU where no lane joins the two, on a lane to it and one from it.
    """
    most = int(min(lanes.sum(axis=0).min(), lanes.sum(axis=1).min()))
    search = _Search(most, through)
    search.extend(lanes.copy(), [])
    counted: dict[Ring, int] = {}
    for ring in search.best:
        counted[ring] = counted.get(ring, 0) + 1
    return list(counted.items())


class _Search:
    def __init__(self, most: int, through: bool) -> None:
        self.most = most
        self.through = through
        self.best: list[Ring] = []
        self.left = _BUDGET

    def extend(self, lanes: Ids, rings: list[Ring]) -> None:
        """Add rings to a packing, one lane each, and remember the largest.

        While a ring is looked at, the lanes that it fills are taken from `lanes`.
        """
        if len(rings) > len(self.best):
            self.best = list(rings)
        if len(self.best) == self.most or self.left <= 0:
            return
        for ring in self._rings(lanes, [0]):
            self.extend(lanes, [*rings, ring])
            if len(self.best) == self.most or self.left <= 0:
                return

    def _rings(self, lanes: Ids, path: list[int]) -> Iterator[Ring]:
        self.left -= 1
        if self.left <= 0:
            return
        here, whole = path[-1], len(path) == len(lanes)
        # The fullest links first: what is left over then stays spread out.
        near = np.argsort(-lanes[here], kind="stable").tolist()
        for there in path[:1] if whole else near:
            if not whole and there in path:
                continue
            for hop in self._hops(lanes, here, there):
                for a, b in hop:
                    lanes[a, b] -= 1
                if whole:
                    yield tuple(path)
                else:
                    yield from self._rings(lanes, [*path, there])
                for a, b in hop:
                    lanes[a, b] += 1

    def _hops(self, lanes: Ids, here: int, there: int) -> list[tuple[tuple[int, int], ...]]:
        """The lanes of a hop: one, or those by way of the GPU that joins both the widest."""
        if lanes[here, there] > 0:
            return [((here, there),)]
        if not self.through:
            return []
        width = np.minimum(lanes[here], lanes[:, there])
        middle = int(width.argmax())
        return [((here, middle), (middle, there))] if width[middle] > 0 else []
