"""Crowds: many NICs that all send to many others, counted without looking at single pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_CHUNK = 2**18


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """One side of an exchange: [n] ends, each a NIC.

    Ends of two crowds pair where `together` is the same and `apart` is not.

    Attributes:
        nic: component ids; a NIC may be several ends with different `together`.
        weight: bytes that go between two ends are the product of their weights.
        together, apart: labels from 0.
    """

    nic: Ids
    weight: Floats
    together: Ids
    apart: Ids

    def __len__(self) -> int:
        return len(self.nic)


def pairs_of(source: Crowd, target: Crowd) -> Iterator[tuple[Ids, Ids]]:
    """All pairs, as positions in both crowds, some hundred thousand at a time."""
    order = np.argsort(target.together, kind="stable")
    labels = target.together[order]
    begin = np.searchsorted(labels, source.together, "left")
    counts = np.searchsorted(labels, source.together, "right") - begin
    ends = np.cumsum(counts)
    first = 0
    while first < len(source):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _CHUNK, "right")))
        mine = counts[first:last]
        a = np.repeat(np.arange(first, last), mine)
        within = np.arange(len(a)) - np.repeat(np.cumsum(mine) - mine, mine)
        b = order[begin[a] + within]
        kept = source.apart[a] != target.apart[b]
        yield a[kept], b[kept]
        first = last


def crossing(
    source: Crowd,
    target: Crowd,
    leave: Ids,
    arrive: Ids,
    groups: tuple[Ids, Ids] | None = None,
) -> tuple[Ids, Ids, Floats]:
    """Bytes from ends that share a `leave` number to ends that share an `arrive` number.

    With `groups` [n] of both sides only pairs of different groups count. Returns the numbers of
    each pair of them that occurs, and the bytes.
    """
    keys = [(1.0, source.together, target.together)]
    labels = [(source.apart, target.apart)] + ([groups] if groups else [])
    for a, b in labels:
        # What is to be left out: pairs that are the same in one respect, less those in both.
        keys += [(-sign, *_both(left, right, a, b)) for sign, left, right in keys]
    parts = [
        (sign, _joined(left, leave, source.weight, right, arrive, target.weight))
        for sign, left, right in keys
    ]
    out = np.concatenate([part[0] for _, part in parts])
    into = np.concatenate([part[1] for _, part in parts])
    amount = np.concatenate([sign * part[2] for sign, part in parts])
    return out, into, amount


def _both(left: Ids, right: Ids, a: Ids, b: Ids) -> tuple[Ids, Ids]:
    """Numbers that are equal where two pairs of labels both are."""
    width = int(max(a.max(initial=0), b.max(initial=0))) + 1
    return left * width + a, right * width + b


def _joined(
    key_a: Ids, number_a: Ids, weight_a: Floats, key_b: Ids, number_b: Ids, weight_b: Floats
) -> tuple[Ids, Ids, Floats]:
    """For ends with equal keys, by their numbers: the sum of products of weights."""
    key_a, number_a, weight_a = _summed(key_a, number_a, weight_a)
    key_b, number_b, weight_b = _summed(key_b, number_b, weight_b)
    begin = np.searchsorted(key_b, key_a, "left")
    matches = np.searchsorted(key_b, key_a, "right") - begin
    a = np.repeat(np.arange(len(key_a)), matches)
    b = np.arange(len(a)) + np.repeat(begin - (np.cumsum(matches) - matches), matches)
    return number_a[a], number_b[b], weight_a[a] * weight_b[b]


def _summed(key: Ids, number: Ids, weight: Floats) -> tuple[Ids, Ids, Floats]:
    """The weights of each (key, number) that occurs, by key."""
    width = int(number.max(initial=0)) + 1
    joint, place = np.unique(key * width + number, return_inverse=True)
    total = np.bincount(place.reshape(-1), weight, minlength=len(joint)).astype(np.float64)
    return joint // width, joint % width, total
