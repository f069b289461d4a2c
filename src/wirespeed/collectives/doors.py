"""Doors: by which NIC a message between two nodes leaves and arrives.

A message arrives by the NIC next to its target. With PXN it leaves by the source node's NIC on that
same rail, handed over NVLink to the GPU next to it, so that it crosses no rail; without, by the NIC
next to its source. Where rails do not meet and the source's node has lost that NIC, it goes along
the source's own rail and is fetched from the target node's NIC there. Source: NVIDIA's description
of PXN, NCCL 2.12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.peers import Leg, peer_leg
from wirespeed.errors import Infeasible
from wirespeed.topology.address import name_of
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Doors:
    """Ways out of and into nodes, for messages that do not name their NICs.

    Attributes:
        nic: [ranks] the NIC next to each rank; -1 where its node has none.
        on_rail: [nodes, rails] the compute NIC of a node on a rail; -1 for none that works.
        proxy: [nodes, rails] the GPU of the group next to it; -1 for none.
    """

    nic: Ids
    on_rail: Ids
    proxy: Ids

    def choose(
        self, cluster: Cluster, group: Group, source: Ids, target: Ids, arrive: Ids
    ) -> Routed:
        """NICs and proxies for messages between ranks of different domains.

        `arrive` is the NIC that each arrives by, -1 for the one next to its target. Infeasible,
        naming the pair, where two nodes have no rail in common.
        """
        topology = cluster.topology
        nic_in = np.where(arrive >= 0, arrive, self.nic[target])
        nic_out = self.nic[source]
        gpu = group.gpus[source]
        for ranks, nics in ((source, nic_out), (target, nic_in)):
            if (nics < 0).any():
                raise unconnected(cluster, int(group.gpus[ranks[nics < 0][0]]))
        same_rail = self._on(self.on_rail, topology.node[gpu], topology.rail[nic_in])
        proxy = self._on(self.proxy, topology.node[gpu], topology.rail[nic_in])
        apart = _apart(cluster, nic_out, nic_in)
        pxn = (proxy >= 0) & (same_rail >= 0) & self._may_proxy(cluster, group)
        moved = (pxn | apart) & (same_rail >= 0)
        stuck = apart & ~moved
        if stuck.any():
            peer = group.gpus[target]
            there = self._on(self.on_rail, topology.node[peer], topology.rail[nic_out])
            nic_in = np.where(stuck & (there >= 0), there, nic_in)
            lost = np.flatnonzero(stuck & _apart(cluster, nic_out, nic_in))
            if len(lost):
                raise _no_common_rail(cluster, int(gpu[lost[0]]), int(peer[lost[0]]))
        return Routed(
            via=np.where(pxn, proxy, gpu),
            nic_out=np.where(moved, same_rail, nic_out),
            nic_in=nic_in,
        )

    @staticmethod
    def _on(table: Ids, node: Ids, rail: Ids) -> Ids:
        """[t] what a table has for a node and rail; -1 for a rail that it does not know."""
        known = rail < table.shape[1]
        return np.where(known, table[node, np.where(known, rail, 0)], -1)

    @staticmethod
    def _may_proxy(cluster: Cluster, group: Group) -> bool:
        env = cluster.software.env
        off = not cluster.abilities.pxn or env.get("NCCL_PXN_DISABLE", "0") not in ("", "0")
        first = cluster.topology.node[group.gpus] == cluster.topology.node[group.gpus[0]]
        peers = group.gpus[first]
        if off or len(peers) < 2:
            return False
        return peer_leg(cluster, int(peers[0]), int(peers[-1]), len(group)) is Leg.NVLINK


@dataclass(frozen=True, slots=True, eq=False)
class Routed:
    """[t] components: the GPU that sends (the source or its proxy), NICs out and in."""

    via: Ids
    nic_out: Ids
    nic_in: Ids


def doors_of(cluster: Cluster, group: Group) -> Doors:
    """The doors of a group's nodes. GPUs that share NICs take turns by their index."""
    topology, router = cluster.topology, cluster.router
    nics = router.usable_nics(np.unique(topology.unit_of(group.gpus)))
    rails = int(topology.rail[nics].max(initial=-1)) + 1
    on_rail = np.full((topology.nodes, max(rails, 1)), -1, np.int64)
    on_rail[topology.node[nics], topology.rail[nics]] = nics
    proxy = np.full_like(on_rail, -1)
    own = np.full(len(group), -1, np.int64)
    for rank, gpu in enumerate(group.gpus.tolist()):
        near = router.nearest_nics(gpu)
        if not near:
            continue
        own[rank] = near[int(topology.index[gpu]) % len(near)]
        node = int(topology.node[gpu])
        for nic in near:
            if proxy[node, topology.rail[nic]] < 0:
                proxy[node, topology.rail[nic]] = gpu
        proxy[node, topology.rail[own[rank]]] = gpu
    return Doors(own, on_rail, proxy)


def _apart(cluster: Cluster, source: Ids, target: Ids) -> npt.NDArray[np.bool_]:
    """[t] whether the fabric joins two NICs nowhere."""
    wiring = cluster.topology.wiring
    assert wiring is not None
    return ~wiring.reachable(source.astype(np.int32), target.astype(np.int32))


def unconnected(cluster: Cluster, gpu: int) -> Infeasible:
    """The error for a GPU that no network reaches."""
    topology = cluster.topology
    nics = topology.of_kind(ComponentKind.NIC)
    mine = (topology.rail[nics] >= 0) & (topology.node[nics] == topology.node[gpu])
    what = f"{name_of(topology, gpu)} has no network to other nodes"
    if topology.wiring is not None and mine.any():
        return Infeasible(
            what,
            why="every compute NIC of its node, or what it hangs on, is down",
            remedy="bring one up, or leave the node out with --ranks",
        )
    return Infeasible(
        what,
        why="its node has no compute NIC, or no fabric joins the nodes",
        remedy="name a fabric with --fabric, or describe the NICs in a cluster TOML",
    )


def _no_common_rail(cluster: Cluster, source: int, target: int) -> Infeasible:
    """The error for two GPUs whose nodes have working NICs, but not on one rail."""
    names = [name_of(cluster.topology, gpu) for gpu in (source, target)]
    return Infeasible(
        f"no way from {names[0]} to {names[1]}",
        why="the fabric joins NICs of one rail, and their nodes have no rail left in common",
        remedy="bring a NIC up, or leave one of the nodes out with --ranks",
    )
