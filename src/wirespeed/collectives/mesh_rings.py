"""Rings on a mesh of direct links that share no lane: the search that a mesh node lives on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Ring = tuple[int, ...]

_BUDGET = 20_000
"""Partial rings looked at before the best packing so far is taken."""


def disjoint_rings(lanes: Ids) -> list[tuple[Ring, int]]:
    """Directed rings over all n GPUs with the lanes each may fill, together the most that fit.

    `lanes` [n, n] counts directed lanes between GPUs. Depth-first with bound: no packing exceeds
    the fewest lanes that leave or enter a GPU. Empty where no ring exists at all.
    """
    most = int(min(lanes.sum(axis=0).min(), lanes.sum(axis=1).min()))
    search = _Search(most)
    search.extend(lanes.copy(), [])
    counted: dict[Ring, int] = {}
    for ring in search.best:
        counted[ring] = counted.get(ring, 0) + 1
    return list(counted.items())


class _Search:
    def __init__(self, most: int) -> None:
        self.most = most
        self.best: list[Ring] = []
        self.left = _BUDGET

    def extend(self, lanes: Ids, rings: list[Ring]) -> None:
        """Add rings to a packing, one lane each, and remember the largest."""
        if len(rings) > len(self.best):
            self.best = list(rings)
        if len(self.best) == self.most or self.left <= 0:
            return
        for ring in self._rings(lanes, [0]):
            hops = (list(ring), [*ring[1:], ring[0]])
            lanes[hops] -= 1
            self.extend(lanes, [*rings, ring])
            lanes[hops] += 1
            if len(self.best) == self.most or self.left <= 0:
                return

    def _rings(self, lanes: Ids, path: list[int]) -> Iterator[Ring]:
        self.left -= 1
        if self.left <= 0:
            return
        here = path[-1]
        if len(path) == len(lanes):
            if lanes[here, path[0]] > 0:
                yield tuple(path)
            return
        # The fullest links first: what is left over then stays spread out.
        for there in np.argsort(-lanes[here], kind="stable").tolist():
            if lanes[here, there] > 0 and there not in path:
                yield from self._rings(lanes, [*path, there])
