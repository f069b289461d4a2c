"""Peers: over what two GPUs of a node exchange data, as the library decides it."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

from wirespeed.catalog import gpu
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.eligibility import gdr_level, level_of, p2p_level
from wirespeed.topology.kinds import PathType
from wirespeed.topology.pairs import Pairs


class Leg(IntEnum):
    """One leg of a message inside a node."""

    NVLINK = 0
    PCIE = 1
    PCIE_FAR = 2
    """Peer to peer over PCIe and through another socket."""
    HOST = 3
    """Written to shared host memory by one side and read by the other."""
    ROOT = 4
    """Peer to peer by way of the root complex, where ACS or an IOMMU redirects it."""


def peer_leg(cluster: Cluster, source: int, target: int, ranks: int) -> Leg:
    """The leg between two GPUs of one node (component ids) in a group of `ranks`.

    NVLink wherever it is; PCIe peer to peer where driver and distance allow it (up to PXB, or
    NCCL_P2P_LEVEL), else host memory. Source: NCCL's documented defaults.
    """
    return _leg(cluster, cluster.router.path_type(source, target), ranks)


def peer_legs(cluster: Cluster, pairs: Pairs, ranks: int) -> npt.NDArray[np.int64]:
    """[rows] `peer_leg` of each group of transfers between GPUs."""
    distances, row = np.unique(cluster.router.path_types(pairs), return_inverse=True)
    legs = np.array([_leg(cluster, PathType(d), ranks) for d in distances.tolist()], np.int64)
    return np.asarray(legs[row.reshape(-1)])


def _leg(cluster: Cluster, distance: PathType, ranks: int) -> Leg:
    if distance > p2p_limit(cluster, ranks):
        return Leg.HOST
    if distance <= PathType.NVB:
        return Leg.NVLINK
    if not has_pcie_p2p(cluster) or cluster.abilities.acs:
        return Leg.HOST
    return Leg.PCIE_FAR if distance == PathType.SYS else Leg.PCIE


def copy_leg(cluster: Cluster, source: int, target: int) -> Leg:
    """The leg of a plain copy: the driver's, to whom the library's distance limits are nothing."""
    distance = cluster.router.path_type(source, target)
    if not cluster.abilities.p2p:
        return Leg.HOST
    if distance <= PathType.NVB:
        return Leg.NVLINK
    if not has_pcie_p2p(cluster) or cluster.abilities.acs:
        return Leg.HOST
    return Leg.PCIE_FAR if distance == PathType.SYS else Leg.PCIE


def p2p_limit(cluster: Cluster, ranks: int) -> PathType:
    """The farthest distance at which the library uses peer to peer; LOC switches it off."""
    machine = cluster.machine
    if not cluster.abilities.p2p:
        return PathType.LOC
    farthest = p2p_level(cluster.software.env, machine.cpu_vendor, ranks)
    stated = level_of(cluster.software.env.get("NCCL_P2P_LEVEL", "")) is not None
    # What is known of this machine goes before a default, but not before what somebody has set.
    lifted = machine.peer_to_peer and not stated and farthest > PathType.LOC
    return PathType.SYS if lifted else farthest


def has_pcie_p2p(cluster: Cluster) -> bool:
    """Whether the driver lets these GPUs reach each other's memory over PCIe."""
    if cluster.machine.peer_to_peer is not None:
        return cluster.machine.peer_to_peer
    return gpu(cluster.machine.gpu).pcie_p2p


def nic_leg(cluster: Cluster, gpu: int, nic: int) -> Leg:
    """The leg between a GPU and the NIC that serves it (component ids of one unit).

    GPUDirect where drivers allow it and the two are near: up to PXB (P2C on Grace), or
    NCCL_NET_GDR_LEVEL; else through host memory. ACS sends it by way of the root complex.
    """
    if not cluster.abilities.gdr:
        return Leg.HOST
    distance = cluster.router.path_type(gpu, nic, pxn=False)
    if not cluster.abilities.gdr_far and distance > gdr_level(cluster.software.env):
        return Leg.HOST
    return Leg.ROOT if cluster.abilities.acs else Leg.PCIE


def domain_of(cluster: Cluster, gpus: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """[n] which GPUs reach each other without the network: their node, or their rack's domain."""
    env = cluster.software.env
    unused = env.get("NCCL_MNNVL_ENABLE") == "0" or p2p_limit(cluster, len(gpus)) < PathType.NVL
    topology = cluster.topology
    return topology.node[gpus].astype(np.int64) if unused else topology.unit_of(gpus)
