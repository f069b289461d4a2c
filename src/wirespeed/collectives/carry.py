"""Carrier: what each message does to which resource, and how long a step of it waits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.costs import Medium, Term
from wirespeed.collectives.doors import Routed, doors_of, unconnected
from wirespeed.collectives.peers import Leg, domain_of, nic_leg, peer_legs
from wirespeed.collectives.schedule import Spokes, Transfers
from wirespeed.collectives.spokes import spoke_loads
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.ways import Way

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


_WAY = {
    Leg.NVLINK: Way.DIRECT,
    Leg.PCIE: Way.PCIE,
    Leg.PCIE_FAR: Way.PCIE,
    Leg.HOST: Way.HOST,
    Leg.ROOT: Way.ROOT,
}
_TERM = {
    Leg.NVLINK: Term.NVLINK,
    Leg.PCIE: Term.PCIE,
    Leg.PCIE_FAR: Term.PCIE_FAR,
    Leg.HOST: Term.HOST,
    Leg.ROOT: Term.PCIE,
}
_MEDIUM = {leg: Medium.NVLINK if leg is Leg.NVLINK else Medium.PCIE for leg in Leg}


_PCIE = (LinkKind.PCIE,)
_FABRIC = (LinkKind.NVLINK, LinkKind.XGMI)


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """What transfers do.

    Attributes:
        loads: by kind of traffic, [resources] bytes on each for each byte of the collective.
        latency: [t] of the links on the way [s].
        medium: [t] the slowest medium on the way.
    """

    loads: dict[Term, Floats]
    latency: Floats
    medium: Ids

    def add(self, term: Term, load: Floats) -> None:
        """Put more bytes of a kind on resources."""
        if term in self.loads:
            self.loads[term] += load
        else:
            self.loads[term] = load


@dataclass(frozen=True, slots=True, eq=False)
class Carrier:
    """Lays messages of one group onto one cluster.

    `ranks` is how many the library counts where the group is several of so many; else None.
    """

    cluster: Cluster
    group: Group
    ranks: int | None = None

    def carry(self, transfers: Transfers) -> Moved:
        """The transfers on resources; Infeasible where two GPUs have no way to each other."""
        source, target = self.group.gpus[transfers.source], self.group.gpus[transfers.target]
        domain = domain_of(self.cluster, self.group.gpus)
        inside = domain[transfers.source] == domain[transfers.target]
        count = len(transfers)
        moved = Moved({}, np.zeros(count), np.zeros(count, np.int64))
        near, far = np.flatnonzero(inside), np.flatnonzero(~inside)
        if len(near):
            self._inside(moved, near, source, target, transfers.share)
        if len(far):
            self._across(moved, far, source, target, transfers)
        return moved

    def carry_spokes(self, spokes: Spokes) -> dict[Term, Floats]:
        """What goes to and from switches that add up and multicast."""
        inner, outer = spoke_loads(self.cluster.topology, self.group, spokes)
        return {Term.NVLS: inner, Term.NETWORK: outer}

    def _inside(self, moved: Moved, near: Ids, source: Ids, target: Ids, share: Floats) -> None:
        router = self.cluster.router
        pairs = router.pairs(source[near], target[near])
        legs = peer_legs(self.cluster, pairs, self.ranks or len(self.group))
        for leg in Leg:
            rows = near[legs[pairs.row] == leg]
            if len(rows):
                moved.medium[rows] = _MEDIUM[leg]
                moved.latency[rows] += self.put(
                    moved, source[rows], target[rows], share[rows], leg, _TERM[leg]
                )

    def _across(
        self,
        moved: Moved,
        far: Ids,
        source: Ids,
        target: Ids,
        transfers: Transfers,
    ) -> None:
        cluster = self.cluster
        if cluster.topology.wiring is None:
            raise unconnected(cluster, int(source[far[0]]))
        moved.medium[far] = Medium.NETWORK
        named = (transfers.nic_out[far] >= 0) | (transfers.nic_in[far] >= 0)
        turns = 1 if named.all() else doors_of(cluster, self.group).turns
        latency = np.zeros(len(far))
        for turn in range(turns):
            routed = self._routed(transfers, far, source, turn)
            ends = source[far], target[far]
            part = self._by_nics(moved, *ends, routed, transfers.share[far] / turns)
            np.maximum(latency, part, out=latency)
        moved.latency[far] += latency

    def _by_nics(
        self, moved: Moved, source: Ids, target: Ids, routed: Routed, share: Floats
    ) -> Floats:
        """Put messages between nodes on resources by these NICs; [t] latency of the links [s]."""
        cluster, wiring = self.cluster, self.cluster.topology.wiring
        assert wiring is not None
        latency = self.leave(moved, source, routed, share)
        latency += self.to_nic(moved, routed.nic_in, target, share)
        paths = wiring.paths(
            routed.nic_out.astype(np.int32),
            routed.nic_in.astype(np.int32),
            routing=cluster.routing,
            seed=cluster.seed,
            capacity=cluster.topology.capacity,
        )
        owner = paths.owner()
        size = cluster.topology.resources
        load = np.bincount(paths.resource, share[owner] * paths.share, minlength=size)
        moved.add(Term.NETWORK, load.astype(np.float64, copy=False))
        wires = paths.share * cluster.topology.latency[paths.resource]
        return latency + np.bincount(owner, wires, minlength=len(source))

    def leave(self, moved: Moved, source: Ids, routed: Routed, share: Floats) -> Floats:
        """Put what leaves nodes on resources up to its NICs; [t] latency of the links there [s]."""
        latency = np.zeros(len(source))
        handed = np.flatnonzero(routed.via != source)
        if len(handed):
            ends = source[handed], routed.via[handed]
            latency[handed] = self.put(moved, *ends, share[handed], Leg.NVLINK, Term.NVLINK)
        return latency + self.to_nic(moved, routed.via, routed.nic_out, share)

    def to_nic(self, moved: Moved, source: Ids, target: Ids, share: Floats) -> Floats:
        """Put transfers between GPUs and NICs on resources; [t] latency of their links [s]."""
        pairs = self.cluster.router.pairs(source, target)
        legs = np.array([self._nic_leg(int(source[t]), int(target[t])) for t in pairs.example])
        latency = np.zeros(len(source))
        for leg in Leg:
            term = Term.HOST if leg is Leg.HOST else Term.NIC
            rows = np.flatnonzero(legs[pairs.row] == leg)
            if len(rows):
                ends = source[rows], target[rows]
                latency[rows] = self.put(moved, *ends, share[rows], leg, term)
        return latency

    def _nic_leg(self, source: int, target: int) -> Leg:
        if self.cluster.topology.kind[source] == ComponentKind.NIC:
            source, target = target, source
        return nic_leg(self.cluster, source, target)

    def _routed(self, transfers: Transfers, far: Ids, source: Ids, turn: int) -> Routed:
        """The NICs that the schedule names, and where it names none, those of `Doors` in a turn.

        So too where two NICs are on rails apart, as when a ring over an odd number of nodes closes:
        what arrives by a NIC has left by that rail.
        """
        nic_out, nic_in = transfers.nic_out[far].copy(), transfers.nic_in[far].copy()
        via = source[far].copy()
        named = (nic_out >= 0) & (nic_in >= 0)
        wiring = self.cluster.topology.wiring
        if wiring is not None:
            out, into = nic_out[named].astype(np.int32), nic_in[named].astype(np.int32)
            named[named] = wiring.reachable(out, into)
        free, kept = np.flatnonzero(~named), np.flatnonzero(named)
        if len(kept) and not self.cluster.abilities.cross_nic:
            # A ring that must leave by the NIC that it came in by does so from another GPU's.
            doors = doors_of(self.cluster, self.group)
            rank = transfers.source[far[kept]]
            via[kept] = doors.beside(self.cluster, self.group, rank, nic_out[kept])
        if len(free):
            ends = transfers.source[far[free]], transfers.target[far[free]]
            doors = doors_of(self.cluster, self.group, turn)
            chosen = doors.choose(self.cluster, self.group, *ends, nic_in[free])
            via[free], nic_out[free], nic_in[free] = chosen.via, chosen.nic_out, chosen.nic_in
        return Routed(via, nic_out, nic_in)

    def put(
        self, moved: Moved, source: Ids, target: Ids, share: Floats, leg: Leg, term: Term
    ) -> Floats:
        """Put transfers inside units on resources; [t] latency of their links [s].

        `term` is what they are on PCIe.
        """
        router = self.cluster.router
        pairs = router.pairs(source, target)
        loads = router.pair_loads(pairs, _WAY[leg], share, _PCIE, _FABRIC)
        for part, load in zip((term, Term.NVLINK, Term.OTHER), loads, strict=True):
            if load is not None:
                moved.add(part, load)
        return router.pair_latency(pairs, _WAY[leg])
