"""Layout: how a group lies on its machine: domains, the order inside each, the NICs it leaves by.

A *domain* is a set of GPUs that reach each other without the network. A *door* is a rank with a
compute NIC next to it. Algorithms build on these; equal domains are worked out once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.domains import domains_of
from wirespeed.collectives.local_order import local_orders, local_walks
from wirespeed.topology.cluster import Cluster, Group

Ids = npt.NDArray[np.int64]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What equal domains share; positions count the domain's ranks from 0.

    Attributes:
        orders: rings over all positions, each with the lanes that it may fill.
        doors: (position, NIC as its distance from the unit's first component) by node and rail,
            those first that all domains have: door k is on the same rail in all of them.
        node: [positions] the node of each, counted in the unit.
        nearest: [positions] the NIC that is each one's own, as in `doors`; -1 for none.
        walks: on a mesh of direct links, a walk for each door that shares no lane with the others:
            positions, NIC to enter by, NIC to leave by. Empty where there is no such set.
        places: (node counted in the domain, rail) of each door.
    """

    orders: tuple[tuple[Ids, float], ...]
    doors: tuple[tuple[int, int], ...]
    node: tuple[int, ...]
    nearest: tuple[int, ...]
    walks: tuple[tuple[Ids, int, int], ...] = ()
    places: tuple[tuple[int, int], ...] = ()

    def reordered(self, order: Sequence[int]) -> Shape:
        """The same with its doors, and what belongs to each, in another order."""

        def taken(column: tuple[T, ...]) -> tuple[T, ...]:
            return tuple(column[k] for k in order) if column else ()

        doors, places, walks = taken(self.doors), taken(self.places), taken(self.walks)
        return replace(self, doors=doors, places=places, walks=walks)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The domains of a group, in order of their first rank.

    Attributes:
        ranks: of each domain, in rank order.
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
    def doors(self) -> int:
        """Channels that every domain can serve: its doors, the least over the domains."""
        return min(len(shape.doors) for shape in self.shapes)


def layout_of(cluster: Cluster, group: Group) -> Layout:
    """The layout of a group of two ranks or more."""
    domains = domains_of(cluster, group)
    begin = cluster.topology.first_component[domains.unit].astype(np.int64)
    shapes = [_shape(cluster, group.gpus[domains.ranks[d]], int(begin[d])) for d in domains.example]
    return Layout(domains.ranks, domains.kind, tuple(_matched(shapes)), begin)


def _matched(shapes: list[Shape]) -> list[Shape]:
    """The shapes with the doors that all have first: a node without its first NIC keeps rails."""
    places = [shape.places for shape in shapes]
    if all(place == places[0] for place in places):
        return shapes
    common = set(places[0]).intersection(*places[1:])
    return [
        shape.reordered(sorted(range(len(place)), key=lambda k: place[k] not in common))
        for shape, place in zip(shapes, places, strict=True)
    ]


def _shape(cluster: Cluster, gpus: Ids, begin: int) -> Shape:
    nearest = []
    for gpu in gpus.tolist():
        near = cluster.router.nearest_nics(gpu)
        turn = int(cluster.topology.index[gpu])
        nearest.append(near[turn % len(near)] - begin if near else -1)
    used: dict[int, int] = {}
    doors = _doors(cluster, gpus, begin, used)
    exits = _doors(cluster, gpus, begin, used)
    topology = cluster.topology
    first = int(topology.node[gpus].min())
    nics = [begin + nic for _, nic in doors]
    return Shape(
        orders=tuple(local_orders(cluster, gpus)),
        doors=doors,
        node=tuple((topology.node[gpus] - first).tolist()),
        nearest=tuple(nearest),
        walks=tuple(local_walks(cluster, gpus, doors, exits)),
        places=tuple((int(topology.node[n]) - first, int(topology.rail[n])) for n in nics),
    )


def _doors(
    cluster: Cluster, gpus: Ids, begin: int, used: dict[int, int]
) -> tuple[tuple[int, int], ...]:
    """One door for each compute NIC that is nearest to a GPU.

    GPUs that share their NICs take turns, so that as many GPUs as possible have one; `used` counts
    the turns of each position and is carried on.
    """
    taken: dict[int, list[int]] = {}
    for position, gpu in enumerate(gpus.tolist()):
        for nic in cluster.router.nearest_nics(gpu):
            taken.setdefault(nic, []).append(position)
    topology = cluster.topology
    doors: list[tuple[int, int]] = []
    for nic in sorted(taken, key=lambda n: (int(topology.node[n]), int(topology.rail[n]))):
        position = min(taken[nic], key=lambda r: (used.get(r, 0), r))
        used[position] = used.get(position, 0) + 1
        doors.append((position, nic - begin))
    return tuple(doors)
