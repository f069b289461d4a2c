"""Doors: by which NIC a message between two nodes leaves and arrives.

A message arrives by the NIC next to its target. With PXN it leaves by the source node's NIC on that
same rail, handed over NVLink to the GPU next to it, so that it crosses no rail; without, by the NIC
next to its source. Source: NVIDIA's description of PXN, NCCL 2.12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.peers import Leg, peer_legs
from wirespeed.errors import Infeasible
from wirespeed.topology.address import name_of
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind, PathType

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Doors:
    """Ways out of and into nodes, for messages that do not name their NICs.

    Attributes:
        nic: [ranks] the NIC next to each rank; -1 where its node has none.
        on_rail: [nodes, rails] the compute NIC of a node on a rail; -1 for none.
        proxy: [nodes, rails] the GPU of the group next to it; -1 for none.
        turns: over how many NICs of a rank its channels are spread, one after the other.
    """

    nic: Ids
    on_rail: Ids
    proxy: Ids
    turns: int = 1

    def choose(
        self, cluster: Cluster, group: Group, source: Ids, target: Ids, arrive: Ids
    ) -> Routed:
        """NICs and proxies for messages between ranks of different domains.

        `arrive` is the NIC that each arrives by, -1 for the one next to its target.
        """
        topology = cluster.topology
        nic_in = np.where(arrive >= 0, arrive, self.nic[target])
        nic_out = self.nic[source]
        gpu = group.gpus[source]
        for ranks, nics in ((source, nic_out), (target, nic_in)):
            if (nics < 0).any():
                raise unconnected(cluster, int(group.gpus[ranks[nics < 0][0]]))
        rail, node = topology.rail[nic_in], topology.node[gpu]
        known = rail < self.on_rail.shape[1]
        same_rail = np.where(known, self.on_rail[node, np.where(known, rail, 0)], -1)
        proxy = np.where(known, self.proxy[node, np.where(known, rail, 0)], -1)
        wiring = topology.wiring
        assert wiring is not None
        apart = ~wiring.reachable(nic_out.astype(np.int32), nic_in.astype(np.int32))
        pxn = (same_rail >= 0) & _hands_on(cluster, group, gpu, proxy)
        moved = (pxn | apart) & (same_rail >= 0)
        via, leave = np.where(pxn, proxy, gpu), np.where(moved, same_rail, nic_out)
        stuck = np.flatnonzero(~wiring.reachable(leave.astype(np.int32), nic_in.astype(np.int32)))
        if len(stuck):
            # The node that sends lacks that rail: the sender's own if the other has that, else any.
            here = self.on_rail[node[stuck]]
            there = self.on_rail[topology.node[group.gpus[target[stuck]]]]
            both = (here >= 0) & (there >= 0)
            own = topology.rail[nic_out[stuck]]
            row = np.arange(len(stuck))
            chosen = np.where(both[row, own], own, both.argmax(axis=1))
            found = both[row, chosen]
            row, stuck, chosen = row[found], stuck[found], chosen[found]
            via[stuck], leave[stuck] = gpu[stuck], here[row, chosen]
            nic_in[stuck] = there[row, chosen]
        return Routed(via=via, nic_out=leave, nic_in=nic_in)

    def beside(self, cluster: Cluster, group: Group, source: Ids, nic: Ids) -> Ids:
        """[t] the GPU that hands messages to NICs of its node: the source, or its proxy with PXN.

        A source that is next to the NIC needs none.
        """
        topology, gpu = cluster.topology, group.gpus[source]
        proxy = self.proxy[topology.node[nic], topology.rail[nic]]
        near = (_nearest(cluster, gpu)[0] == nic[:, None]).any(axis=1)
        return np.where(~near & _hands_on(cluster, group, gpu, proxy), proxy, gpu)


def _hands_on(cluster: Cluster, group: Group, gpu: Ids, proxy: Ids) -> npt.NDArray[np.bool_]:
    """[t] whether GPUs hand messages to these others, which is PXN: over NVLink alone; -1 never.

    One that is next to the NIC itself takes it, whichever its own is.
    """
    env = cluster.software.env
    found = proxy >= 0
    if not cluster.abilities.pxn or env.get("NCCL_PXN_DISABLE", "0") not in ("", "0"):
        return np.zeros_like(found)
    pairs = cluster.router.pairs(gpu[found], proxy[found])
    legs = peer_legs(cluster, pairs, len(group))[pairs.row]
    found[found] = (legs == Leg.NVLINK) | (gpu[found] == proxy[found])
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Routed:
    """[t] components: the GPU that sends (the source or its proxy), NICs out and in."""

    via: Ids
    nic_out: Ids
    nic_in: Ids


def doors_of(cluster: Cluster, group: Group, turn: int = 0) -> Doors:
    """The doors of a group's nodes in one of the `turns` in which channels use its NICs.

    GPUs share the NICs that are nearest to them: of n NICs that m GPUs are nearest to, channels of
    each take n / m in turn, counted up. Source: NVIDIA/nccl, src/graph/topo.cc,
    ncclTopoGetLocalNet, 2.18 to 2.28. A GPU with none in its NUMA node keeps to one: what is
    published of such nodes (Polaris) is far slower than several would make it.
    """
    topology, router = cluster.topology, cluster.router
    nics = topology.of_kind(ComponentKind.NIC)
    nics = nics[(topology.rail[nics] >= 0) & router.usable_nics()[nics]]
    rails = int(topology.rail[nics].max(initial=-1)) + 1
    on_rail = np.full((topology.nodes, max(rails, 1)), -1, np.int64)
    on_rail[topology.node[nics], topology.rail[nics]] = nics
    proxy = np.full_like(on_rail, -1)
    gpus = group.gpus
    node = topology.node[gpus]
    near, distance = _nearest(cluster, gpus)
    rank, column = np.nonzero(near >= 0)
    count = np.bincount(rank, minlength=len(gpus))
    each = np.where(distance < PathType.SYS, -(-count // _sharing(near, distance)), 1)
    first = _mirrored(topology.index[gpus].astype(np.int64), count)
    among = np.maximum(count, 1)
    own = near[np.arange(len(gpus)), (first + turn % np.maximum(each, 1)) % among]
    # The nearest GPU stands in for a NIC: of several the last whose own it is, else the first.
    # One whose NIC is gone borrows another's, from afar.
    mine = (column - first[rank]) % among[rank] < each[rank]
    place = np.where(mine, gpus[rank], -gpus[rank])
    order = np.lexsort((place, mine, -distance[rank]))
    rank, column = rank[order], column[order]
    proxy[node[rank], topology.rail[near[rank, column]]] = gpus[rank]
    return Doors(own, on_rail, proxy, int(np.lcm.reduce(np.unique(each[each > 0]), initial=1)))


def _sharing(near: Ids, distance: Ids) -> Ids:
    """[gpus] how many GPUs are nearest to the first NIC of each; 1 where it has none."""
    rank, column = np.nonzero(near >= 0)
    nic = near[rank, column]
    least = np.full(int(near.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, nic, distance[rank])
    closest = np.bincount(nic[distance[rank] == least[nic]], minlength=len(least))
    return np.where(near[:, 0] >= 0, closest[near[:, 0]], 1)


def _mirrored(index: Ids, count: Ids) -> Ids:
    """[gpus] where GPUs begin among so many NICs: far apart, by their index's bits in reverse."""
    begin = index % np.maximum(count, 1)
    for n in np.unique(count[count > 2]).tolist():
        bits = n.bit_length() - 1
        if n == 1 << bits:
            reverse = [int(f"{k:0{bits}b}"[::-1], 2) for k in range(n)]
            begin = np.where(count == n, np.array(reverse)[index % n], begin)
    return begin


def _nearest(cluster: Cluster, gpus: Ids) -> tuple[Ids, Ids]:
    """[gpus, most] the compute NICs nearest to each, filled up with -1; [gpus] their path type."""
    topology, router = cluster.topology, cluster.router
    pairs = router.pairs(gpus, gpus)
    begin = topology.first_component[pairs.unit]
    found = [router.nearest_nics(int(gpus[k])) for k in pairs.example]
    table = np.full((len(found), max(1, *map(len, found))), -1, np.int64)
    kind = np.zeros(len(found), np.int64)
    for row, (k, nics) in enumerate(zip(pairs.example.tolist(), found, strict=True)):
        table[row, : len(nics)] = np.array(nics, np.int64) - begin[k]
        if nics:
            kind[row] = router.path_type(int(gpus[k]), nics[0], pxn=False)
    local = table[pairs.row]
    return np.where(local >= 0, local + begin[:, None], -1), kind[pairs.row]


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
