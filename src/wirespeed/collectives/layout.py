"""Layout: how a group lies on its machine: domains, the order inside each, the NICs it leaves by.

A *domain* is a set of GPUs that reach each other without the network. A *door* is a rank with a
compute NIC next to it. Algorithms build on these; equal domains are worked out once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.domains import domains_of
from wirespeed.collectives.local_order import local_orders, local_walks
from wirespeed.topology.cluster import Cluster, Group

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What equal domains share; positions count the domain's ranks from 0.

    Attributes:
        orders: rings over all positions, each with the lanes that it may fill.
        doors: (position, NIC as its distance from the unit's first component) by node and rail;
            where rails are networks of their own, only those that all domains have.
        node: [positions] the node of each, counted in the unit.
        nearest: [positions] the NIC that is each one's own, as in `doors`; -1 for none.
        walks: on a mesh of direct links, a walk for each door that shares no lane with the others:
            positions, NIC to enter by, NIC to leave by. Empty where there is no such set.
        beside: the positions next to each NIC of `doors`.
    """

    orders: tuple[tuple[Ids, float], ...]
    doors: tuple[tuple[int, int], ...]
    node: tuple[int, ...]
    nearest: tuple[int, ...]
    walks: tuple[tuple[Ids, int, int], ...] = ()
    beside: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The domains of a group, in order of their first rank.

    Attributes:
        ranks: of each domain, in the order of its GPUs; see `Domains`.
        shape: [domains] into `shapes`.
        begin: [domains] first component of the domain's unit.
    """

    ranks: tuple[Ids, ...]
    shape: Ids
    shapes: tuple[Shape, ...]
    begin: Ids

    def __len__(self) -> int:
        return len(self.ranks)

    def shape_of(self, domain: int) -> Shape:
        """The shape of a domain."""
        return self.shapes[int(self.shape[domain])]

    @property
    def sizes(self) -> Ids:
        """[domains] ranks of each."""
        return np.array([len(shape.node) for shape in self.shapes], np.int64)[self.shape]

    @property
    def doors(self) -> int:
        """Channels that every domain can serve: its doors, the least over the domains."""
        return min(len(shape.doors) for shape in self.shapes)


def layout_of(cluster: Cluster, group: Group) -> Layout:
    """The layout of a group of two ranks or more."""
    domains = domains_of(cluster, group)
    begin = cluster.topology.first_component[domains.unit].astype(np.int64)
    parts = []
    for d in domains.example:
        gpus = group.gpus[domains.ranks[d]]
        parts.append(_Part(gpus, int(begin[d]), _nics_by_position(cluster, gpus)))
    if len(parts) > 1 and _rails_apart(cluster):
        parts = _on_common_rails(cluster, parts)
    shapes = tuple(_shape(cluster, part) for part in parts)
    return Layout(domains.ranks, domains.kind, shapes, begin)


class _Part(NamedTuple):
    """GPUs of a domain, its unit's first component, and the positions next to each of its NICs."""

    gpus: Ids
    begin: int
    nics: dict[int, list[int]]


def _shape(cluster: Cluster, part: _Part) -> Shape:
    gpus, begin = part.gpus, part.begin
    nearest = []
    for gpu in gpus.tolist():
        near = cluster.router.nearest_nics(gpu)
        turn = int(cluster.topology.index[gpu])
        nearest.append(near[turn % len(near)] - begin if near else -1)
    used: dict[int, int] = {}
    doors, exits = _doors(part, used), _doors(part, used)
    first = int(cluster.topology.node[gpus].min())
    return Shape(
        orders=tuple(local_orders(cluster, gpus)),
        doors=doors,
        node=tuple((cluster.topology.node[gpus] - first).tolist()),
        nearest=tuple(nearest),
        walks=tuple(local_walks(cluster, gpus, doors, exits)),
        beside={nic - begin: tuple(positions) for nic, positions in part.nics.items()},
    )


def _nics_by_position(cluster: Cluster, gpus: Ids) -> dict[int, list[int]]:
    """Positions next to each NIC; a GPU whose own NIC is down leaves the others theirs."""
    topology, router = cluster.topology, cluster.router
    taken: dict[int, list[tuple[int, int]]] = {}
    for position, gpu in enumerate(gpus.tolist()):
        for nic in router.nearest_nics(gpu):
            taken.setdefault(nic, []).append((int(router.path_type(nic, gpu)), position))
    order = sorted(taken, key=lambda n: (int(topology.node[n]), int(topology.rail[n])))
    nearest = {nic: min(taken[nic])[0] for nic in order}
    return {nic: [p for way, p in taken[nic] if way == nearest[nic]] for nic in order}


def _rails_apart(cluster: Cluster) -> bool:
    """Whether NICs of different rails cannot reach each other over the fabric."""
    topology = cluster.topology
    nics = np.flatnonzero(cluster.router.usable_nics() & (topology.rail >= 0))
    if topology.wiring is None or not len(nics):
        return False
    other = nics[topology.rail[nics] != topology.rail[nics[0]]][-1:].astype(np.int32)
    first = nics[:1].astype(np.int32)
    return len(other) > 0 and not bool(topology.wiring.reachable(first, other)[0])


def _on_common_rails(cluster: Cluster, parts: list[_Part]) -> list[_Part]:
    """The same with NICs on rails that all domains have, channel by channel on one rail.

    Unchanged where there is none: then messages change rails inside the nodes.
    """
    rail = cluster.topology.rail
    by_rail: list[dict[int, list[int]]] = []
    for part in parts:
        groups: dict[int, list[int]] = {}
        for nic in part.nics:
            groups.setdefault(int(rail[nic]), []).append(nic)
        by_rail.append(groups)
    common = set(by_rail[0]).intersection(*by_rail[1:])
    if not common:
        return parts
    count = {r: min(len(groups[r]) for groups in by_rail) for r in common}
    slots = sorted((turn, r) for r in common for turn in range(count[r]))
    return [
        part._replace(nics={groups[r][turn]: part.nics[groups[r][turn]] for turn, r in slots})
        for part, groups in zip(parts, by_rail, strict=True)
    ]


def _doors(part: _Part, used: dict[int, int]) -> tuple[tuple[int, int], ...]:
    """One door for each compute NIC that is nearest to a GPU.

    GPUs that share their NICs take turns, so that as many GPUs as possible have one; `used` counts
    the turns of each position and is carried on.
    """
    doors: list[tuple[int, int]] = []
    for nic, positions in part.nics.items():
        position = min(positions, key=lambda r: (used.get(r, 0), r))
        used[position] = used.get(position, 0) + 1
        doors.append((position, nic - part.begin))
    return tuple(doors)
