"""Bounds: how long an operation takes at the very least, whatever the schedule.

A cut splits the ranks in senders and receivers; what has to cross it (`bound_demand`) cannot cross
faster than the least cut of the graph allows (`bound_graph`). Up to 16 ranks all 2^16 ways to split
them count; above that all ways to split one unit (a node, or a rack that is one NVLink domain) off,
and the groups of units that share leaves or pods. Where no switch adds up or multicasts, messages
between GPUs alone also have to come to what `between_parts` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from wirespeed.catalog import gpu
from wirespeed.collectives.bound_copies import copy_limit
from wirespeed.collectives.bound_demand import ROOTED, between_parts, leaving
from wirespeed.collectives.bound_graph import (
    Cables,
    cables_of,
    is_limited,
    unit_arcs,
    whole_arcs,
)
from wirespeed.collectives.bound_names import cut_name, parts_name
from wirespeed.collectives.bound_search import Limit, Searched, cut_limits, search, tightest
from wirespeed.collectives.bound_shifts import shift_limits
from wirespeed.collectives.bound_tiers import Tier, tiers_of
from wirespeed.collectives.library.plan import has_multicast
from wirespeed.collectives.operation import COPIES, Operation
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_EXACT = 16
"""Ranks up to which every way to split them counts."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Least seconds for each byte of the operation, with the network's help and without.

    `cut` and `p2p_cut` name what limits it; empty where nothing does.
    """

    network: float
    p2p: float
    cut: str = ""
    p2p_cut: str = ""

    def with_network(self, size: float) -> float:
        """[s] where switches may reduce and multicast."""
        return self.network * size

    def between_gpus(self, size: float) -> float:
        """[s] where only GPUs send, receive and add."""
        return self.p2p * size


def bounds_of(operation: Operation, cluster: Cluster, group: Group, root: int = 0) -> Bounds:
    """The bounds of an operation on a group; zero where nothing limits it.

    `root` counts in the group, for operations that have one.
    """
    if operation in COPIES:
        one = copy_limit(operation, cluster, group)
        return _bounds(one, one)
    parts = _parts_of(operation, cluster, group, root)
    if operation is Operation.SENDRECV:
        cuts = tightest(shift_limits(cluster, group, parts.searched, parts.unit, parts.tiers))
        return _bounds(cuts, cuts)
    crossing = list(_crossing(operation, cluster, group, parts, root))
    by_messages = list(_by_messages(operation, cluster, parts))
    help_ = switches_help(cluster)
    helped = [limit for limit, needs in by_messages if not any(h in help_ for h in needs)]
    return _bounds(
        tightest([*crossing, *helped]),
        tightest([*crossing, *(limit for limit, _ in by_messages)]),
    )


def switches_help(cluster: Cluster) -> frozenset[str]:
    """Which switches reduce and multicast: those of the `unit` (NVSwitch), of the `fabric`.

    NVSwitches do from the third generation on, the one that Hopper GPUs hang on; InfiniBand
    switches with SHARP. Sources: NVIDIA NVSwitch, Hot Chips 34; R. Graham et al., SHARP, 2016.
    """
    able, machine = cluster.abilities, cluster.machine
    found = set()
    if has_multicast(cluster) and (gpu(machine.gpu).cc or 0) >= 90:
        found.add("unit")
    if able.sharp and machine.network == "infiniband" and not able.socket:
        found.add("fabric")
    return frozenset(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """A group as bounds see it.

    Attributes:
        unit: [units that take part] their number; `ranks` [same] GPUs of the group in each.
        searched: [classes] the least cuts of one unit of each class; `of` [units that take part].
        first: [classes] the unit that was searched.
        whole: least cuts of everything at once; None where that is too much.
    """

    unit: Ids
    ranks: Ids
    searched: list[Searched | None]
    of: Ids
    first: list[int]
    whole: Searched | None
    tiers: list[Tier]


def _parts_of(operation: Operation, cluster: Cluster, group: Group, root: int) -> _Parts:
    topology = cluster.topology
    owner = topology.unit_of(group.gpus)
    unit, place, ranks = np.unique(owner, return_inverse=True, return_counts=True)
    cables = cables_of(topology) if len(unit) > 1 else None
    rooted = {int(group.gpus[root]): ROOTED[operation]} if operation in ROOTED else {}
    sets = _classes(cluster, group, unit, place, cables, rooted)
    searched, first = [], []
    for k in np.unique(sets, return_index=True)[1].tolist():
        members = tuple(np.sort(group.gpus[place == k]).tolist())
        mine = {g: side for g, side in rooted.items() if g in members}
        outside = len(group) - len(members)
        searched.append(_of_unit(cluster, int(unit[k]), cables, members, outside, mine))
        first.append(int(unit[k]))
    all_ranks = np.zeros(len(topology.unit_class), np.int64)
    all_ranks[unit] = ranks
    exact = len(unit) > 1 and len(group) <= _EXACT and operation is not Operation.SENDRECV
    return _Parts(
        unit=unit,
        ranks=ranks,
        searched=searched,
        of=sets,
        first=first,
        whole=_whole(cluster, group, unit, rooted) if exact else None,
        tiers=tiers_of(topology, all_ranks) if len(unit) > 1 else [],
    )


def _of_unit(
    cluster: Cluster,
    unit: int,
    cables: Cables | None,
    members: tuple[int, ...],
    outside: int,
    rooted: dict[int, int],
) -> Searched | None:
    """The least cuts of one unit, looked for once as long as nothing touches it or its cables."""
    topology = cluster.topology
    own = slice(*topology.first_component[unit : unit + 2].tolist())
    rates = (cables.out[own].tobytes(), cables.into[own].tobytes()) if cables else ()

    def find() -> Searched | None:
        limited = is_limited(topology, np.array([unit]))
        arcs = unit_arcs(topology, unit, cables, shared=False)
        both = unit_arcs(topology, unit, cables, shared=True) if limited else None
        return search(arcs, both, members, outside, rooted)

    about = ("cuts", rates, members, outside, tuple(rooted.items()))
    return cluster.router.remember(unit, about, find)


def _classes(
    cluster: Cluster,
    group: Group,
    unit: Ids,
    place: Ids,
    cables: Cables | None,
    rooted: dict[int, int],
) -> Ids:
    """[units that take part] from 0: alike in graph, ranks and cables, with the root or without."""
    topology = cluster.topology
    gpus = group.gpus[np.lexsort((group.gpus, place))]
    counts = np.bincount(place)
    begin = np.cumsum(counts) - counts
    kind = np.array([cluster.router.class_of(u) for u in unit.tolist()])
    alike = np.stack([kind, counts], axis=1)
    found = np.full(len(unit), -1, np.int64)
    for key in np.unique(alike, axis=0):
        mine = np.flatnonzero((alike == key).all(axis=1))
        first = topology.first_component[unit[mine]][:, None]
        columns = [gpus[begin[mine][:, None] + np.arange(key[1])] - first]
        if cables is not None:
            shape = topology.units[topology.unit_class[unit[mine[0]]]]
            nics = first + shape.of_kind(ComponentKind.NIC)
            columns += [cables.out[nics].view(np.int64), cables.into[nics].view(np.int64)]
        columns += [np.asarray(root == columns[0] + first, np.int64) for root in rooted]
        table = np.ascontiguousarray(np.concatenate(columns, axis=1))
        rows = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).reshape(-1)
        found[mine] = found.max() + 1 + np.unique(rows, return_inverse=True)[1].reshape(-1)
    return np.asarray(found)


def _whole(cluster: Cluster, group: Group, unit: Ids, rooted: dict[int, int]) -> Searched | None:
    topology = cluster.topology
    arcs = whole_arcs(topology, unit, shared=False)
    if arcs is None:
        return None
    limited = is_limited(topology, unit)
    shared = whole_arcs(topology, unit, shared=True) if limited else None
    return search(arcs, shared, tuple(np.sort(group.gpus).tolist()), 0, rooted)


def _crossing(
    operation: Operation, cluster: Cluster, group: Group, parts: _Parts, root: int
) -> Iterator[Limit]:
    """Limits by cuts."""
    ranks = len(group)
    name = partial(cut_name, cluster, group, tiers=parts.tiers)
    root_unit = int(cluster.topology.unit_of(group.gpus[root]))
    for searched, unit in zip(parts.searched, parts.first, strict=True):
        if searched is None:
            continue
        sides: tuple[int, ...] = (0, 1)
        if operation in ROOTED and unit != root_unit:
            sides = (ROOTED[operation],)

        def named(senders: frozenset[int], side: int, searched: Searched = searched) -> str:
            own = senders if side != 1 else frozenset(searched.members) - senders
            return name(own)

        yield from cut_limits(operation, searched, ranks, sides, named)
    for tier in parts.tiers:
        yield from _tier_limits(operation, tier, parts, ranks, root_unit, cluster, group)
    if parts.whole is not None:
        # Last: of equal cuts those found above have the plainer names.
        yield from cut_limits(operation, parts.whole, ranks, (), lambda senders, _: name(senders))


def _tier_limits(
    operation: Operation,
    tier: Tier,
    parts: _Parts,
    ranks: int,
    root_unit: int,
    cluster: Cluster,
    group: Group,
) -> Iterator[Limit]:
    counts = np.bincount(tier.group[parts.unit], parts.ranks, minlength=len(tier.out))
    holds_root = np.arange(len(counts)) == tier.group[root_unit]
    of_rank = tier.group[cluster.topology.unit_of(group.gpus)]
    for capacity, senders, sends in (
        (tier.out, counts, True),
        (tier.into, ranks - counts, False),
    ):
        amount = leaving(operation, senders.astype(np.float64), ranks)
        if operation in ROOTED:
            amount = np.where(holds_root == (sends == (ROOTED[operation] == 1)), amount, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            seconds = np.where(amount > 0, amount / capacity, 0.0)
        worst = int(seconds.argmax())
        side = group.gpus[of_rank == worst]
        yield Limit(
            float(seconds[worst]),
            int(min(counts[worst], ranks - counts[worst])),
            partial(cut_name, cluster, group, side.tolist(), parts.tiers),
        )
    half = tier.half[of_rank] == 1
    first = float(half.sum())
    if operation not in ROOTED and 0 < first < ranks and np.isfinite(tier.across):
        amounts = leaving(operation, np.array([first, ranks - first]), ranks)
        seconds_ = float(amounts.max()) / tier.across if tier.across > 0 else float("inf")
        side = group.gpus[half]
        yield Limit(
            seconds_,
            int(min(first, ranks - first)),
            partial(cut_name, cluster, group, side.tolist(), parts.tiers),
        )


def _by_messages(
    operation: Operation, cluster: Cluster, parts: _Parts
) -> Iterator[tuple[Limit, tuple[str, ...]]]:
    """Limits on messages between GPUs alone, and the switches whose help would lift them."""
    several = len(parts.unit) > 1
    count = np.bincount(parts.of, minlength=len(parts.searched))
    known = [s for s in parts.searched if s is not None]
    if len(known) < len(parts.searched) or not between_parts(operation, 2):
        return
    whole = parts.whole
    singles = [(whole, 1)] if whole else list(zip(known, count.tolist(), strict=True))
    out = sum(float(s.out.sum()) * n for s, n in singles)
    into = sum(float(s.into.sum()) * n for s, n in singles)
    both = sum(float((s.out + s.into if s.both is None else s.both).sum()) * n for s, n in singles)
    ranks = int(parts.ranks.sum())
    needs = ("unit", "fabric") if several else ("unit",)
    yield _messages(operation, "gpu", ranks, out, into, both), needs
    if not several:
        return
    totals = np.array([s.whole for s in known]) * count[:, None]
    multi = max(unit.nodes for unit in cluster.topology.units) > 1
    word = "NVLink domain" if multi else "node"
    sums = [float(column) for column in totals.sum(axis=0)]
    yield _messages(operation, word, len(parts.unit), *sums), ("fabric",)
    for tier in parts.tiers:
        taken = np.unique(tier.group[parts.unit])
        if len(taken) > 1:
            out, into = float(tier.out[taken].sum()), float(tier.into[taken].sum())
            yield _messages(operation, tier.word, len(taken), out, into, out + into), ("fabric",)


def _messages(
    operation: Operation, word: str, parts: int, out: float, into: float, both: float
) -> Limit:
    total = between_parts(operation, parts)
    capacity = min(out, into, both / 2)
    seconds = total / capacity if capacity > 0 else float("inf")
    return Limit(seconds, 0, partial(parts_name, word, parts))


def _bounds(network: Limit, p2p: Limit) -> Bounds:
    return Bounds(network.seconds, p2p.seconds, network.name(), p2p.name())
