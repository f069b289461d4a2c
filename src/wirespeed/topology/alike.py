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


_SAME = 6
"""Digits in which weights are one."""


@dataclass(frozen=True, slots=True)
class Class:
    """`count` of a `kind`, `example` the one of most weight: a component, or a link one way."""

    example: int
    count: int
    kind: int


def component_classes(
    topology: Topology, colours: Ids, weight: Floats, most: int = 1, apart: Ids | None = None
) -> list[Class]:
    """Classes of components, in order of their first one; `weight` [components].

    With `most` above 1 those of a kind that weigh differently, or differ in `apart` [components],
    are classes of their own: so many, or the kind is one.
    """
    ids = np.arange(topology.components)
    return _classes(colours, ids, weight, most, ids * 0 if apart is None else apart)


def cable_classes(topology: Topology, colours: Ids, weight: Floats, most: int = 1) -> list[Class]:
    """Classes of pairs of components that cables join, in order of the first; `weight` [links].

    Parallel cables of a pair count as one; their address is the same. `most` as for components.
    """
    links = np.arange(0, topology.links, 2)
    a, b = topology.source[links].astype(np.int64), topology.target[links].astype(np.int64)
    pair = np.minimum(a, b) * topology.components + np.maximum(a, b)
    chosen = links[np.sort(np.unique(pair, return_index=True)[1])]
    ends = np.sort(colours[np.stack([topology.source[chosen], topology.target[chosen]])], axis=0)
    key = np.stack([*ends, topology.link_kind[chosen].astype(np.int64)])
    kinds = np.unique(key, axis=1, return_inverse=True)[1].reshape(-1)
    busier = np.maximum(weight[chosen], weight[chosen + 1])
    return _classes(kinds, chosen, busier, most, chosen * 0)


def _classes(kinds: Ids, ids: Ids, weight: Floats, most: int, apart: Ids) -> list[Class]:
    """For each kind its members' number and the heaviest, the first of those that are equal."""
    finite = np.where(np.isfinite(weight), weight, -1.0)
    same = np.round(finite / max(float(finite.max(initial=0.0)), 1e-300), _SAME)
    order = np.lexsort((ids, apart, -same, kinds))
    kind = kinds[order]
    starts = np.diff(kind, prepend=-1) != 0
    parts = (
        starts | (np.diff(same[order], prepend=-1) != 0) | (np.diff(apart[order], prepend=0) != 0)
    )
    # Too many that differ are no classes.
    several = np.bincount(kind[parts], minlength=int(kind.max(initial=0)) + 1) <= most
    begin = np.flatnonzero(starts | (parts & several[kind]))
    counts = np.diff(np.append(begin, len(order)))
    first = np.minimum.reduceat(ids[order], begin) if len(begin) else begin
    rows = zip(
        first.tolist(),
        ids[order[begin]].tolist(),
        counts.tolist(),
        kind[begin].tolist(),
        strict=True,
    )
    return [Class(example, count, k) for _, example, count, k in sorted(rows)]


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
