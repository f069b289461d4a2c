"""Copies: from GPU to GPU, from host to GPU and back, by the copy engines."""

from __future__ import annotations

import numpy as np

from wirespeed.catalog import generation_of, gpu
from wirespeed.collectives.candidate import Candidate, Place
from wirespeed.collectives.laid import places_of
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.collectives.peers import Leg, copy_leg
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.paths import Paths
from wirespeed.topology.ways import Way
from wirespeed.units import GB, US


def copy_candidate(collective: Collective, cluster: Cluster, group: Group) -> Candidate:
    """The copy from rank 0 to rank 1, or between rank 0 and the memory next to it.

    Both directions of a bidirectional copy run at once; staged through the host they share what
    the host can stage.
    """
    leg, paths = copy_paths(collective, cluster, group)
    per_byte, worst, payload = _slowest(cluster, paths, leg, collective.operation)
    if leg is Leg.HOST and len(paths) > 1:
        staged = len(paths) / (cluster.parameters.number("transport.host.copy_pair") * GB)
        if staged > per_byte:
            per_byte = staged
            worst, payload = _staging(cluster, paths)
    latency = cluster.parameters.number("call.copy.us") * US
    at = int(places_of(cluster.topology, np.array([worst]))[0])
    work = tuple(per_byte if place == at else 0.0 for place in Place)
    return Candidate("Copy", "", 1, latency, per_byte, worst, payload, work=work)


def copy_paths(collective: Collective, cluster: Cluster, group: Group) -> tuple[Leg, Paths]:
    """How a copy goes, and its path for each direction."""
    first = int(group.gpus[0])
    if collective.operation is Operation.P2P_COPY:
        second = int(group.gpus[1])
        leg = copy_leg(cluster, first, second)
        ways = [(first, second), (second, first)]
        way = {Leg.NVLINK: Way.DIRECT, Leg.HOST: Way.HOST}.get(leg, Way.PCIE)
    else:
        leg, way = Leg.PCIE, Way.UPLOAD
        memory = cluster.router.memory_of(first)
        ways = [(memory, first), (first, memory)]
        if collective.operation is Operation.D2H:
            ways.reverse()
    if not collective.bidirectional:
        ways = ways[:1]
    source, target = zip(*ways, strict=True)
    return leg, cluster.router.inside(source, target, way)


def _slowest(
    cluster: Cluster, paths: Paths, leg: Leg, operation: Operation
) -> tuple[float, int, float]:
    """Seconds a byte on the most loaded resource, which one, and its payload for each byte."""
    topology, number = cluster.topology, cluster.parameters.number
    is_link = paths.resource < topology.links
    kind = np.where(is_link, topology.link_kind[np.where(is_link, paths.resource, 0)], -1)
    if leg is Leg.HOST:
        pcie = number("transport.host.copy_share")
    elif operation is Operation.P2P_COPY:
        pcie = number("transport.pcie.share")
        pcie *= number("transport.pcie.far_share") if leg is Leg.PCIE_FAR else 1.0
    else:
        pcie = number("transport.pcie.copy_share")
    fabric = np.isin(kind, (LinkKind.NVLINK, LinkKind.XGMI, LinkKind.C2C))
    factor = np.where(kind == LinkKind.PCIE, 1 / pcie, 1.0)
    factor = np.where(fabric, 1 / _nvlink_share(cluster), factor)
    payload = np.bincount(paths.resource, paths.share, minlength=topology.resources)
    wire = np.bincount(paths.resource, paths.share * factor, minlength=topology.resources)
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = np.where(wire > 0, wire / topology.capacity, 0.0)
    worst = int(seconds.argmax())
    return float(seconds[worst]), worst, float(payload[worst])


def _staging(cluster: Cluster, paths: Paths) -> tuple[int, float]:
    """The host memory through which most of a copy goes, and its payload for each byte."""
    topology = cluster.topology
    payload = np.bincount(paths.resource, paths.share, minlength=topology.resources)
    memory = topology.links + np.flatnonzero(topology.kind == ComponentKind.CPU)
    busiest = int(memory[payload[memory].argmax()])
    return busiest, float(payload[busiest])


def _nvlink_share(cluster: Cluster) -> float:
    row = gpu(cluster.machine.gpu)
    own = f"generation.{generation_of(row.architecture, row.cc)}.nvlink_copy_share"
    return cluster.parameters.get(own, "generation.other.nvlink_copy_share")
