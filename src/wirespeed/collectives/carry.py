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
from wirespeed.topology.paths import Paths, scatter
from wirespeed.topology.router import Way

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


@dataclass(frozen=True, slots=True, eq=False)
class Carried:
    """Messages on resources.

    Attributes:
        paths: [t] shares of payload on each resource.
        factor: [uses] wire time over payload time of each use: protocol and transport overhead.
        latency: [t] what one step waits besides its bytes [s].
    """

    paths: Paths
    factor: Floats
    latency: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Carrier:
    """Lays messages of one group onto one cluster."""

    cluster: Cluster
    group: Group
    parameters: Parameters

    def carry(self, transfers: Transfers, protocol: Protocol) -> Carried:
        """The messages on resources; Infeasible where two GPUs have no way to each other."""
        source, target = self.group.gpus[transfers.source], self.group.gpus[transfers.target]
        domain = domain_of(self.cluster, self.group.gpus)
        inside = domain[transfers.source] == domain[transfers.target]
        count = len(transfers)
        parts: list[tuple[Ids, Paths, Floats]] = []
        latency = np.zeros(count)
        near = np.flatnonzero(inside)
        if len(near):
            parts += self._inside(near, source[near], target[near], latency, protocol)
        far = np.flatnonzero(~inside)
        if len(far):
            nics = self._doors(transfers, source, target, far)
            parts += self._across(far, source[far], target[far], *nics)
            latency[far] = self._step("network", protocol)
        paths = scatter([(rows, paths) for rows, paths, _ in parts], count)
        owner = np.concatenate([rows[paths_.owner()] for rows, paths_, _ in parts])
        factor = np.concatenate([f for _, _, f in parts])[np.argsort(owner, kind="stable")]
        latency += np.bincount(
            paths.owner(), paths.share * self._link_latency(paths.resource), minlength=count
        )
        return Carried(paths, factor * WIRE_BYTES[protocol], latency)

    def _inside(
        self, rows: Ids, source: Ids, target: Ids, latency: Floats, protocol: Protocol
    ) -> list[tuple[Ids, Paths, Floats]]:
        pairs, which = np.unique(np.stack([source, target]), axis=1, return_inverse=True)
        legs = np.array(
            [peer_leg(self.cluster, int(a), int(b), len(self.group)) for a, b in pairs.T]
        )
        parts = []
        for leg in Leg:
            mine = legs[which] == leg
            if not mine.any():
                continue
            paths = self.cluster.router.inside(source[mine], target[mine], _WAY[leg])
            parts.append((rows[mine], paths, self._factor(paths, leg)))
            latency[rows[mine]] = self._step(_MEDIUM[leg], protocol)
        return parts

    def _doors(self, transfers: Transfers, source: Ids, target: Ids, far: Ids) -> tuple[Ids, Ids]:
        out, into = transfers.nic_out[far].copy(), transfers.nic_in[far].copy()
        for nics, gpus in ((out, source[far]), (into, target[far])):
            for k in np.flatnonzero(nics < 0):
                near = self.cluster.router.nearest_nics(int(gpus[k]))
                if not near:
                    raise _unconnected(self.cluster, int(gpus[k]))
                index = int(self.cluster.topology.index[gpus[k]])
                nics[k] = near[index % len(near)]
        return out, into

    def _across(
        self, rows: Ids, source: Ids, target: Ids, nic_out: Ids, nic_in: Ids
    ) -> list[tuple[Ids, Paths, Floats]]:
        cluster = self.cluster
        if cluster.topology.wiring is None:
            raise _unconnected(cluster, int(source[0]))
        parts = []
        for a, b in ((source, nic_out), (nic_in, target)):
            leg = nic_leg(cluster)
            paths = cluster.router.inside(a, b, _WAY[leg])
            parts.append((rows, paths, self._factor(paths, leg, nic=True)))
        across = cluster.topology.wiring.paths(
            nic_out.astype(np.int32),
            nic_in.astype(np.int32),
            routing=cluster.routing,
            capacity=cluster.topology.capacity,
        )
        network = "socket" if cluster.abilities.socket else cluster.machine.network
        share = self.parameters.number(f"transport.{network}.share")
        parts.append((rows, across, np.full(len(across.resource), 1 / share)))
        return parts

    def _factor(self, paths: Paths, leg: Leg, *, nic: bool = False) -> Floats:
        """[uses] overhead by the kind of link; components move what they are given."""
        topology, number = self.cluster.topology, self.parameters.number
        is_link = paths.resource < topology.links
        kind = np.where(is_link, topology.link_kind[np.where(is_link, paths.resource, 0)], -1)
        if leg is Leg.HOST:
            pcie = number("transport.host.share")
        else:
            pcie = number(f"transport.pcie.{'copy_share' if nic else 'share'}")
            pcie *= number("transport.pcie.far_share") if leg is Leg.PCIE_FAR else 1.0
        fabric = np.isin(kind, (LinkKind.NVLINK, LinkKind.XGMI))
        factor = np.where(kind == LinkKind.PCIE, 1 / pcie, 1.0)
        return np.where(fabric, 1 / nvlink_share(self.cluster), factor)

    def call(self, protocol: Protocol) -> float:
        """What a call costs besides its steps [s]."""
        return self._step("call", protocol)

    def _step(self, medium: str, protocol: Protocol) -> float:
        steps = self.parameters.numbers(f"latency.{medium}.us")
        return steps[_ORDER.index(protocol)] * 1e-6

    def _link_latency(self, resource: Ids) -> Floats:
        topology = self.cluster.topology
        is_link = resource < topology.links
        return np.where(is_link, topology.latency[np.where(is_link, resource, 0)], 0.0)


_MEDIUM = {Leg.NVLINK: "nvlink", Leg.PCIE: "pcie", Leg.PCIE_FAR: "pcie", Leg.HOST: "pcie"}


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
