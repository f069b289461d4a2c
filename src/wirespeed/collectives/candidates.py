"""Candidates: the ways that the library has to do an operation, each with its time over size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wirespeed.catalog import gpu
from wirespeed.collectives.algorithms.direct import alltoall_schedule, sendrecv_schedule
from wirespeed.collectives.algorithms.nvls import nvls_schedule, nvls_tree_schedule
from wirespeed.collectives.algorithms.ring import ring_schedule
from wirespeed.collectives.algorithms.tree import tree_schedule
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
    simple = (Protocol.SIMPLE,)
    if operation is Operation.ALLTOALL:
        return tuple(lay(alltoall_schedule(len(group)), on, simple))
    if operation is Operation.SENDRECV:
        return tuple(lay(sendrecv_schedule(len(group)), on, simple))
    layout = layout_of(cluster, group)
    found = lay(ring_schedule(operation, find_rings(layout)), on, tuple(Protocol))
    if operation is Operation.ALL_REDUCE:
        found += lay(tree_schedule(layout), on, tuple(Protocol))
        if has_nvls(collective, cluster, group):
            schedule = (
                nvls_schedule(operation, layout, fabric_reduces=False)
                if len(layout) == 1
                else nvls_tree_schedule(layout)
            )
            found += lay(schedule, on, simple)
    return tuple(found)


def has_nvls(collective: Collective, cluster: Cluster, group: Group) -> bool:
    """Whether NVSwitches can add up and multicast for this call.

    They do from the third generation on (Hopper), for floating point and never for 8-bit integers,
    on three GPUs or more. Source: NCCL 2.17 release notes; NVIDIA NVSwitch, Hot Chips 34.
    """
    row = gpu(cluster.machine.gpu)
    env = cluster.software.env.get("NCCL_NVLS_ENABLE", "1")
    return (
        cluster.machine.has_nvswitch
        and cluster.abilities.nvls
        and env != "0"
        and (row.cc or 0) >= 90
        and len(group) > 2
        and collective.dtype not in ("int8", "uint8")
    )


def lay(schedule: Schedule, on: Carrier, protocols: Sequence[Protocol]) -> list[Candidate]:
    """The candidates that a schedule makes under each protocol on its cluster and group."""
    topology = on.cluster.topology
    wire, payload = np.zeros(topology.resources), np.zeros(topology.resources)
    links, steps, switched = 0.0, np.zeros(len(Medium)), np.zeros(2)
    for phase in schedule.phases:
        carried = on.carry(phase.transfers)
        wire += carried.wire * phase.repeat
        payload += carried.payload * phase.repeat
        waits = phase.waits
        if waits is None and len(phase.transfers):
            # Nothing waits for anything else: one step of the slowest kind.
            slowest = np.lexsort((carried.latency, carried.medium))[-1]
            waits = np.zeros(len(phase.transfers))
            waits[slowest] = phase.repeat
        if waits is None:
            waits = np.zeros(0)
        links += float(waits @ carried.latency)
        steps += np.bincount(carried.medium, waits, minlength=len(Medium))
        if phase.spokes is not None:
            carried = on.carry_spokes(phase.spokes)
            wire += carried.wire
            payload += carried.payload
            switched += np.array(phase.spoke_waits)
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = np.where(wire > 0, wire / topology.capacity, 0.0)
    worst = int(seconds.argmax())
    fill, knee = on.filling(steps, switched)
    return [
        Candidate(
            algorithm=schedule.algorithm,
            protocol=protocol.value,
            channels=schedule.channels,
            latency=on.call(protocol) + links + on.waiting(steps, switched, protocol),
            per_byte=float(seconds[worst]) * WIRE_BYTES[protocol],
            bottleneck=worst if seconds[worst] > 0 else -1,
            payload=float(payload[worst]),
            fill=fill if protocol is Protocol.SIMPLE else 0.0,
            knee=knee,
        )
        for protocol in protocols
    ]
