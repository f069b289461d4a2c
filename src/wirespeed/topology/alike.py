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
Words = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class Class:
    """`count` of a kind, the first of which is `first`: a component, or a link one way."""

    first: int
    count: int


def component_classes(topology: Topology, colours: Ids) -> list[Class]:
    """Classes of components, in order of their first one."""
    _, first, count = np.unique(colours, return_index=True, return_counts=True)
    order = np.argsort(first)
    return [Class(int(first[k]), int(count[k])) for k in order]


def cable_classes(topology: Topology, colours: Ids) -> list[Class]:
    """Classes of pairs of components that cables join, in order of the first link.

    Parallel cables of a pair count as one; their address is the same.
    """
    links = np.arange(0, topology.links, 2)
    a, b = topology.source[links].astype(np.int64), topology.target[links].astype(np.int64)
    low, high = np.minimum(a, b), np.maximum(a, b)
    pairs, first = np.unique(low * topology.components + high, return_index=True)
    chosen = links[np.sort(first)]
    ends = np.sort(colours[np.stack([topology.source[chosen], topology.target[chosen]])], axis=0)
    key = np.stack([*ends, topology.link_kind[chosen].astype(np.int64)])
    _, example, count = np.unique(key, axis=1, return_index=True, return_counts=True)
    order = np.argsort(example)
    return [Class(int(chosen[example[k]]), int(count[k])) for k in order]


def colours_of(topology: Topology) -> Ids:
    """[components] the class of each, from 0: kind, model, capacities, and what it is joined to."""
    parts = [topology.kind, topology.model, topology.rail >= 0, topology.rate]
    parts.append(topology.capacity[topology.links :])
    colour = _numbered(np.stack([_word(part) for part in parts], axis=1))
    link = _mixed(topology.link_kind, topology.lanes, topology.capacity[: topology.links])
    back = link.reshape(-1, 2)[:, ::-1].ravel()
    while True:
        seen = np.zeros(topology.components, np.uint64)
        # Sums of hashes stand for the multiset of neighbours; 64 bits keep them apart.
        np.add.at(seen, topology.source, _mixed(colour[topology.target], link, back))
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


def _mixed(*columns: npt.ArrayLike) -> Words:
    """A hash of each row."""
    total = np.zeros(np.shape(columns[0]), np.uint64)
    for column in columns:
        total = (total ^ _word(column)) * _ODD
        total ^= total >> np.uint64(29)
    return total


def _numbered(rows: Words) -> Ids:
    """Equal rows by one number, in order of first appearance."""
    key = _mixed(*rows.T)
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place.reshape(-1)]
