"""as_set: a cluster as the library sees it, once its environment has taken abilities away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wirespeed.collectives.library.environment import LibrarySettings, parse_settings
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.model import Topology


def as_set(cluster: Cluster) -> Cluster:
    """The cluster with what NCCL_NET, _IB_DISABLE, _IB_HCA, _PXN_DISABLE and _CROSS_NIC leave.

    What a change took away stays away. Doing it twice changes nothing more.
    """
    if not cluster.software.env:
        return cluster
    settings, _ = parse_settings(cluster.software)
    abilities = cluster.abilities
    barred = _barred(cluster, settings)
    none_left = _are_all(barred, cluster)
    rdma = settings.rdma and not none_left
    socket = abilities.socket or not rdma
    limited = replace(
        abilities,
        socket=socket,
        gdr=abilities.gdr and rdma,
        pxn=abilities.pxn and settings.pxn,
        cross_nic=abilities.cross_nic and settings.cross_nic > 0,
    )
    # Sockets take whatever device there is.
    router = cluster.router if none_left else cluster.router.without(np.array(barred, np.int64))
    if limited == abilities and router is cluster.router:
        return cluster
    return replace(cluster, abilities=limited, router=router)


def device_name(topology: Topology, nic: int) -> str:
    """What the library calls a NIC (component id): its own name, or mlx5_ and its number."""
    return topology.labels.get(nic, f"mlx5_{topology.index[nic]}")


def leaves_no_nic(cluster: Cluster, settings: LibrarySettings) -> bool:
    """Whether NCCL_IB_HCA names none of the devices: the library then takes sockets."""
    return _are_all(_barred(cluster, settings), cluster)


def _are_all(barred: list[int], cluster: Cluster) -> bool:
    return len(barred) == len(cluster.topology.of_kind(ComponentKind.NIC)) > 0


def _barred(cluster: Cluster, settings: LibrarySettings) -> list[int]:
    """NICs (component ids) that NCCL_IB_HCA leaves out."""
    if not settings.hca.names:
        return []
    topology = cluster.topology
    nics = topology.of_kind(ComponentKind.NIC).tolist()
    return [nic for nic in nics if not settings.hca.allows(device_name(topology, nic))]
