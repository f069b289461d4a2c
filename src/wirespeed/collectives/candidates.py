"""Candidates: the ways that the library has to do an operation, each with its time over size."""

from __future__ import annotations

from wirespeed.catalog import gpu, parameters
from wirespeed.collectives.algorithms.direct import alltoall_schedule, sendrecv_schedule
from wirespeed.collectives.algorithms.nvls import nvls_schedule, nvls_tree_schedule
from wirespeed.collectives.algorithms.ring import ring_schedule
from wirespeed.collectives.algorithms.tree import tree_schedule
from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.copies import copy_candidate
from wirespeed.collectives.costs import costs_of
from wirespeed.collectives.laid import Laid, lay, price
from wirespeed.collectives.layout import layout_of
from wirespeed.collectives.operation import COPIES, Collective, Operation
from wirespeed.collectives.protocol import Protocol
from wirespeed.collectives.rings import find_rings
from wirespeed.topology.cluster import Cluster, Group


def candidates(collective: Collective, cluster: Cluster, group: Group) -> tuple[Candidate, ...]:
    """All ways to do the operation on this group; at least one."""
    operation = collective.operation
    if operation in COPIES:
        return (copy_candidate(collective, cluster, group),)
    costs = costs_of(cluster, parameters())
    return tuple(
        price(laid, costs, protocol)
        for laid in laid_schedules(collective, cluster, group)
        for protocol in protocols_of(laid.algorithm)
    )


def protocols_of(algorithm: str) -> tuple[Protocol, ...]:
    """The protocols under which an algorithm runs."""
    return tuple(Protocol) if algorithm in ("Ring", "Tree") else (Protocol.SIMPLE,)


def laid_schedules(collective: Collective, cluster: Cluster, group: Group) -> list[Laid]:
    """Every algorithm that can do the operation (no plain copy) on this group, on its resources."""
    operation, on = collective.operation, Carrier(cluster, group)
    if operation is Operation.ALLTOALL:
        return [lay(alltoall_schedule(len(group)), on)]
    if operation is Operation.SENDRECV:
        return [lay(sendrecv_schedule(len(group)), on)]
    layout = layout_of(cluster, group)
    found = [lay(ring_schedule(operation, find_rings(layout)), on)]
    if operation is Operation.ALL_REDUCE:
        found.append(lay(tree_schedule(layout), on))
        if has_nvls(collective, cluster, group):
            one = len(layout) == 1
            schedule = (
                nvls_schedule(operation, layout, fabric_reduces=False)
                if one
                else nvls_tree_schedule(layout)
            )
            found.append(lay(schedule, on))
    return found


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
