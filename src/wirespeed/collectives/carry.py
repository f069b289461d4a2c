"""Carrier: what each message does to which resource, and how long a step of it waits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum

import numpy as np
import numpy.typing as npt

from wirespeed.catalog import Parameters, generation_of, gpu, parameters
from wirespeed.collectives.doors import Routed, doors_of, unconnected
from wirespeed.collectives.peers import Leg, domain_of, nic_leg, peer_leg
from wirespeed.collectives.schedule import Spokes, Transfers
from wirespeed.collectives.spokes import spoke_loads
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import LinkKind
from wirespeed.topology.router import Way
from wirespeed.units import MIB, US

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Protocol(StrEnum):
    """NCCL's protocols: LL sends a flag with every 4 bytes, LL128 with every 120, Simple none."""

    LL = "LL"
    LL128 = "LL128"
    SIMPLE = "Simple"


WIRE_BYTES = {Protocol.LL: 2.0, Protocol.LL128: 128 / 120, Protocol.SIMPLE: 1.0}
"""Bytes on the wire for each byte of payload. Source: NCCL's documentation of the protocols."""

_ORDER = tuple(Protocol)
_WAY = {Leg.NVLINK: Way.DIRECT, Leg.PCIE: Way.PCIE, Leg.PCIE_FAR: Way.PCIE, Leg.HOST: Way.HOST}


class Medium(IntEnum):
    """What a step waits for; each has step latencies of its own."""

    NVLINK = 0
    PCIE = 1
    NETWORK = 2


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """What transfers do.

    Attributes:
        payload: [resources] bytes on each for each byte of the collective.
        wire: [resources] the same with what transport adds, protocol not counted.
        latency: [t] of the links on the way [s].
        medium: [t] the slowest medium on the way.
    """

    payload: Floats
    wire: Floats
    latency: Floats
    medium: Ids


@dataclass(frozen=True, slots=True, eq=False)
class Carrier:
    """Lays messages of one group onto one cluster."""

    cluster: Cluster
    group: Group
    parameters: Parameters

    def carry(self, transfers: Transfers) -> Carried:
        """The transfers on resources; Infeasible where two GPUs have no way to each other."""
        source, target = self.group.gpus[transfers.source], self.group.gpus[transfers.target]
        domain = domain_of(self.cluster, self.group.gpus)
        inside = domain[transfers.source] == domain[transfers.target]
        resources, count = self.cluster.topology.resources, len(transfers)
        total = Carried(
            np.zeros(resources), np.zeros(resources), np.zeros(count), np.zeros(count, np.int64)
        )
        near, far = np.flatnonzero(inside), np.flatnonzero(~inside)
        if len(near):
            self._inside(total, near, source, target, transfers.share)
        if len(far):
            self._across(total, far, source, target, transfers)
        return total

    def carry_spokes(self, spokes: Spokes) -> Carried:
        """What goes to and from switches that add up and multicast."""
        inner, outer = spoke_loads(self.cluster.topology, self.group, spokes)
        share = self._transport("share")
        wire = inner / self._of_gpu("nvls_share") + outer / share
        return Carried(inner + outer, wire, np.zeros(0), np.zeros(0, np.int64))

    def call(self, protocol: Protocol) -> float:
        """What a call costs besides its steps [s]."""
        return self.parameters.numbers("call.process.us")[_ORDER.index(protocol)] * US

    def waiting(self, steps: Floats, switched: Floats, protocol: Protocol) -> float:
        """What so many steps wait [s], beside bytes and links.

        `steps` [media] between GPUs; `switched` steps through NVSwitches and the fabric's switches.
        """
        key = f"step_{protocol.value.lower()}"
        each = np.array(
            [
                self._of_gpu(key),
                self.parameters.number(f"transport.pcie.{key}"),
                self._transport(key) if steps[Medium.NETWORK] else 0.0,
            ]
        )
        inner = self._of_gpu("nvls_step") if switched[0] else 0.0
        outer = self.parameters.number("transport.sharp.step") if switched[1] else 0.0
        return float(steps @ each + switched @ np.array([inner, outer])) * US

    def filling(self, steps: Floats, switched: Floats) -> tuple[float, float]:
        """What filling the pipeline adds at most [s], and the size [B] where half is reached."""
        inner = steps[Medium.NVLINK] * self._of_gpu("fill")
        if switched[0]:
            inner += self._of_gpu("nvls_fill") * len(self.group)
        network = self._transport("fill") * steps[Medium.NETWORK] if steps[Medium.NETWORK] else 0.0
        return (inner + network) * US, self._of_gpu("piece") * MIB * len(self.group)

    def _of_gpu(self, key: str) -> float:
        row = gpu(self.cluster.machine.gpu)
        generation = generation_of(row.architecture, row.cc)
        return self.parameters.get(f"generation.{generation}.{key}", f"generation.other.{key}")

    def _transport(self, key: str) -> float:
        network = "socket" if self.cluster.abilities.socket else self.cluster.machine.network
        return self.parameters.get(f"transport.{network}.{key}", f"transport.infiniband.{key}")

    def _inside(self, total: Carried, near: Ids, source: Ids, target: Ids, share: Floats) -> None:
        router = self.cluster.router
        pairs = router.pairs(source[near], target[near])
        examples = near[pairs.example]
        ranks = len(self.group)
        legs = np.array(
            [peer_leg(self.cluster, int(source[t]), int(target[t]), ranks) for t in examples]
        )
        for leg in Leg:
            rows = near[legs[pairs.row] == leg]
            if len(rows):
                self._add(total, source[rows], target[rows], share[rows], leg)
                total.medium[rows] = _MEDIUM[leg]
                total.latency[rows] += router.inside_latency(source[rows], target[rows], _WAY[leg])

    def _across(
        self,
        total: Carried,
        far: Ids,
        source: Ids,
        target: Ids,
        transfers: Transfers,
    ) -> None:
        cluster, share = self.cluster, transfers.share[far]
        wiring = cluster.topology.wiring
        if wiring is None:
            raise unconnected(cluster, int(source[far[0]]))
        routed = self._routed(transfers, far, source)
        leg = nic_leg(cluster)
        total.medium[far] = Medium.NETWORK
        handed = np.flatnonzero(routed.via != source[far])
        if len(handed):
            a, b = source[far][handed], routed.via[handed]
            self._add(total, a, b, share[handed], Leg.NVLINK)
            total.latency[far[handed]] += cluster.router.inside_latency(a, b, Way.DIRECT)
        for a, b in ((routed.via, routed.nic_out), (routed.nic_in, target[far])):
            self._add(total, a, b, share, leg, nic=True)
            total.latency[far] += cluster.router.inside_latency(a, b, _WAY[leg])
        paths = wiring.paths(
            routed.nic_out.astype(np.int32),
            routed.nic_in.astype(np.int32),
            routing=cluster.routing,
            capacity=cluster.topology.capacity,
        )
        owner = paths.owner()
        size = cluster.topology.resources
        payload = np.bincount(paths.resource, share[owner] * paths.share, minlength=size)
        total.payload[:] += payload
        total.wire[:] += payload / self._transport("share")
        wires = paths.share * cluster.topology.latency[paths.resource]
        total.latency[far] += np.bincount(owner, wires, minlength=len(far))

    def _routed(self, transfers: Transfers, far: Ids, source: Ids) -> Routed:
        """The NICs that the schedule names, and where it names none, those of `Doors`."""
        nic_out, nic_in = transfers.nic_out[far].copy(), transfers.nic_in[far].copy()
        via = source[far].copy()
        free = np.flatnonzero((nic_out < 0) | (nic_in < 0))
        if len(free):
            ends = transfers.source[far[free]], transfers.target[far[free]]
            chosen = doors_of(self.cluster, self.group).choose(self.cluster, self.group, *ends)
            via[free], nic_out[free], nic_in[free] = chosen.via, chosen.nic_out, chosen.nic_in
        return Routed(via, nic_out, nic_in)

    def _add(
        self,
        total: Carried,
        source: Ids,
        target: Ids,
        share: Floats,
        leg: Leg,
        *,
        nic: bool = False,
    ) -> None:
        topology = self.cluster.topology
        payload = self.cluster.router.inside_loads(source, target, _WAY[leg], share)
        total.payload[:] += payload
        factor = self._factors(leg, nic=nic)
        total.wire[: topology.links] += payload[: topology.links] * factor[topology.link_kind]
        total.wire[topology.links :] += payload[topology.links :]

    def _factors(self, leg: Leg, *, nic: bool) -> Floats:
        """[link kinds] wire bytes for each byte of payload on this leg."""
        number = self.parameters.number
        if leg is Leg.HOST:
            pcie = number("transport.host.share")
        else:
            pcie = number(f"transport.pcie.{'copy_share' if nic else 'share'}")
            pcie *= number("transport.pcie.far_share") if leg is Leg.PCIE_FAR else 1.0
        factor = np.ones(len(LinkKind))
        factor[LinkKind.PCIE] = 1 / pcie
        factor[[LinkKind.NVLINK, LinkKind.XGMI]] = 1 / nvlink_share(self.cluster)
        return factor


_MEDIUM = {
    Leg.NVLINK: Medium.NVLINK,
    Leg.PCIE: Medium.PCIE,
    Leg.PCIE_FAR: Medium.PCIE,
    Leg.HOST: Medium.PCIE,
}


def nvlink_share(cluster: Cluster, name: str = "nvlink_share") -> float:
    """Payload bytes for each byte on NVLink or xGMI, for this machine's GPU generation."""
    row, table = gpu(cluster.machine.gpu), parameters()
    generation = f"generation.{generation_of(row.architecture, row.cc)}"
    own, switched = f"{generation}.{name}", f"{generation}.switched_share"
    if name == "nvlink_share" and cluster.machine.has_nvswitch:
        return table.get(switched, own)
    return table.get(own, f"generation.other.{name}")


def carrier(cluster: Cluster, group: Group) -> Carrier:
    """A carrier with the parameters that the package ships."""
    return Carrier(cluster, group, parameters())
