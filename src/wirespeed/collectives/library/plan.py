"""make_plan: the options that the library weighs for a group, what it believes, and its choice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from msgspec import structs

from wirespeed.collectives.library.availability import Situation, why_not
from wirespeed.collectives.library.channels import channels_used
from wirespeed.collectives.library.constants import constants_of
from wirespeed.collectives.library.effective import as_set
from wirespeed.collectives.library.environment import LibrarySettings, parse_settings
from wirespeed.collectives.library.graphs import find_graphs, team_of
from wirespeed.collectives.library.names import CHOSEN, Algorithm
from wirespeed.collectives.library.rccl import rccl_tuner
from wirespeed.collectives.library.tuner import Tuner
from wirespeed.collectives.library.tuning import library_time
from wirespeed.collectives.operation import Collective
from wirespeed.collectives.protocol import Protocol
from wirespeed.errors import UsageError
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.software import Abilities, Notice

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

_MULTICAST_SWITCH = 3
"""NVSwitch generation that first multicasts and adds."""


@dataclass(frozen=True, slots=True)
class Option:
    """One way that the library has: an algorithm under a protocol, on so many channels."""

    algorithm: Algorithm
    protocol: Protocol
    channels: int


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What the library would weigh for one operation on one group.

    Attributes:
        options: what it may use, in its own order.
        reasons: why it may not use the others, by (algorithm, protocol).
        situation: what the times are computed from.
        tuner: a plugin that overrides the choice; None for the library's own.
        notices: settings that were not understood, and what stood in for them.
    """

    options: tuple[Option, ...]
    reasons: dict[tuple[Algorithm, Protocol], str]
    situation: Situation
    tuner: Tuner | None
    notices: tuple[Notice, ...]

    def times(self, sizes: npt.ArrayLike) -> Floats:
        """[options, sizes] seconds that the library expects for sizes [B]."""
        amounts, on = np.asarray(sizes, np.float64), self.situation
        rows = [
            library_time(
                option.algorithm,
                option.protocol,
                on.collective.operation,
                amounts,
                on.graphs,
                on.team,
                on.constants,
            )
            for option in self.options
        ]
        return np.array(rows).reshape(len(self.options), len(amounts))

    def choice(self, sizes: npt.ArrayLike) -> Ids:
        """[sizes] index of what is taken: the tuner's, else the fastest, the first of equals."""
        times = self.times(sizes)
        chosen: Ids = times.argmin(axis=0).astype(np.int64)
        if self.tuner is None:
            return chosen
        operation, team = self.situation.collective.operation, self.situation.team
        for k, size in enumerate(np.atleast_1d(np.asarray(sizes, np.float64))):
            pick = self.tuner.pick(operation, float(size), team)
            fitting = [
                number
                for number, option in enumerate(self.options)
                if pick is not None
                and option.protocol is pick.protocol
                and pick.algorithm in (None, option.algorithm)
            ]
            if fitting:
                chosen[k] = fitting[int(times[fitting, k].argmin())]
        return chosen

    def channels(self, sizes: npt.ArrayLike) -> Ids:
        """[options, sizes] channels that each option would run on."""
        amounts, on = np.asarray(sizes, np.float64), self.situation
        rows = [
            channels_used(
                option.algorithm, option.protocol, amounts, on.graphs, on.team, on.settings
            )
            for option in self.options
        ]
        counts = np.array(rows, np.int64).reshape(len(self.options), len(amounts))
        if self.tuner is not None:
            for k, size in enumerate(amounts):
                pick = self.tuner.pick(on.collective.operation, float(size), on.team)
                if pick is not None and pick.channels > 0:
                    counts[:, k] = pick.channels
        return counts

    def channels_of(self) -> dict[Algorithm, int]:
        """The most channels that each algorithm may run on."""
        most: dict[Algorithm, int] = {}
        for option in self.options:
            most[option.algorithm] = max(option.channels, most.get(option.algorithm, 1))
        return most

    def explain(self) -> Iterator[str]:
        """One sentence an option: with how many channels it may run, or why it may not."""
        for option in self.options:
            yield f"{option.algorithm}/{option.protocol}: up to {option.channels} channels"
        for (algorithm, protocol), reason in self.reasons.items():
            yield f"{algorithm}/{protocol}: {reason}"


def make_plan(
    collective: Collective, cluster: Cluster, group: Group, *, tuner: Tuner | None = None
) -> Plan:
    """The plan of an operation on a group of two ranks or more.

    Raises UsageError for operations that the library does not choose for (alltoall, sendrecv,
    copies). Where environment and options leave nothing, the ring stands in, with a notice.
    """
    if collective.operation not in CHOSEN:
        raise UsageError(
            f"there is nothing to choose for {collective.operation}",
            why="it is made of sends and receives, or is a copy",
        )
    cluster = as_set(cluster)
    settings, notices = parse_settings(cluster.software)
    settings = _as_able(settings, cluster.abilities)
    constants = constants_of(cluster.software.version)
    on = Situation(
        collective=collective,
        team=team_of(cluster, group),
        graphs=find_graphs(cluster, group, constants, settings),
        constants=constants,
        settings=settings,
        multicast=has_multicast(cluster),
        reduces=cluster.abilities.sharp and cluster.machine.network == "infiniband",
    )
    options, reasons = _weigh(on)
    if not options:
        options = _fall_back(on)
        notices += (_nothing_left(settings, collective),)
    if tuner is None and on.team.gfx:
        tuner = rccl_tuner(on.team)
    return Plan(options, reasons, on, tuner, notices)


def _as_able(settings: LibrarySettings, abilities: Abilities) -> LibrarySettings:
    """The settings less what the hardware cannot do."""
    cross = settings.cross_nic if abilities.cross_nic else 0
    return structs.replace(settings, cross_nic=cross, pxn=settings.pxn and abilities.pxn)


def has_multicast(cluster: Cluster) -> bool:
    """Whether the NVSwitches can multicast, and no change or driver took that away."""
    if not cluster.abilities.nvls:
        return False
    unit = cluster.machine.unit
    switches = unit.of_kind(ComponentKind.NVSWITCH)
    if not len(switches):
        return False
    models = {unit.models[unit.model[s]] for s in switches if unit.model[s] >= 0}
    numbers = [re.search(r"\d+", model) for model in models]
    return all(int(number[0]) >= _MULTICAST_SWITCH for number in numbers if number)


def _weigh(
    on: Situation,
) -> tuple[tuple[Option, ...], dict[tuple[Algorithm, Protocol], str]]:
    options, reasons = [], {}
    for algorithm in Algorithm:
        for protocol in Protocol:
            reason = why_not(algorithm, protocol, on)
            if reason:
                reasons[algorithm, protocol] = reason
                continue
            most = channels_used(
                algorithm, protocol, np.array([2.0**40]), on.graphs, on.team, on.settings
            )
            options.append(Option(algorithm, protocol, int(most[0])))
    return tuple(options), reasons


def _fall_back(on: Situation) -> tuple[Option, ...]:
    """The ring with the protocols that are allowed, else with all of them."""
    free = structs.replace(on.settings, algorithms={})
    for settings in (free, structs.replace(free, protocols={})):
        options, _ = _weigh(replace(on, settings=settings))
        rings = tuple(option for option in options if option.algorithm is Algorithm.RING)
        if rings:
            return rings
    return ()


def _nothing_left(settings: LibrarySettings, collective: Collective) -> Notice:
    names = sorted(settings.algorithms.get(collective.operation, frozenset()))
    return Notice(
        "algorithm-not-available",
        f"{', '.join(names) or 'what is set'} cannot do {collective.operation} here; "
        "the ring stands in",
        "env",
    )
