"""Options: the ways that the library has to do an operation, each with its time over size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.algorithms.direct import alltoall_schedule, sendrecv_schedule
from wirespeed.collectives.algorithms.nvls import (
    collnet_schedule,
    nvls_schedule,
    nvls_tree_schedule,
)
from wirespeed.collectives.algorithms.ring import ring_schedule
from wirespeed.collectives.algorithms.tree import tree_schedule
from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.copies import copy_candidate
from wirespeed.collectives.costs import cost_class, costs_of
from wirespeed.collectives.laid import Laid, lay, price
from wirespeed.collectives.layout import Layout, layout_of
from wirespeed.collectives.library.effective import as_set
from wirespeed.collectives.library.environment import parse_settings
from wirespeed.collectives.library.names import CHOSEN, Algorithm
from wirespeed.collectives.library.p2p_channels import P2pChannels, p2p_channels
from wirespeed.collectives.library.plan import Plan, make_plan
from wirespeed.collectives.library.unheeded import unheeded
from wirespeed.collectives.operation import COPIES, Collective, Operation
from wirespeed.collectives.protocol import Protocol
from wirespeed.collectives.rings import find_rings
from wirespeed.collectives.schedule import Schedule
from wirespeed.collectives.siblings import by_place, sibling_loads
from wirespeed.errors import Infeasible
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.software import Notice

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


_DIRECT = (Protocol.LL, Protocol.SIMPLE)
_LL_MESSAGE = 16 * 2**10
"""[B] up to which a message that goes straight is sent with LL. Source: NCCL_P2P_LL_THRESHOLD."""


@dataclass(frozen=True, slots=True, eq=False)
class Options:
    """The ways to do an operation, and how the library weighs them.

    `laid` is what each candidate was priced from; copies have none. `plan` is None where there is
    nothing to choose; `planned` gives the columns of the plan that the candidates are. `message` is
    the share of the bytes in one message where messages go straight, by which their protocol goes.
    `notices` say which settings were not understood, and what stands in for what cannot be done.
    """

    candidates: tuple[Candidate, ...]
    laid: tuple[Laid, ...] = ()
    plan: Plan | None = None
    planned: tuple[int, ...] = ()
    message: float = 0.0
    notices: tuple[Notice, ...] = ()

    def expected(self, sizes: Floats) -> Floats:
        """[candidates, sizes] what the library expects each to take [s]."""
        if self.plan is None:
            return np.array([c.time(sizes) for c in self.candidates])
        times: Floats = self.plan.times(sizes)[list(self.planned)]
        return times

    def choice(self, sizes: Floats) -> Ids:
        """[sizes] the candidate that the library takes."""
        if self.plan is None:
            return (self.message * sizes > _LL_MESSAGE).astype(np.int64)
        place = np.full(len(self.plan.options), -1, np.int64)
        place[list(self.planned)] = np.arange(len(self.planned))
        chosen = place[self.plan.choice(sizes)]
        # What it would take but is not modelled gives way to the next best.
        return np.where(chosen >= 0, chosen, self.expected(sizes).argmin(axis=0))


def options_of(
    collective: Collective, cluster: Cluster, group: Group, siblings: Sequence[Group] = ()
) -> Options:
    """All ways to do the operation on this group; at least one.

    `siblings` do the same at the same time. The library does not know of them: it chooses as if the
    group were alone.
    """
    operation = collective.operation
    check_enough(operation, group)
    cluster = as_set(cluster)
    if operation in COPIES:
        return Options((copy_candidate(collective, cluster, group),))
    costs = costs_of(cost_class(cluster, collective.launch), cluster.parameters)
    on = Carrier(cluster, group)
    alike = by_place(cluster, siblings)
    if operation not in CHOSEN:
        beside = sibling_loads(cluster, alike, lambda g: _direct(operation, len(g)))
        channels = p2p_channels(cluster, group)
        direct = lay(_direct(operation, len(group)), on, beside, channels)
        ways = tuple(price(direct, costs, protocol) for protocol in _DIRECT)
        share = 1 / len(group) if operation is Operation.ALLTOALL else 1.0
        settings, notices = parse_settings(cluster.software)
        notices += unheeded(cluster, group, operation, settings)
        return Options(ways, (direct,) * len(ways), message=share, notices=notices)
    plan = make_plan(collective, cluster, group)
    laid = laid_schedules(collective, on, plan.channels_of(), alike)
    found, bases, planned = [], [], []
    for k, option in enumerate(plan.options):
        if option.algorithm in laid:
            candidate = price(laid[option.algorithm], costs, option.protocol)
            found.append(replace(candidate, channels=option.channels))
            bases.append(laid[option.algorithm])
            planned.append(k)
    notices = plan.notices + unheeded(cluster, group, operation, plan.situation.settings)
    return Options(tuple(found), tuple(bases), plan, tuple(planned), notices=notices)


def check_enough(operation: Operation, group: Group) -> None:
    """Infeasible where a group has too few GPUs for an operation: copies with the host take one."""
    least = 1 if operation in (Operation.H2D, Operation.D2H) else 2
    if len(group) < least:
        raise Infeasible(
            f"{operation} on {len(group)} GPU{'' if len(group) == 1 else 's'}",
            why=f"it takes {least} or more, and of this machine {len(group)} take part",
            remedy="add nodes with --nodes, name more --ranks or a machine with more GPUs",
        )


def taken(collective: Collective, cluster: Cluster, group: Group, size: float) -> Candidate:
    """What the library takes for one size [B], without laying out the other ways."""
    check_enough(collective.operation, group)
    sizes = np.array([size], np.float64)
    cluster = as_set(cluster)
    if collective.operation in CHOSEN:
        plan = make_plan(collective, cluster, group)
        option = plan.options[int(plan.choice(sizes)[0])]
        channels = {option.algorithm: option.channels}
        laid = laid_schedules(collective, Carrier(cluster, group), channels)
        if laid:
            costs = costs_of(cost_class(cluster, collective.launch), cluster.parameters)
            candidate = price(laid[option.algorithm], costs, option.protocol)
            return replace(candidate, channels=option.channels)
    options = options_of(collective, cluster, group)
    return options.candidates[int(options.choice(sizes)[0])]


def time_of(collective: Collective, cluster: Cluster, group: Group, size: float) -> float:
    """The time [s] of one size [B], for which only what the library takes is laid out."""
    candidate = taken(collective, cluster, group, size)
    return float(candidate.time(np.array([size], np.float64))[0])


def schedule_named(
    algorithm: str, collective: Collective, cluster: Cluster, group: Group
) -> Schedule:
    """The schedule that a candidate of this algorithm stands for; copies have none."""
    if collective.operation not in CHOSEN:
        return _direct(collective.operation, len(group))
    able = as_set(cluster)
    cross_nic = able.abilities.cross_nic
    schedule = _schedule(Algorithm(algorithm), collective, layout_of(able, group), cross_nic)
    assert schedule is not None
    return schedule


def laid_schedules(
    collective: Collective,
    on: Carrier,
    algorithms: Mapping[Algorithm, int],
    alike: Sequence[Sequence[Group]] = (),
) -> dict[Algorithm, Laid]:
    """Those of the algorithms that are modelled, on the resources of a cluster and group.

    `algorithms` says how many channels each has. `alike` are the groups beside it, those of one
    layout together.
    """
    layout = layout_of(on.cluster, on.group)
    beside = {id(groups[0]): layout_of(on.cluster, groups[0]) for groups in alike}
    cross_nic = on.cluster.abilities.cross_nic
    laid = {}
    for algorithm, channels in sorted(algorithms.items()):

        def schedule_of(group: Group, algorithm: Algorithm = algorithm) -> Schedule | None:
            return _schedule(algorithm, collective, beside[id(group)], cross_nic)

        schedule = _schedule(algorithm, collective, layout, cross_nic)
        if schedule is not None:
            loads = sibling_loads(on.cluster, alike, schedule_of)
            laid[algorithm] = lay(schedule, on, loads, P2pChannels(channels, channels))
    return laid


def _direct(operation: Operation, ranks: int) -> Schedule:
    if operation is Operation.ALLTOALL:
        return alltoall_schedule(ranks)
    return sendrecv_schedule(ranks)


def _schedule(
    algorithm: Algorithm, collective: Collective, layout: Layout, cross_nic: bool
) -> Schedule | None:
    operation = collective.operation
    match algorithm:
        case Algorithm.RING:
            return ring_schedule(
                operation, find_rings(layout, cross_nic=cross_nic), collective.root
            )
        case Algorithm.TREE:
            return tree_schedule(layout)
        case Algorithm.NVLS:
            return nvls_schedule(operation, layout)
        case Algorithm.NVLS_TREE:
            return nvls_tree_schedule(layout)
        case Algorithm.COLLNET_DIRECT | Algorithm.COLLNET_CHAIN:
            return replace(collnet_schedule(layout), algorithm=algorithm.value)
    return None
