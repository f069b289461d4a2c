"""Loads of sources × destinations, counted per resource: no pair is ever written down."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from wirespeed.errors import UsageError
from wirespeed.network._uses import Floats, Ints, Uses, spans, weighted_counts


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The sources, or the destinations, of a block: N ends, each with its own part of the route.

    `uses` holds what an end's own part loads for each byte of each of its pairs. Labels [N], any
    integers, say which pairs there are and where they cross: ends pair only where `together` is
    the same (by default all are), and never where `apart` is the same (by default each end's
    number). `gate` is the group, from 0, at which an end enters the middle part of the route.
    """

    uses: Uses
    together: Ints | None = None
    apart: Ints | None = None
    gate: Ints | None = None

    def labels(self, name: str, default: Ints) -> Ints:
        """The labels of that name [N], or the default where none are given."""
        given: Ints | None = getattr(self, name)
        if given is None:
            return default
        if given.shape != (self.uses.transfers,):
            raise UsageError(f"{given.shape} `{name}` labels for {self.uses.transfers} ends")
        return given


def product_loads(
    sources: Side,
    destinations: Side,
    bytes: float,
    resources: int,
    *,
    middle: Uses | None = None,
    exclude_same: bool = True,
) -> Floats:
    """Bytes that each resource moves [R] when every source sends `bytes` to every destination.

    For routes that consist of the source's own part, the destination's own part and, if `middle` is
    given, a part that depends on their gates alone: row g · G + h of `middle` for G gates. Where
    routes differ by distance, add up blocks: one of pairs in the same node (`together` = node), one
    of pairs in the same pod but not the same node (`together` = pod, `apart` = node), and so on.
    `exclude_same` = False lets ends with the same `apart` label pair as well.

    Costs time in proportion to the uses given and the pairs of gates that occur.
    """
    together = _numbers(sources, destinations, "together", same=True)
    pairs = [(1, *together)]
    if exclude_same:
        apart = _numbers(sources, destinations, "apart", same=False)
        width = int(max(label.max(initial=0) for label in apart)) + 1
        both = (t * width + a for t, a in zip(together, apart, strict=True))
        pairs.append((-1, *_dense(*both)))

    sent = sum(sign * _partners(of, among) for sign, of, among in pairs)
    received = sum(sign * _partners(of, among) for sign, among, of in pairs)
    loads = sources.uses.loads(bytes * sent, resources)
    loads += destinations.uses.loads(bytes * received, resources)
    if middle is not None:
        gates = isqrt(middle.transfers)
        if gates * gates != middle.transfers:
            raise UsageError(f"{middle.transfers} rows of the middle: not one for each two gates")
        crossing = sum(
            sign * _between_gates(sources, destinations, source_key, destination_key, gates)
            for sign, source_key, destination_key in pairs
        )
        loads += middle.loads(bytes * crossing, resources)
    return loads


def _numbers(sources: Side, destinations: Side, name: str, *, same: bool) -> tuple[Ints, Ints]:
    """The labels of both sides as small numbers from 0; all 0, or 0 … N - 1, by default."""
    n, m = sources.uses.transfers, destinations.uses.transfers
    return _dense(
        sources.labels(name, np.zeros(n, np.int64) if same else np.arange(n)),
        destinations.labels(name, np.zeros(m, np.int64) if same else np.arange(m)),
    )


def _dense(ours: Ints, theirs: Ints) -> tuple[Ints, Ints]:
    number = np.unique(np.concatenate([ours, theirs]), return_inverse=True)[1]
    return number[: ours.size], number[ours.size :]


def _partners(of: Ints, among: Ints) -> Ints:
    """How many of the other side bear the key of each end of this one."""
    counts: Ints = np.bincount(among, minlength=int(of.max(initial=0)) + 1)[of]
    return counts


def _between_gates(
    sources: Side, destinations: Side, source_key: Ints, destination_key: Ints, gates: int
) -> Floats:
    """How many pairs of ends with equal keys cross from each gate to each other [gates²]."""
    key_s, gate_s, count_s = _crowds(sources, source_key, gates)
    key_d, gate_d, count_d = _crowds(destinations, destination_key, gates)
    begin = np.searchsorted(key_d, key_s, "left")
    matches = np.searchsorted(key_d, key_s, "right") - begin
    theirs = spans(begin, matches)
    row = np.repeat(gate_s * gates, matches) + gate_d[theirs]
    pairs = np.repeat(count_s, matches) * count_d[theirs]
    return weighted_counts(row, pairs.astype(float), gates * gates)


def _crowds(side: Side, key: Ints, gates: int) -> tuple[Ints, Ints, Ints]:
    """The distinct (key, gate) of a side in order, and how many ends bear each."""
    gate = side.labels("gate", np.zeros(key.size, np.int64))
    if gate.size and not 0 <= gate.min() <= gate.max() < gates:
        raise UsageError(f"gates must lie between 0 and {gates - 1}")
    joint, count = np.unique(key * gates + gate, return_counts=True)
    return joint // gates, joint % gates, count
