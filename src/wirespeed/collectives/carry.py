"""Carrier: what each message does to which resource, and how long a step of it waits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from wirespeed.catalog import Parameters, generation_of, gpu, parameters
from wirespeed.collectives.peers import Leg, domain_of, nic_leg, peer_leg
from wirespeed.collectives.schedule import Transfers
from wirespeed.errors import Infeasible
from wirespeed.topology.address import name_of
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import LinkKind
from wirespeed.topology.router import Way
from wirespeed.units import US

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
_MEDIUM = {Leg.NVLINK: "nvlink", Leg.PCIE: "pcie", Leg.PCIE_FAR: "pcie", Leg.HOST: "pcie"}
_WAY = {Leg.NVLINK: Way.DIRECT, Leg.PCIE: Way.PCIE, Leg.PCIE_FAR: Way.PCIE, Leg.HOST: Way.HOST}


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """What transfers do.

    Attributes:
        payload: [resources] bytes on each for each byte of the collective.
        wire: [resources] the same with what protocol and transport add.
        latency: [t] what one step of each transfer waits besides its bytes [s].
    """

    payload: Floats
    wire: Floats
    latency: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Carrier:
    """Lays messages of one group onto one cluster."""

    cluster: Cluster
    group: Group
    parameters: Parameters

    def carry(self, transfers: Transfers, protocol: Protocol) -> Carried:
        """The transfers on resources; Infeasible where two GPUs have no way to each other."""
        source, target = self.group.gpus[transfers.source], self.group.gpus[transfers.target]
        domain = domain_of(self.cluster, self.group.gpus)
        inside = domain[transfers.source] == domain[transfers.target]
        resources = self.cluster.topology.resources
        total = Carried(np.zeros(resources), np.zeros(resources), np.zeros(len(transfers)))
        near, far = np.flatnonzero(inside), np.flatnonzero(~inside)
        if len(near):
            self._inside(total, near, source, target, transfers.share, protocol)
        if len(far):
            self._across(total, far, source, target, transfers, protocol)
        total.wire[:] *= WIRE_BYTES[protocol]
        return total

    def call(self, protocol: Protocol) -> float:
        """What a call costs besides its steps [s]."""
        return self._step("call", protocol)

    def _inside(
        self, total: Carried, near: Ids, source: Ids, target: Ids, share: Floats, protocol: Protocol
    ) -> None:
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
                total.latency[rows] += self._step(_MEDIUM[leg], protocol)
                total.latency[rows] += router.inside_latency(source[rows], target[rows], _WAY[leg])

    def _across(
        self,
        total: Carried,
        far: Ids,
        source: Ids,
        target: Ids,
        transfers: Transfers,
        protocol: Protocol,
    ) -> None:
        cluster, share = self.cluster, transfers.share[far]
        wiring = cluster.topology.wiring
        if wiring is None:
            raise _unconnected(cluster, int(source[far[0]]))
        nic_out = self._doors(transfers.nic_out[far], source[far])
        nic_in = self._doors(transfers.nic_in[far], target[far])
        leg = nic_leg(cluster)
        total.latency[far] += self._step("network", protocol)
        for a, b in ((source[far], nic_out), (nic_in, target[far])):
            self._add(total, a, b, share, leg, nic=True)
            total.latency[far] += cluster.router.inside_latency(a, b, _WAY[leg])
        paths = wiring.paths(
            nic_out.astype(np.int32),
            nic_in.astype(np.int32),
            routing=cluster.routing,
            capacity=cluster.topology.capacity,
        )
        owner = paths.owner()
        size = cluster.topology.resources
        payload = np.bincount(paths.resource, share[owner] * paths.share, minlength=size)
        network = "socket" if cluster.abilities.socket else cluster.machine.network
        total.payload[:] += payload
        total.wire[:] += payload / self.parameters.number(f"transport.{network}.share")
        wires = paths.share * cluster.topology.latency[paths.resource]
        total.latency[far] += np.bincount(owner, wires, minlength=len(far))

    def _doors(self, nics: Ids, gpus: Ids) -> Ids:
        """The NICs given, and where none is (-1), the nearest one that is this GPU's turn."""
        chosen = nics.copy()
        for k in np.flatnonzero(nics < 0):
            near = self.cluster.router.nearest_nics(int(gpus[k]))
            if not near:
                raise _unconnected(self.cluster, int(gpus[k]))
            chosen[k] = near[int(self.cluster.topology.index[gpus[k]]) % len(near)]
        return chosen

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

    def _step(self, medium: str, protocol: Protocol) -> float:
        steps = self.parameters.numbers(f"latency.{medium}.us")
        return steps[_ORDER.index(protocol)] * US


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


def _unconnected(cluster: Cluster, gpu: int) -> Infeasible:
    return Infeasible(
        f"{name_of(cluster.topology, gpu)} has no network to other nodes",
        why="its node has no compute NIC, or no fabric joins the nodes",
        remedy="name a fabric with --fabric, or describe the NICs in a cluster TOML",
    )
