"""The bound of sendrecv, in which every rank sends to the next: what crosses depends on who."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.bound_graph import unit_arcs, whole_arcs
from wirespeed.collectives.bound_names import cut_name
from wirespeed.collectives.bound_search import Limit, Searched
from wirespeed.collectives.bound_tiers import Tier
from wirespeed.network import Arcs, least_cuts, simplify
from wirespeed.topology.cluster import Cluster, Group

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_EXACT = 16


def shift_limits(
    cluster: Cluster,
    group: Group,
    searched: Sequence[Searched | None],
    unit: Ids,
    tiers: Sequence[Tier],
) -> Iterator[Limit]:
    """Limits by cuts: up to 16 ranks by all, else by every GPU, every unit and every tier."""
    topology = cluster.topology
    owner = topology.unit_of(group.gpus)
    for one in searched:
        if one is not None:
            for rates in (one.out, one.into):
                k = int(rates.argmin())
                yield _limit(cluster, group, 1.0, float(rates[k]), [one.members[k]], tiers)
    if len(unit) > 1:
        whole = {}
        for one in searched:
            if one is not None:
                whole[int(topology.unit_of(one.members[0]))] = one.whole
        for u, (out, into, _) in whole.items():
            yield from _of_part(cluster, group, owner == u, out, into, tiers)
    for tier in tiers:
        part = tier.group[owner]
        crossing = np.bincount(part[part != np.roll(part, -1)], minlength=len(tier.out))
        for rates in (tier.out, tier.into):
            k = int((crossing / np.maximum(rates, 1e-300)).argmax())
            yield _limit(
                cluster,
                group,
                float(crossing[k]),
                float(rates[k]),
                group.gpus[part == k].tolist(),
                tiers,
            )
    if len(group) <= _EXACT:
        arcs = (
            unit_arcs(topology, int(unit[0]), None, shared=False)
            if len(unit) == 1
            else whole_arcs(topology, unit, shared=False)
        )
        if arcs is not None:
            yield from _worst_split(cluster, group, arcs, tiers)


def _of_part(
    cluster: Cluster,
    group: Group,
    inside: npt.NDArray[np.bool_],
    out: float,
    into: float,
    tiers: Sequence[Tier],
) -> Iterator[Limit]:
    crossing = float((inside & ~np.roll(inside, -1)).sum())
    side = group.gpus[inside].tolist()
    for rate in (out, into):
        yield _limit(cluster, group, crossing, rate, side, tiers)


def _limit(
    cluster: Cluster,
    group: Group,
    amount: float,
    rate: float,
    side: Sequence[int],
    tiers: Sequence[Tier],
) -> Limit:
    seconds = 0.0 if amount == 0 else (amount / rate if rate > 0 else float("inf"))
    inner = min(len(side), len(group) - len(side))
    return Limit(seconds, inner, partial(cut_name, cluster, group, side, tiers))


def _worst_split(
    cluster: Cluster, group: Group, arcs: Arcs, tiers: Sequence[Tier]
) -> Iterator[Limit]:
    """The split with most messages for its capacity: W. Dinkelbach's iteration for ratios, 1967.

    At a guess of seconds for each byte, the split that falls shortest of it gives the next one.
    Nothing where switches are joined so densely that no search ends.
    """
    members = group.gpus.tolist()
    pairs = list(zip(members, members[1:] + members[:1], strict=True))
    simplify(arcs, members)

    def seconds(side: frozenset[int]) -> float | None:
        cut = least_cuts(arcs, (), fixed={m: int(m in side) for m in members})
        if cut is None:
            return None
        capacity = float(cut.capacity[0])
        crossing = sum(a in side and b not in side for a, b in pairs)
        return crossing / capacity if capacity > 0 else float("inf")

    best = frozenset(members[:1])
    most = seconds(best)
    if most is None:
        return
    while np.isfinite(most):
        table = least_cuts(arcs, members, demands=dict.fromkeys(pairs, 1 / most))
        if table is None:
            return
        side = table.senders(int(table.capacity.argmin()))
        longer = seconds(side) if 0 < len(side) < len(members) else None
        if longer is None or longer <= most * (1 + 1e-9):
            break
        best, most = side, longer
    # It says more than the families only where it is longer than theirs.
    yield Limit(most, 0, partial(cut_name, cluster, group, best, tiers))
