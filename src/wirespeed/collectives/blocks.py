"""Blocks: everyone sends to everyone, put on resources without writing the pairs down.

Within a domain the pairs are few. Between domains a message is a way out of its node, which hangs
on its source and on the rail that its target's NIC is on, a way through the fabric, and a way in,
which hangs on its target: each is counted on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.carry import Carrier, Moved
from wirespeed.collectives.costs import Medium, Term
from wirespeed.collectives.doors import Doors, Routed, doors_of, unconnected
from wirespeed.collectives.peers import domain_of
from wirespeed.collectives.schedule import Block, transfers
from wirespeed.errors import Infeasible
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.fabrics.crowds import Crowd, pairs_of
from wirespeed.topology.fabrics.wiring import Routing
from wirespeed.topology.paths import Paths

_MOST_WRITTEN = 2048
"""Ranks up to which pairs may be written down: four million."""

_MOST_FLOWS = 2**26
"""Pairs of NICs that are looked at one by one."""

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def carry_block(on: Carrier, block: Block) -> tuple[Moved, Floats]:
    """The block on resources, and the share of the bytes behind each latency [t].

    Not every message has a latency of its own there, but the slowest is among them. Infeasible
    where two GPUs have no way to each other.
    """
    domain = np.unique(domain_of(on.cluster, on.group.gpus), return_inverse=True)[1].reshape(-1)
    source, target = _together(domain)
    moved = on.carry(transfers(source, target, block.share))
    shares = np.full(len(source), block.share)
    if domain.any():
        latency, share = _across(on, moved, domain, block.share)
        shares = np.append(shares, share)
        moved = Moved(
            moved.loads,
            np.append(moved.latency, latency),
            np.append(moved.medium, np.full(len(latency), int(Medium.NETWORK))),
        )
    return moved, shares


def _together(domain: Ids) -> tuple[Ids, Ids]:
    """All pairs of different ranks of one domain."""
    order = np.argsort(domain, kind="stable")
    sizes = np.bincount(domain)
    size = sizes[domain[order]]
    first = (np.cumsum(sizes) - sizes)[domain[order]]
    source = np.repeat(order, size)
    within = np.arange(len(source)) - np.repeat(np.cumsum(size) - size, size)
    target = order[np.repeat(first, size) + within]
    kept = source != target
    return source[kept], target[kept]


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """One side of a block: a crowd whose weights count messages, and the latency to its NICs."""

    crowd: Crowd
    latency: Floats


def _across(on: Carrier, moved: Moved, domain: Ids, share: float) -> tuple[Floats, Floats]:
    """Puts what crosses domains on resources; latencies, and the share behind each."""
    cluster, group = on.cluster, on.group
    wiring = cluster.topology.wiring
    if wiring is None:
        raise unconnected(cluster, int(group.gpus[0]))
    parts = _parts(on, domain, share)
    apart = any(not part.reached(cluster).all() for part in parts)
    if apart and len(group) <= _MOST_WRITTEN:
        return _written(on, moved, domain, share)
    latency = np.concatenate([_carry_part(on, moved, domain, part) for part in parts])
    total = float(len(group) ** 2 - (np.bincount(domain) ** 2).sum()) * share
    return latency, np.full(len(latency), total / len(latency))


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The messages between domains that go by the NICs of one turn.

    Attributes:
        rail: [ranks] the number of the rail that each is reached by.
        source, to, messages: [t] ranks, the rails that they send to, and how often.
        far: [t] a NIC on that rail.
        share: of the bytes in a message.
    """

    doors: Doors
    rail: Ids
    source: Ids
    to: Ids
    messages: Floats
    routed: Routed
    far: Ids
    share: float

    def reached(self, cluster: Cluster) -> npt.NDArray[np.bool_]:
        """[t] whether the fabric joins both NICs."""
        wiring = cluster.topology.wiring
        assert wiring is not None
        return wiring.reachable(self.routed.nic_out.astype(np.int32), self.far.astype(np.int32))


def _parts(on: Carrier, domain: Ids, share: float) -> list[_Part]:
    """The messages by turns, in which ranks use one of their NICs after the other."""
    cluster, group = on.cluster, on.group
    parts: list[_Part] = []
    turns = 1
    while len(parts) < turns:
        doors = doors_of(cluster, group, len(parts))
        turns = doors.turns
        if (doors.nic < 0).any():
            raise unconnected(cluster, int(group.gpus[np.flatnonzero(doors.nic < 0)[0]]))
        rail = cluster.topology.rail[doors.nic].astype(np.int64)
        names, example, number = np.unique(rail, return_index=True, return_inverse=True)
        number = number.reshape(-1)
        source, to, messages = _outward(domain, number, len(names))
        free = np.full(len(source), -1, np.int64)
        routed = doors.choose(cluster, group, source, example[to], free)
        far = doors.nic[example[to]]
        parts.append(_Part(doors, number, source, to, messages, routed, far, share / turns))
    return parts


def _carry_part(on: Carrier, moved: Moved, domain: Ids, part: _Part) -> Floats:
    """Puts the messages of a turn on resources; latencies, the longest among them."""
    group, source = on.group, part.source
    out = on.leave(moved, group.gpus[source], part.routed, part.messages * part.share)
    arriving = np.asarray((len(group) - np.bincount(domain)[domain]) * part.share, np.float64)
    back = on.to_nic(moved, part.doors.nic, group.gpus, arriving)
    ends = (
        _Ends(Crowd(part.routed.nic_out, np.ones(len(source)), part.to, domain[source]), out),
        _Ends(Crowd(part.doors.nic, np.ones(len(group)), part.rail, domain), back),
    )
    through, latency = _through(on, ends, reached=bool(part.reached(on.cluster).all()))
    moved.add(Term.NETWORK, through * part.share)
    return latency


def _written(on: Carrier, moved: Moved, domain: Ids, share: float) -> tuple[Floats, Floats]:
    """The same pair by pair: where a node lacks a rail, both ends of a message decide its way."""
    source, target = np.nonzero(domain[:, None] != domain)
    carried = on.carry(transfers(source, target, share))
    for term, load in carried.loads.items():
        moved.add(term, load)
    return carried.latency, np.full(len(source), share)


def _outward(domain: Ids, rail: Ids, rails: int) -> tuple[Ids, Ids, Floats]:
    """Ranks and rails that they send to: as often as ranks outside their domain hang on it."""
    ranks = len(domain)
    source, to = np.repeat(np.arange(ranks), rails), np.tile(np.arange(rails), ranks)
    here = np.bincount(domain * rails + rail, minlength=(int(domain.max()) + 1) * rails)
    everywhere = np.bincount(rail, minlength=rails)
    messages = (everywhere[to] - here[domain[source] * rails + to]).astype(np.float64)
    sent = messages > 0
    return source[sent], to[sent], messages[sent]


def _through(on: Carrier, ends: tuple[_Ends, _Ends], *, reached: bool) -> tuple[Floats, Floats]:
    """[resources] messages through the fabric, and latencies of messages, the longest among them.

    Where messages cannot be counted all at once, as where not all are `reached`, flow by flow:
    those between two NICs are one.
    """
    topology, routing = on.cluster.topology, on.cluster.routing
    wiring, capacity = topology.wiring, topology.capacity
    assert wiring is not None
    source, target = (_by_nic(end) for end in ends)
    one, other = source.crowd, target.crowd
    loads = np.zeros(topology.resources)
    if reached:
        if routing is Routing.ECMP:
            _refuse_many(one, other)
        counted = wiring.crowd_loads(
            one, other, routing=routing, capacity=capacity, seed=on.cluster.seed
        )
        if counted is not None:
            loads[: len(counted)] = counted
            return loads, _slowest(on, *ends)
    _refuse_many(one, other)
    slowest = 0.0
    for a, b in pairs_of(one, other):
        if not len(a):
            continue
        paths, latency = _routes(on, source, target, a, b)
        amount = (one.weight[a] * other.weight[b])[paths.owner()] * paths.share
        loads += np.bincount(paths.resource, amount, minlength=len(loads))
        slowest = max(slowest, float(latency.max()))
    return loads, np.array([slowest])


def _routes(on: Carrier, source: _Ends, target: _Ends, a: Ids, b: Ids) -> tuple[Paths, Floats]:
    """Paths between the NICs of ends, and the latency from GPU to GPU [s]."""
    cluster, topology = on.cluster, on.cluster.topology
    wiring = topology.wiring
    assert wiring is not None
    nics = source.crowd.nic[a].astype(np.int32), target.crowd.nic[b].astype(np.int32)
    paths = wiring.paths(
        *nics, routing=cluster.routing, seed=cluster.seed, capacity=topology.capacity
    )
    wires = paths.share * topology.latency[paths.resource]
    through = np.bincount(paths.owner(), wires, minlength=len(a))
    return paths, np.asarray(source.latency[a] + through + target.latency[b])


def _refuse_many(source: Crowd, target: Crowd) -> None:
    """Infeasible for more pairs of NICs than can be looked at one by one in some seconds."""
    width = int(max(source.together.max(initial=0), target.together.max(initial=0))) + 1
    sides = (np.bincount(crowd.together, minlength=width) for crowd in (source, target))
    pairs = int(np.prod(list(sides), axis=0).sum())
    if pairs > _MOST_FLOWS:
        raise Infeasible(
            f"an all-to-all of {pairs:,} flows",
            why=f"this fabric routes each by itself; up to {_MOST_FLOWS:,} are followed",
            remedy="take fewer nodes, or --change routing=static or routing=spray",
        )


def _by_nic(ends: _Ends) -> _Ends:
    """One end for each NIC and rail, as late as the latest; a NIC belongs to one domain."""
    crowd = ends.crowd
    width = int(crowd.together.max(initial=0)) + 1
    key = crowd.nic * width + crowd.together
    _, example, place = np.unique(key, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    weight = np.bincount(place, crowd.weight, minlength=len(example)).astype(np.float64)
    latency = np.zeros(len(example))
    np.maximum.at(latency, place, ends.latency)
    merged = Crowd(crowd.nic[example], weight, crowd.together[example], crowd.apart[example])
    return _Ends(merged, latency)


def _slowest(on: Carrier, source: _Ends, target: _Ends) -> Floats:
    """Latencies of messages of a Clos network among which is the longest.

    Ends that are alike but for their place differ in how far they are from each other. Leaves and
    pods of a rail are filled in the order of the NICs, so that the first and the last of each
    kind stand for all: if these meet below one switch, so does whatever lies between them. A
    dragonfly has no such order; it is looked at pair by pair.
    """
    rail = on.cluster.topology.rail
    a, b = _outer(source, rail), _outer(target, rail)
    one, other = source.crowd, target.crowd
    a, b = np.repeat(a, len(b)), np.tile(b, len(a))
    fit = (one.together[a] == other.together[b]) & (one.apart[a] != other.apart[b])
    return _routes(on, source, target, a[fit], b[fit])[1]


def _outer(ends: _Ends, rail: npt.NDArray[np.integer[Any]]) -> Ids:
    """Positions of the ends of each kind at its first and at its last NIC.

    A kind has one rail to arrive by, one for its own NIC (where a node has no proxy for the first
    they differ, and so do the leaves) and one latency.
    """
    own = rail[ends.crowd.nic]
    kinds = np.stack([ends.crowd.together, own, ends.latency.round(12)], axis=1)
    _, kind = np.unique(kinds, axis=0, return_inverse=True)
    order = np.lexsort((ends.crowd.nic, kind.reshape(-1)))
    starts = np.flatnonzero(np.diff(kind.reshape(-1)[order], prepend=-1))
    stops = np.append(starts[1:], len(order)) - 1
    return np.unique(order[np.append(starts, stops)])
