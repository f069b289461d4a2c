"""Candidates: the ways that the library has to do an operation, each with its time over size."""

from __future__ import annotations

import numpy as np

from wirespeed.collectives.algorithms.direct import alltoall_schedule, sendrecv_schedule
from wirespeed.collectives.algorithms.ring import ring_schedule
from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.carry import Carrier, Protocol, carrier
from wirespeed.collectives.copies import copy_candidate
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
        return (lay(alltoall_schedule(len(group)), on, Protocol.SIMPLE),)
    if operation is Operation.SENDRECV:
        return (lay(sendrecv_schedule(len(group)), on, Protocol.SIMPLE),)
    schedule = ring_schedule(operation, find_rings(cluster, group))
    forced = cluster.software.settings.get("proto")
    protocols = [p for p in Protocol if forced is None or p.value.lower() == forced.lower()]
    return tuple(lay(schedule, on, protocol) for protocol in protocols)


def lay(schedule: Schedule, on: Carrier, protocol: Protocol) -> Candidate:
    """The candidate that a schedule makes under a protocol on its cluster and group."""
    topology = on.cluster.topology
    wire, payload = np.zeros(topology.resources), np.zeros(topology.resources)
    latency = on.call(protocol)
    for phase in schedule.phases:
        carried = on.carry(phase.transfers, protocol)
        bytes_ = phase.transfers.share[carried.paths.owner()] * carried.paths.share * phase.repeat
        resource, size = carried.paths.resource, topology.resources
        wire += np.bincount(resource, bytes_ * carried.factor, minlength=size)
        payload += np.bincount(resource, bytes_, minlength=size)
        step = carried.latency.mean() if phase.chained else carried.latency.max(initial=0.0)
        latency += phase.repeat * phase.depth * float(step)
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = np.where(wire > 0, wire / topology.capacity, 0.0)
    worst = int(seconds.argmax())
    return Candidate(
        algorithm=schedule.algorithm,
        protocol=protocol.value,
        channels=schedule.channels,
        latency=latency,
        per_byte=float(seconds[worst]),
        bottleneck=worst if seconds[worst] > 0 else -1,
        payload=float(payload[worst]),
    )
