"""Slow and plain versions that the network's levels are held against."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from wirespeed.network import Uses


def filled(uses: Uses, capacity: list[int], limits: list[int] | None = None) -> list[Fraction]:
    """Max-min rates by raising one common water level, in exact fractions; all are finite."""
    demand = [{} for _ in range(uses.transfers)]
    for owner, resource, weight in zip(
        uses.owner.tolist(), uses.resource.tolist(), uses.weight.tolist(), strict=True
    ):
        demand[owner][resource] = demand[owner].get(resource, Fraction(0)) + Fraction(weight)
    resources = [Fraction(c) for c in capacity]
    if limits:
        for transfer, limit in enumerate(limits):
            demand[transfer][len(resources)] = Fraction(1)
            resources.append(Fraction(limit))
    rate: dict[int, Fraction] = {}
    while len(rate) < uses.transfers:
        levels = {}
        for r, whole in enumerate(resources):
            rising = sum(d[r] for t, d in enumerate(demand) if r in d and t not in rate)
            taken = sum(d[r] * rate[t] for t, d in enumerate(demand) if r in d and t in rate)
            if rising:
                levels[r] = (whole - taken) / rising
        lowest = min(levels.values())
        stopping = {r for r, level in levels.items() if level == lowest}
        for t, d in enumerate(demand):
            if t not in rate and stopping & set(d):
                rate[t] = lowest
    return [rate[t] for t in range(uses.transfers)]


@st.composite
def networks(draw, most_transfers: int = 7, least_capacity: int = 1) -> tuple[Uses, np.ndarray]:
    """A small network: every transfer uses one to four of up to five resources, some twice."""
    resources = draw(st.integers(1, 5))
    capacity = draw(
        st.lists(st.integers(least_capacity, 12), min_size=resources, max_size=resources)
    )
    rows = draw(
        st.lists(
            st.lists(
                st.tuples(st.integers(0, resources - 1), st.sampled_from([0.5, 1, 1, 1, 2, 3])),
                min_size=1,
                max_size=4,
            ),
            min_size=1,
            max_size=most_transfers,
        )
    )
    uses = Uses.from_lists(
        [[r for r, _ in row] for row in rows], [[w for _, w in row] for row in rows]
    )
    return uses, np.array(capacity, float)


def replayed(
    uses: Uses,
    sizes: list[int],
    capacity: list[int],
    start: list[int] | None = None,
    after: list[list[int]] | None = None,
    latency: list[int] | None = None,
) -> list[Fraction]:
    """Finish times by solving every rate anew at every event, in exact fractions."""
    count = uses.transfers
    start, latency = start or [0] * count, latency or [0] * count
    after = after or [[] for _ in range(count)]
    left = [Fraction(size) for size in sizes]
    finish: dict[int, Fraction] = {}
    now = Fraction(0)

    def begin(t: int) -> Fraction | None:
        if not all(p in finish for p in after[t]):
            return None
        return max([Fraction(start[t]), *(finish[p] for p in after[t])]) + latency[t]

    while len(finish) < count:
        begins = {t: begin(t) for t in range(count) if t not in finish}
        moving = [t for t, b in begins.items() if b is not None and b <= now]
        rates = dict(zip(moving, filled(uses.select(moving), capacity), strict=True))
        ends = [now + left[t] / rates[t] for t in moving]
        later = [b for b in begins.values() if b is not None and b > now]
        then = min(ends + later)
        for t in moving:
            left[t] -= rates[t] * (then - now)
            if left[t] == 0:
                finish[t] = then
        now = then
    return [finish[t] for t in range(count)]
