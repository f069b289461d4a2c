"""Laid: a schedule on its resources, before any parameter says what that costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.blocks import carry_block
from wirespeed.collectives.candidate import Candidate, Place
from wirespeed.collectives.carry import Carrier, Moved
from wirespeed.collectives.costs import Costs, Medium, Term
from wirespeed.collectives.library.p2p_channels import P2pChannels
from wirespeed.collectives.narrow import through_channels
from wirespeed.collectives.peers import domain_of
from wirespeed.collectives.protocol import Protocol
from wirespeed.collectives.schedule import Phase, Schedule, Spokes
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.model import Topology

Floats = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]
Loads = dict[Term, Floats]

USUAL_HEADS = 8
"""GPUs of the boards by which `nvls_fill` is counted."""
_MOST_OVERHEAD = 4.0
"""No share is below a quarter: a resource with a quarter of the load is never the bottleneck."""


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """What a schedule does to the resources that can be its bottleneck.

    Attributes:
        resource: [rows] such resources; of equal ones the first. -1: the channels of a rank.
        place: [rows] where each is; -1 for channels.
        busy: [rows, terms] seconds on each for each byte, by kind of traffic, without overhead.
        payload: [rows] bytes on each for each byte.
        links: [s] latency of the links that data meets one after the other.
        steps: [media] how many steps of each kind it meets.
        switched: steps through NVSwitches, and through the fabric's switches.
        local: share of the bytes that each rank moves in its own memory meanwhile.
    """

    algorithm: str
    channels: int
    resource: Ids
    place: npt.NDArray[np.int8]
    busy: Floats
    payload: Floats
    links: float
    steps: Floats
    switched: Floats
    local: float
    messages: Floats
    """[media] messages beside the steps that data waits for."""
    heads: int = 0
    """GPUs of a domain that NVSwitches add up for, each a part of the data; 0 for none."""


def lay(
    schedule: Schedule,
    on: Carrier,
    beside: Loads | None = None,
    channels: P2pChannels | None = None,
) -> Laid:
    """A schedule on the resources of its cluster and group; `beside`: what runs there at once.

    What runs beside counts on resources that the schedule uses itself. Without `channels` it has
    as many as it takes.
    """
    loads: Loads = {}
    links, steps, switched = 0.0, np.zeros(len(Medium)), np.zeros(2)
    carried, heads = np.zeros(len(Medium)), 0
    for phase in schedule.phases:
        for moved, share, given in _moved(phase, on):
            add_loads(loads, moved.loads, phase.repeat)
            waits = given
            if waits is None:
                # Nothing waits for anything else: one step of the slowest kind.
                waits = np.zeros(len(share))
                waits[np.lexsort((moved.latency, moved.medium))[-1]] = phase.repeat
            links += float((waits * moved.latency).sum())
            carried += np.bincount(moved.medium, share, minlength=len(Medium))
            steps += np.bincount(moved.medium, waits, minlength=len(Medium))
        if phase.spokes is not None:
            add_loads(loads, on.carry_spokes(phase.spokes), 1)
            switched += np.array(phase.spoke_waits)
            heads = max(heads, _heads(phase.spokes, on))
    topology = on.cluster.topology
    if beside:
        used = _total(loads, slice(None)) > 0
        add_loads(loads, {term: np.where(used, load, 0.0) for term, load in beside.items()}, 1)
    resource, busy = _worst(loads, topology)
    narrow = np.zeros((0, len(Term)))
    if channels is not None:
        narrow = through_channels(schedule, domain_of(on.cluster, on.group.gpus), channels)
    none = np.full(len(narrow), -1)
    return Laid(
        algorithm=schedule.algorithm,
        channels=schedule.channels if channels is None else channels.total,
        resource=np.append(resource, none),
        busy=np.concatenate([busy, narrow]),
        place=np.append(places_of(topology, resource), none),
        payload=np.append(_total(loads, resource), 0.0 * none),
        links=links,
        steps=steps,
        switched=switched,
        local=schedule.local,
        messages=_spread(schedule.messages, carried),
        heads=heads,
    )


def term_loads(schedule: Schedule, on: Carrier) -> Loads:
    """By kind of traffic, [resources] bytes for each byte of the call."""
    loads: Loads = {}
    for phase in schedule.phases:
        for moved, _, _ in _moved(phase, on):
            add_loads(loads, moved.loads, phase.repeat)
        if phase.spokes is not None:
            add_loads(loads, on.carry_spokes(phase.spokes), 1)
    return loads


def overhead(algorithm: str, costs: Costs, protocol: Protocol) -> Floats:
    """[terms] bytes on the wire, or time worth as many, for each byte of payload."""
    factor = costs.factor[protocol]
    if algorithm != "Direct":
        return factor
    return factor * np.where(np.arange(len(Term)) == Term.NVLINK, costs.direct, 1.0)


def _moved(phase: Phase, on: Carrier) -> Iterator[tuple[Moved, Floats, Floats | None]]:
    """What a phase's messages do, with their shares and how often data meets each."""
    if len(phase.transfers):
        yield on.carry(phase.transfers), phase.transfers.share, phase.waits
    if phase.block is not None:
        yield *carry_block(on, phase.block), None


def price(laid: Laid, costs: Costs, protocol: Protocol) -> Candidate:
    """The candidate that a laid schedule is under a protocol."""
    direct = laid.algorithm == "Direct"
    factor = overhead(laid.algorithm, costs, protocol)
    seconds = laid.busy @ factor
    worst = int(seconds.argmax()) if len(seconds) else -1
    waiting = laid.links + float(laid.steps @ costs.step[protocol])
    waiting += float(laid.messages @ costs.message)
    waiting += float(laid.switched @ np.array([costs.nvls_step, costs.sharp_step]))
    call = costs.call[protocol] + (costs.direct_call if direct else 0.0)
    fill = float((laid.steps + laid.messages) @ costs.fill)
    # Data is cut into a part for each GPU before it is cut into pieces.
    fill += costs.nvls_fill * laid.heads / USUAL_HEADS
    return Candidate(
        algorithm=laid.algorithm,
        protocol=protocol.value,
        channels=laid.channels,
        latency=call + waiting,
        per_byte=float(seconds[worst]) if worst >= 0 else 0.0,
        bottleneck=int(laid.resource[worst]) if worst >= 0 else -1,
        payload=float(laid.payload[worst]) if worst >= 0 else 0.0,
        local=laid.local * costs.local,
        fill=fill if protocol is Protocol.SIMPLE else 0.0,
        exponent=costs.exponent,
        work=tuple(float(seconds[laid.place == p].max(initial=0.0)) for p in Place),
    )


def _heads(spokes: Spokes, on: Carrier) -> int:
    """Ranks of the largest domain that exchange with NVSwitches."""
    inside = spokes.rank[spokes.nic < 0]
    if not len(inside):
        return 0
    domain = domain_of(on.cluster, on.group.gpus[np.unique(inside)])
    return int(np.unique(domain, return_counts=True)[1].max())


def _spread(messages: int, carried: Floats) -> Floats:
    """Messages by medium, in proportion to the bytes that each carries."""
    return messages * carried / carried.sum() if messages else np.zeros(len(Medium))


def add_loads(loads: Loads, more: Loads, times: int) -> None:
    """Put `more`, so many times, on top of loads; its arrays are used up."""
    for term, load in more.items():
        if times != 1:
            load *= times
        if term in loads:
            loads[term] += load
        else:
            loads[term] = load


def places_of(topology: Topology, resource: Ids) -> npt.NDArray[np.int8]:
    """[n] the place of each of these links and components."""
    by_link = np.full(len(LinkKind), Place.HOST, np.int8)
    by_link[[LinkKind.NVLINK, LinkKind.XGMI]] = Place.NVLINK
    by_link[LinkKind.PCIE] = Place.PCIE
    by_link[LinkKind.NETWORK] = Place.NETWORK
    by_part = np.full(len(ComponentKind), Place.HOST, np.int8)
    by_part[[ComponentKind.GPU, ComponentKind.NVSWITCH]] = Place.NVLINK
    by_part[ComponentKind.PCIE] = Place.PCIE
    fabric = [ComponentKind.NIC, ComponentKind.LEAF, ComponentKind.SPINE, ComponentKind.CORE]
    by_part[fabric] = Place.NETWORK
    is_link = resource < topology.links
    place = np.empty(len(resource), np.int8)
    place[is_link] = by_link[topology.link_kind[resource[is_link]]]
    place[~is_link] = by_part[topology.kind[resource[~is_link] - topology.links]]
    return place


def _total(loads: Loads, resource: Ids | slice) -> Floats:
    """[n] payload of all kinds on these resources."""
    return sum((load[resource] for load in loads.values()), np.zeros(()))


def _worst(loads: Loads, topology: Topology) -> tuple[Ids, Floats]:
    """The resources that can be the bottleneck under some overheads, and how busy each is.

    Among them is the busiest of each place.
    """
    capacity = topology.capacity
    used = {term: np.flatnonzero(load) for term, load in loads.items()}
    with np.errstate(divide="ignore"):
        busy = {term: loads[term][here] / capacity[here] for term, here in used.items()}
    total, kinds = np.zeros(len(capacity)), np.zeros(len(capacity), np.int8)
    for term, here in used.items():
        total[here] += busy[term]
        kinds[here] += 1
    # Of resources with one kind of traffic only the busiest of that kind can be it.
    rows = []
    for term, here in used.items():
        alone = kinds[here] == 1
        if alone.any():
            rows.append(int(here[np.where(alone, busy[term], -1.0).argmax()]))
    busy_at_all = np.flatnonzero(kinds)
    place, amount = places_of(topology, busy_at_all), total[busy_at_all]
    for each in np.unique(place):
        rows.append(int(busy_at_all[np.where(place == each, amount, -1.0).argmax()]))
    mixed = np.flatnonzero((kinds > 1) & (total * _MOST_OVERHEAD >= total.max(initial=0.0)))
    if len(mixed):
        table = _busy(loads, mixed, capacity)
        _, first = np.unique(table, axis=0, return_index=True)
        rows += mixed[first].tolist()
    kept = np.array(sorted(set(rows)), np.int64)
    return kept, _busy(loads, kept, capacity)


def _busy(loads: Loads, resource: Ids, capacity: Floats) -> Floats:
    """[rows, terms] seconds on resources for each byte, by kind of traffic."""
    busy = np.zeros((len(resource), len(Term)))
    for term, load in loads.items():
        mine = load[resource]
        with np.errstate(divide="ignore", invalid="ignore"):
            busy[:, term] = np.where(mine > 0, mine / capacity[resource], 0.0)
    return busy
