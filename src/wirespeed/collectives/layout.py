"""Layout: how a group lies on its machine: domains, the order inside each, the NICs it leaves by.

A *domain* is a set of GPUs that reach each other without the network. A *door* is a rank with a
compute NIC next to it. Algorithms build on these; equal domains are worked out once.
"""

from __future__ import annotations

from dataclasses import dataclass

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
        doors: (position, NIC as its distance from the unit's first component) by node and rail.
        node: [positions] the node of each, counted in the unit.
        nearest: [positions] the NIC that is each one's own, as in `doors`; -1 for none.
        walks: on a mesh of direct links, a walk for each door that shares no lane with the others:
            positions, NIC to enter by, NIC to leave by. Empty where there is no such set.
    """

    orders: tuple[tuple[Ids, float], ...]
    doors: tuple[tuple[int, int], ...]
    node: tuple[int, ...]
    nearest: tuple[int, ...]
    walks: tuple[tuple[Ids, int, int], ...] = ()


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
    shapes = [_shape(cluster, group.gpus[domains.ranks[d]], int(begin[d])) for d in domains.example]
    return Layout(domains.ranks, domains.kind, tuple(shapes), begin)


def _shape(cluster: Cluster, gpus: Ids, begin: int) -> Shape:
    nearest = []
    for gpu in gpus.tolist():
        near = cluster.router.nearest_nics(gpu)
        turn = int(cluster.topology.index[gpu])
        nearest.append(near[turn % len(near)] - begin if near else -1)
    used: dict[int, int] = {}
    doors = _doors(cluster, gpus, begin, used)
    exits = _doors(cluster, gpus, begin, used)
    first = int(cluster.topology.node[gpus].min())
    return Shape(
        orders=tuple(local_orders(cluster, gpus)),
        doors=doors,
        node=tuple((cluster.topology.node[gpus] - first).tolist()),
        nearest=tuple(nearest),
        walks=tuple(local_walks(cluster, gpus, doors, exits)),
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
