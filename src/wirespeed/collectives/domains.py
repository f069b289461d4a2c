"""Domains: the sets of a group's GPUs that reach each other without the network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.peers import domain_of
from wirespeed.topology.cluster import Cluster, Group

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Domains:
    """The domains of a group, in order of their first rank.

    Attributes:
        ranks: of each domain, in the order of their GPUs by node and index. The library looks for
            its rings and chains among devices and gives them their ranks afterwards, so that which
            rank a GPU has changes nothing inside a domain.
        unit: [domains] the unit that each lies in, the first one where it spans several.
        kind: [domains] domains of a kind have their GPUs at the same places of equal units;
            kinds are counted in the order in which they first occur.
        example: [kinds] a domain of each.
    """

    ranks: tuple[Ids, ...]
    unit: Ids
    kind: Ids
    example: Ids

    def __len__(self) -> int:
        return len(self.ranks)


def domains_of(cluster: Cluster, group: Group) -> Domains:
    """The domains of a group."""
    topology, router = cluster.topology, cluster.router
    names, first, place = np.unique(
        domain_of(cluster, group.gpus), return_index=True, return_inverse=True
    )
    by_first = np.argsort(first, kind="stable")
    number = np.empty_like(by_first)
    number[by_first] = np.arange(len(names))
    domain = number[place.reshape(-1)]
    flat = np.lexsort((topology.index[group.gpus], topology.node[group.gpus], domain))
    sizes = np.bincount(domain)
    unit = topology.unit_of(group.gpus[first[by_first]])
    local = group.gpus[flat] - np.repeat(topology.first_component[unit], sizes)
    kind, example = _kinds(router.classes_of(unit), local, sizes)
    return Domains(_split(flat, sizes), unit, kind, example)


def _split(flat: Ids, sizes: Ids) -> tuple[Ids, ...]:
    if (sizes == sizes[0]).all():
        return tuple(flat.reshape(len(sizes), -1))
    return tuple(np.split(flat, np.cumsum(sizes)[:-1]))


def _kinds(unit_class: Ids, local: Ids, sizes: Ids) -> tuple[Ids, Ids]:
    """The kind of each domain and an example of each, by unit class and places."""
    table = np.full((len(sizes), int(sizes.max()) + 1), -1, np.int64)
    table[:, 0] = unit_class
    row = np.repeat(np.arange(len(sizes)), sizes)
    table[row, np.arange(len(local)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1] = local
    words = table.view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, kind = np.unique(words, return_index=True, return_inverse=True)
    order = np.argsort(first)
    renamed = np.empty_like(order)
    renamed[order] = np.arange(len(order))
    return renamed[kind.reshape(-1)], first[order]
