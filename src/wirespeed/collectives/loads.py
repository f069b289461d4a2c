"""Loads: what one call puts on every resource: bytes, time, and how full it runs meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.candidates import options_of, schedule_named, taken
from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.copies import copy_paths
from wirespeed.collectives.costs import cost_class, costs_of
from wirespeed.collectives.laid import overhead, term_loads
from wirespeed.collectives.library.effective import as_set
from wirespeed.collectives.operation import COPIES, Collective
from wirespeed.collectives.protocol import Protocol
from wirespeed.collectives.result import LoadReport, LoadRow
from wirespeed.topology.address import resource_name
from wirespeed.topology.alike import mixed
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.model import Topology
from wirespeed.units import GB, US

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]

_DIGITS = 9
"""Significant digits in which loads are alike."""


@dataclass(frozen=True, slots=True, eq=False)
class Loads:
    """One call on its resources.

    Attributes:
        candidate: the way that the library takes.
        size: [B] of the call; `time` [s] that it takes.
        payload: [resources] bytes on each.
        busy: [resources] seconds of work; inf where bytes meet a resource that is down.
    """

    candidate: Candidate
    size: float
    time: float
    payload: Floats
    busy: Floats

    def share(self, topology: Topology) -> Floats:
        """[resources] payload in the time of the call as a share of what the wire could move."""
        could = topology.capacity * self.time
        share = np.zeros(len(could))
        np.divide(self.payload, could, out=share, where=(self.payload > 0) & (could > 0))
        return share

    def share_by_address(self, topology: Topology) -> dict[str, float]:
        """The share of every loaded link and component by its address, for drawings."""
        share = self.share(topology)
        return {resource_name(topology, r): float(share[r]) for r in np.flatnonzero(share).tolist()}


def loads_of(
    collective: Collective,
    cluster: Cluster,
    group: Group,
    size: float,
    siblings: Sequence[Group] = (),
) -> Loads:
    """The loads of a call of so many bytes, done as the library would do it.

    Those of siblings, which do the same at the same time, are among them. Raises Infeasible where
    GPUs have no way to each other.
    """
    return loads_over(collective, cluster, group, [size], siblings)[0]


def loads_over(
    collective: Collective,
    cluster: Cluster,
    group: Group,
    sizes: Sequence[float],
    siblings: Sequence[Group] = (),
) -> list[Loads]:
    """`loads_of` for each size; what the library takes for several is worked out once."""
    cluster = as_set(cluster)
    found: list[Loads] = []
    carried: dict[tuple[str, str], tuple[Floats, Floats]] = {}
    for size, candidate in zip(
        sizes, _taken(collective, cluster, group, sizes, siblings), strict=True
    ):
        way = (candidate.algorithm, candidate.protocol)
        if way not in carried:
            carried[way] = _per_byte(collective, cluster, group, candidate)
            for sibling in siblings:
                more = _per_byte(collective, cluster, sibling, candidate)
                carried[way] = (carried[way][0] + more[0], carried[way][1] + more[1])
        payload, wire = carried[way]
        with np.errstate(divide="ignore", invalid="ignore"):
            busy = np.where(wire > 0, wire * size / cluster.topology.capacity, 0.0)
        time = float(candidate.time(np.array([size], np.float64))[0])
        found.append(Loads(candidate, size, time, payload * size, busy))
    return found


def _taken(
    collective: Collective,
    cluster: Cluster,
    group: Group,
    sizes: Sequence[float],
    siblings: Sequence[Group],
) -> list[Candidate]:
    """What the library takes for each size."""
    if len(sizes) == 1 and not siblings:
        return [taken(collective, cluster, group, sizes[0])]
    options = options_of(collective, cluster, group, siblings)
    choice = options.choice(np.array(sizes, np.float64))
    return [options.candidates[int(k)] for k in choice]


def load_report(
    collective: Collective,
    cluster: Cluster,
    group: Group,
    size: float,
    *,
    siblings: Sequence[Group] = (),
    top: int | None = None,
) -> LoadReport:
    """The loads of a call as rows, resources that are loaded alike in one; the first `top`."""
    loads = loads_of(collective, cluster, group, size, siblings)
    rows = sorted(_rows(loads, cluster.topology), key=lambda row: -row.busy_us)
    return LoadReport(
        nodes=len(np.unique(cluster.topology.node[group.gpus])),
        operation=collective.operation.value,
        size_bytes=int(size),
        time_us=loads.time / US,
        algorithm=loads.candidate.algorithm,
        protocol=loads.candidate.protocol,
        rows=tuple(rows[:top]),
    )


def _per_byte(
    collective: Collective, cluster: Cluster, group: Group, candidate: Candidate
) -> tuple[Floats, Floats]:
    """[resources] bytes of payload, and of wire time, for each byte of the call."""
    resources = cluster.topology.resources
    payload, wire = np.zeros(resources), np.zeros(resources)
    if collective.operation in COPIES:
        _, paths = copy_paths(collective, cluster, group)
        payload += np.bincount(paths.resource, paths.share, minlength=resources)
        worst = candidate.bottleneck
        # One overhead for the whole way: that of its slowest part.
        factor = candidate.per_byte * cluster.topology.capacity[worst] / payload[worst]
        return payload, payload * factor
    costs = costs_of(cost_class(cluster, collective.launch), cluster.parameters)
    factor = overhead(candidate.algorithm, costs, Protocol(candidate.protocol))
    schedule = schedule_named(candidate.algorithm, collective, cluster, group)
    for term, load in term_loads(schedule, Carrier(cluster, group)).items():
        payload += load
        wire += load * factor[term]
    return payload, wire


def _rows(loads: Loads, topology: Topology) -> Iterator[LoadRow]:
    share = loads.share(topology)
    used = np.flatnonzero((loads.payload > 0) & np.isfinite(topology.capacity))
    if not len(used):
        return
    is_link = used < topology.links
    link = np.where(is_link, used, 0)
    part = np.where(is_link, 0, used - topology.links)
    ends = [
        np.where(is_link, topology.kind[topology.source[link]], topology.kind[part]),
        np.where(is_link, topology.kind[topology.target[link]], -1),
        np.where(is_link, topology.link_kind[link], -1),
    ]
    amounts = [loads.payload[used], loads.busy[used], topology.capacity[used]]
    key = mixed(*ends, *map(_rounded, amounts))
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    for k, alike in zip(first.tolist(), count.tolist(), strict=True):
        resource = int(used[k])
        yield LoadRow(
            name=resource_name(topology, resource),
            count=alike,
            kind=_kind(topology, resource),
            bytes=float(loads.payload[resource]),
            share=float(share[resource]),
            busy_us=float(loads.busy[resource]) / US,
            bandwidth_GBps=float(topology.capacity[resource]) / GB,
        )


def _kind(topology: Topology, resource: int) -> str:
    if resource < topology.links:
        return LinkKind(topology.link_kind[resource]).word
    return ComponentKind(topology.kind[resource - topology.links]).word


def _rounded(values: Floats) -> Floats:
    """Values to as many digits as mean anything."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.abs(values))))
        rounded = np.round(values * scale) / scale
    return np.where(np.isfinite(rounded), rounded, values)
