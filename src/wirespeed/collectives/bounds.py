"""Bounds: how long an operation takes at the very least, whatever the schedule.

A cut splits the GPUs in two; what has to cross it cannot cross faster than all its links together.
Cuts looked at: every GPU, every node, every NVLink domain against the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.operation import COPIES, Operation
from wirespeed.collectives.peers import domain_of
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Least seconds for each byte of the operation, with the network's help and without."""

    network: float
    p2p: float

    def with_network(self, size: float) -> float:
        """[s] where switches may reduce and multicast."""
        return self.network * size

    def between_gpus(self, size: float) -> float:
        """[s] where only GPUs send, receive and add."""
        return self.p2p * size


def bounds_of(operation: Operation, cluster: Cluster, group: Group) -> Bounds:
    """The bounds of an operation on a group; zero where nothing limits it."""
    ranks = len(group)
    network = p2p = 0.0
    for members, out in _cuts(cluster, group):
        inside = np.bincount(members)
        counts = inside[inside > 0].astype(np.float64)
        crossing = _crossing(operation, counts, ranks)
        with np.errstate(divide="ignore"):
            network = max(network, float((crossing / out).max(initial=0.0)))
        if counts.max() == 1 and operation is Operation.ALL_REDUCE:
            # Every addition needs one message: 2(n-1) buffers leave the GPUs in all.
            p2p = max(p2p, 2 * (ranks - 1) / float(out.sum()))
    return Bounds(network, max(network, p2p))


def _crossing(operation: Operation, inside: Floats, ranks: int) -> Floats:
    """Bytes that must leave or enter a side with so many of the ranks, for each byte."""
    outside = ranks - inside
    match operation:
        case Operation.ALL_REDUCE | Operation.BROADCAST | Operation.REDUCE:
            return np.where(outside > 0, 1.0, 0.0)
        case Operation.ALL_GATHER | Operation.REDUCE_SCATTER:
            return np.maximum(inside, outside) / ranks * (outside > 0)
        case Operation.ALLTOALL:
            return inside * outside / ranks
        case _ if operation in COPIES:
            return np.zeros_like(inside)
    return np.where(outside > 0, 1.0, 0.0)


def _cuts(cluster: Cluster, group: Group) -> list[tuple[npt.NDArray[np.int64], Floats]]:
    """For each way to cut: [ranks] the side that each belongs to, [sides] B/s out of each."""
    topology = cluster.topology
    ranks = np.arange(len(group))
    domain = domain_of(cluster, group.gpus)
    cuts = [(ranks, _gpu_egress(cluster, group))]
    if len(np.unique(domain)) > 1:
        _, sides = np.unique(domain, return_inverse=True)
        nics = topology.of_kind(ComponentKind.NIC)
        nics = nics[topology.rail[nics] >= 0]
        up = topology.capacity[topology.links + nics] > 0
        owner = domain_of_nics(cluster, group, nics)
        cuts.append((sides, _summed(owner, topology.rate[nics] * up)))
    return cuts


def domain_of_nics(
    cluster: Cluster, group: Group, nics: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """The side of the group's domains that each NIC serves, counted from 0; -1 for none."""
    topology = cluster.topology
    domain = domain_of(cluster, group.gpus)
    by_node = domain_of(cluster, nics.astype(np.int64))
    order = {int(d): k for k, d in enumerate(np.unique(domain))}
    nodes = set(topology.node[group.gpus].tolist())
    return np.array(
        [
            order.get(int(d), -1) if int(topology.node[n]) in nodes else -1
            for d, n in zip(by_node, nics, strict=True)
        ],
        np.int64,
    )


def _gpu_egress(cluster: Cluster, group: Group) -> Floats:
    topology = cluster.topology
    out = np.bincount(
        topology.source, topology.capacity[: topology.links], minlength=topology.components
    )
    return out[group.gpus].astype(np.float64)


def _summed(owner: npt.NDArray[np.int64], values: Floats) -> Floats:
    """Values added up by owner; those without one (-1) are left out."""
    kept = owner >= 0
    return np.bincount(owner[kept], values[kept]).astype(np.float64)
