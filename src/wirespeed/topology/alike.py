"""Classes of components and cables that are alike: same kind, same place in the graph.

Colours are refined until they tell apart no more: two components keep one colour if their links
are the same and lead to components of the same colours (B. Weisfeiler, A. Leman, 1968).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.topology.model import Topology

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Class:
    """`count` of a kind, `example` the one of most weight: a component, or a link one way."""

    example: int
    count: int


def component_classes(topology: Topology, colours: Ids, weight: Floats) -> list[Class]:
    """Classes of components, in order of their first one; `weight` [components]."""
    return _classes(colours, np.arange(topology.components), weight)


def cable_classes(topology: Topology, colours: Ids, weight: Floats) -> list[Class]:
    """Classes of pairs of components that cables join, in order of the first; `weight` [links].

    Parallel cables of a pair count as one; their address is the same.
    """
    links = np.arange(0, topology.links, 2)
    a, b = topology.source[links].astype(np.int64), topology.target[links].astype(np.int64)
    pair = np.minimum(a, b) * topology.components + np.maximum(a, b)
    chosen = links[np.sort(np.unique(pair, return_index=True)[1])]
    ends = np.sort(colours[np.stack([topology.source[chosen], topology.target[chosen]])], axis=0)
    key = np.stack([*ends, topology.link_kind[chosen].astype(np.int64)])
    kinds = np.unique(key, axis=1, return_inverse=True)[1].reshape(-1)
    return _classes(kinds, chosen, np.maximum(weight[chosen], weight[chosen + 1]))


def _classes(kinds: Ids, ids: Ids, weight: Floats) -> list[Class]:
    """For each kind its members' number and the heaviest, the first of those that are equal."""
    order = np.lexsort((ids, -weight, kinds))
    begin = np.flatnonzero(np.diff(kinds[order], prepend=-1))
    counts = np.diff(np.append(begin, len(order)))
    first = np.unique(kinds, return_index=True)[1]
    rows = sorted(zip(first.tolist(), ids[order[begin]].tolist(), counts.tolist(), strict=True))
    return [Class(example, count) for _, example, count in rows]


def colours_of(topology: Topology) -> Ids:
    """[components] the class of each, from 0: kind, model, capacities, and what it is joined to."""
    parts: list[npt.ArrayLike] = [topology.kind, topology.model, topology.rail >= 0]
    parts += [topology.rate, topology.capacity[topology.links :]]
    colour = _numbered(np.stack([_word(part) for part in parts], axis=1))
    link = mixed(topology.link_kind, topology.lanes, topology.capacity[: topology.links])
    back = link.reshape(-1, 2)[:, ::-1].ravel()
    while True:
        seen = np.zeros(topology.components, np.uint64)
        # Sums of hashes stand for the multiset of neighbours; 64 bits keep them apart.
        np.add.at(seen, topology.source, mixed(colour[topology.target], link, back))
        finer = _numbered(np.stack([_word(colour), seen], axis=1))
        if finer.max(initial=0) == colour.max(initial=0):
            return colour
        colour = finer


def _word(values: npt.ArrayLike) -> Words:
    """Values as 64 bits."""
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return np.ascontiguousarray(array, np.float64).view(np.uint64)
    return array.astype(np.int64).view(np.uint64)


def mixed(*columns: npt.ArrayLike) -> Words:
    """A hash of 64 bits of each row; equal rows have equal ones."""
    total = np.zeros(np.shape(columns[0]), np.uint64)
    for column in columns:
        total = (total ^ _word(column)) * _ODD
        total ^= total >> np.uint64(29)
    return total


def _numbered(rows: Words) -> Ids:
    """Equal rows by one number, in order of first appearance."""
    key = mixed(*rows.T)
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place.reshape(-1)]
