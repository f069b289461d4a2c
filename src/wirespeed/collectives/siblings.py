"""Siblings: groups that run the same operation at once, and what they put on resources.

Eight data-parallel rings beside tensor parallelism over eight GPUs use the same NICs and leaves.
They start together and carry the same, so that the busiest resource with the loads of all decides:
see `network.bottleneck_time`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.laid import Loads, add_loads, term_loads
from wirespeed.collectives.peers import domain_of
from wirespeed.collectives.schedule import Phase, Schedule, Spokes, Transfers
from wirespeed.errors import UsageError
from wirespeed.topology.address import name_of
from wirespeed.topology.cluster import Cluster, Group, everyone

Ids = npt.NDArray[np.int64]


def groups_alike(cluster: Cluster, group: Group) -> tuple[Group, ...]:
    """The other GPUs, grouped as this group is: copies of it, shifted, none of which overlap.

    From the first GPU that is free on, each copy begins at the next one where a copy fits; GPUs
    that no copy reaches stay idle. Every eighth GPU gives the seven shifts of it, the first four of
    every node give the last four.
    """
    ranks = everyone(cluster).gpus
    place = np.full(cluster.topology.components, -1, np.int64)
    place[ranks] = np.arange(len(ranks))
    own = place[group.gpus]
    shape = own - own.min()
    free = np.ones(len(ranks), bool)
    free[own] = False
    found = []
    for first in range(len(ranks) - int(shape.max())):
        if free[first] and free[first + shape].all():
            free[first + shape] = False
            found.append(Group(ranks[first + shape]))
    return tuple(found)


def check_apart(cluster: Cluster, groups: Sequence[Group]) -> None:
    """UsageError where a GPU is in two of the groups."""
    every = np.concatenate([group.gpus for group in groups])
    gpus, count = np.unique(every, return_counts=True)
    if (count > 1).any():
        raise UsageError(
            f"{name_of(cluster.topology, int(gpus[count > 1][0]))} is in two groups",
            where="siblings",
            why="groups that run at once have no GPU in common",
            remedy="name each GPU once, or give siblings=True for all groups alike",
        )


def by_place(cluster: Cluster, groups: Sequence[Group]) -> list[list[Group]]:
    """Groups whose ranks have the same places in units of the same kind together: one schedule."""
    alike: dict[tuple[bytes, ...], list[Group]] = {}
    topology, router = cluster.topology, cluster.router
    for group in groups:
        unit = topology.unit_of(group.gpus)
        names, first, number = np.unique(unit, return_index=True, return_inverse=True)
        kinds = np.array([router.class_of(int(name)) for name in names], np.int64)
        key = (
            (group.gpus - topology.first_component[unit]).tobytes(),
            kinds[number].tobytes(),
            first[number].tobytes(),
        )
        alike.setdefault(key, []).append(group)
    return list(alike.values())


def sibling_loads(
    cluster: Cluster,
    alike: Sequence[Sequence[Group]],
    schedule_of: Callable[[Group], Schedule | None],
) -> Loads:
    """What groups put on resources, by kind of traffic; `alike` as `by_place` gives them."""
    loads: Loads = {}
    for groups in alike:
        schedule = schedule_of(groups[0])
        if schedule is None:
            continue
        for joined, members, ranks in _joined(cluster, schedule, groups):
            add_loads(loads, term_loads(joined, Carrier(cluster, members, ranks)), 1)
    return loads


def _joined(
    cluster: Cluster, schedule: Schedule, groups: Sequence[Group]
) -> Iterator[tuple[Schedule, Group, int]]:
    """The schedules of groups alike as one on all their GPUs, where no NIC is left open.

    By which NIC an open message goes hangs on who is in its own group.
    """
    ranks = len(groups[0])
    if len(groups) == 1 or _leaves_doors_open(cluster, schedule, groups[0]):
        yield from ((schedule, group, ranks) for group in groups)
        return
    every = np.array([group.gpus for group in groups])
    begin = cluster.topology.first_component[cluster.topology.unit_of(every)].astype(np.int64)
    phases = tuple(_spread(phase, begin) for phase in schedule.phases)
    yield replace(schedule, phases=phases), Group(every.ravel()), ranks


def _leaves_doors_open(cluster: Cluster, schedule: Schedule, group: Group) -> bool:
    domain = domain_of(cluster, group.gpus)
    wiring = cluster.topology.wiring
    for phase in schedule.phases:
        if phase.block is not None:
            return True
        sent = phase.transfers
        far = domain[sent.source] != domain[sent.target]
        out, into = sent.nic_out[far], sent.nic_in[far]
        if (out < 0).any() or (into < 0).any():
            return True
        if wiring is not None and len(out):
            apart = ~wiring.reachable(out.astype(np.int32), into.astype(np.int32))
            if apart.any():
                return True
    return False


def _spread(phase: Phase, begin: Ids) -> Phase:
    """A phase of the first group as one of all; `begin` [groups, ranks] is where units begin."""
    return replace(
        phase,
        transfers=_all_transfers(phase.transfers, begin),
        spokes=None if phase.spokes is None else _all_spokes(phase.spokes, begin),
        waits=None,
    )


def _all_transfers(one: Transfers, begin: Ids) -> Transfers:
    groups, ranks = begin.shape
    first = ranks * np.arange(groups)[:, None]
    shift = begin - begin[0]
    return Transfers(
        source=(one.source + first).ravel(),
        target=(one.target + first).ravel(),
        share=np.tile(one.share, groups),
        nic_out=np.where(one.nic_out >= 0, one.nic_out + shift[:, one.source], -1).ravel(),
        nic_in=np.where(one.nic_in >= 0, one.nic_in + shift[:, one.target], -1).ravel(),
    )


def _all_spokes(one: Spokes, begin: Ids) -> Spokes:
    groups, ranks = begin.shape
    first, shift = ranks * np.arange(groups)[:, None], begin - begin[0]
    return Spokes(
        rank=(one.rank + first).ravel(),
        nic=np.where(one.nic >= 0, one.nic + shift[:, one.rank], -1).ravel(),
        out=np.tile(one.out, groups),
        into=np.tile(one.into, groups),
    )
