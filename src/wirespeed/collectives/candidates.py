"""Candidates: the ways that the library has to do an operation, each with its time over size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wirespeed.collectives.algorithms.direct import alltoall_schedule, sendrecv_schedule
from wirespeed.collectives.algorithms.ring import ring_schedule
from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.carry import WIRE_BYTES, Carrier, Medium, Protocol, carrier
from wirespeed.collectives.copies import copy_candidate
from wirespeed.collectives.layout import layout_of
from wirespeed.collectives.operation import COPIES, Collective, Operation
from wirespeed.collectives.rings import find_rings
from wirespeed.collectives.schedule import Schedule
from wirespeed.topology.cluster import Cluster, Group


def candidates(collective: Collective, cluster: Cluster, group: Group) -> tuple[Candidate, ...]:
    """All ways to do the operation on this group; at least one."""
    operation = collective.operation
    if operation in COPIES:
        return (copy_candidate(collective, cluster, group),)
    on = carrier(cluster, group)
    if operation is Operation.ALLTOALL:
        return tuple(lay(alltoall_schedule(len(group)), on, [Protocol.SIMPLE]))
    if operation is Operation.SENDRECV:
        return tuple(lay(sendrecv_schedule(len(group)), on, [Protocol.SIMPLE]))
    schedule = ring_schedule(operation, find_rings(layout_of(cluster, group)), collective.root)
    forced = cluster.software.settings.get("proto")
    protocols = [p for p in Protocol if forced is None or p.value.lower() == forced.lower()]
    return tuple(lay(schedule, on, protocols))


def lay(schedule: Schedule, on: Carrier, protocols: Sequence[Protocol]) -> list[Candidate]:
    """The candidates that a schedule makes under each protocol on its cluster and group."""
    topology = on.cluster.topology
    wire, payload = np.zeros(topology.resources), np.zeros(topology.resources)
    links, steps = 0.0, np.zeros(len(Medium))
    for phase in schedule.phases:
        carried = on.carry(phase.transfers)
        wire += carried.wire * phase.repeat
        payload += carried.payload * phase.repeat
        waits = phase.waits
        if waits is None:
            # Nothing waits for anything else: one step of the slowest kind.
            slowest = np.lexsort((carried.latency, carried.medium))[-1]
            waits = np.zeros(len(phase.transfers))
            waits[slowest] = phase.repeat
        links += float(waits @ carried.latency)
        steps += np.bincount(carried.medium, waits, minlength=len(Medium))
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = np.where(wire > 0, wire / topology.capacity, 0.0)
    worst = int(seconds.argmax())
    return [
        Candidate(
            algorithm=schedule.algorithm,
            protocol=protocol.value,
            channels=schedule.channels,
            latency=on.call(protocol) + links + float(steps @ on.steps(protocol)),
            per_byte=float(seconds[worst]) * WIRE_BYTES[protocol],
            bottleneck=worst if seconds[worst] > 0 else -1,
            payload=float(payload[worst]),
        )
        for protocol in protocols
    ]
