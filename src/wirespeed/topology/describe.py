"""describe: a cluster as a report that a person or a program can read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from wirespeed.topology.address import name_of
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.model import Topology
from wirespeed.topology.path_types import nccl_path, smi_word
from wirespeed.topology.report import (
    BasisRow,
    FabricRow,
    GpuRow,
    LinkRow,
    NicRow,
    PairRow,
    PartRow,
    TopoReport,
)
from wirespeed.topology.result import ParameterSet
from wirespeed.topology.unit import Ints
from wirespeed.topology.unit_routes import UnitRoutes
from wirespeed.units import GB

_SHOWN = (
    ComponentKind.GPU,
    ComponentKind.CPU,
    ComponentKind.ROOT,
    ComponentKind.PCIE,
    ComponentKind.NVSWITCH,
    ComponentKind.NIC,
)


def describe(cluster: Cluster, parameters: ParameterSet, *, full: bool = False) -> TopoReport:
    """The report of a cluster: all nodes with `full`, else the first of each kind of node."""
    topology, machine = cluster.topology, cluster.machine
    nodes = range(topology.nodes) if full else different_nodes(topology)
    listed = _components(topology, nodes)
    by_kind = {kind: listed[topology.kind[listed] == kind] for kind in _SHOWN}
    gpus, nics = by_kind[ComponentKind.GPU], by_kind[ComponentKind.NIC]
    return TopoReport(
        parameters=parameters,
        warnings=cluster.warnings,
        name=machine.name,
        nodes=topology.nodes,
        basis=BasisRow(machine.basis.gpu_model, machine.basis.preset, machine.basis.alternatives),
        gpus=tuple(_gpu(cluster, int(g)) for g in gpus),
        cpus=_parts(topology, by_kind[ComponentKind.CPU]),
        pcie_switches=_parts(topology, by_kind[ComponentKind.PCIE]),
        nics=tuple(_nic(topology, int(n)) for n in nics),
        nvswitches=_parts(topology, by_kind[ComponentKind.NVSWITCH]),
        links=tuple(_links(topology, listed)),
        pairs=tuple(_pairs(cluster, gpus, nics)),
        oddities=machine.oddities,
        total_gpus=len(topology.gpus()),
        nvlink_domain=_domain(cluster),
        fabric=_fabric(topology),
    )


def different_nodes(topology: Topology) -> list[int]:
    """Numbers of the nodes of which no earlier one has the same parts, in order."""
    seen: set[bytes] = set()
    looked_at: set[int] = set()
    found = []
    for unit, kind in enumerate(topology.unit_class.tolist()):
        if unit not in topology.altered:
            if kind in looked_at:
                continue
            looked_at.add(kind)
        for node in range(int(topology.first_node[unit]), int(topology.first_node[unit + 1])):
            parts = _parts_of(topology, unit, node)
            if parts not in seen:
                seen.add(parts)
                found.append(node)
    return found


def _parts_of(topology: Topology, unit: int, node: int) -> bytes:
    """All that makes a node's parts differ from another's: kinds, models, places, what is left."""
    begin, end = topology.first_component[unit], topology.first_component[unit + 1]
    ids = np.arange(begin, end)
    ids = ids[topology.node[ids] == node]
    first, last = topology.first_link[unit], topology.first_link[unit + 1]
    at_node = np.isin(topology.source[first:last], ids)
    return b"|".join(
        column.tobytes()
        for column in (
            topology.kind[ids],
            topology.model[ids],
            topology.numa[ids],
            topology.rail[ids],
            topology.rate[ids],
            topology.capacity[topology.links + ids],
            topology.lanes[first:last][at_node],
            topology.capacity[first:last][at_node],
        )
    )


def _components(topology: Topology, nodes: Sequence[int]) -> Ints:
    """Ids of the parts of these nodes, and of what belongs to their racks."""
    units = np.unique(np.searchsorted(topology.first_node, np.asarray(nodes), side="right") - 1)
    at_node = np.isin(topology.node, np.asarray(nodes))
    of_rack = (topology.node < 0) & np.isin(topology.unit_of(np.arange(topology.components)), units)
    return np.flatnonzero(at_node | of_rack).astype(np.int32)


def _model(topology: Topology, component: int) -> str:
    model = int(topology.model[component])
    return topology.models[model] if model >= 0 else ""


def _or_none(number: int) -> int | None:
    return None if number < 0 else number


def _gpu(cluster: Cluster, gpu: int) -> GpuRow:
    topology = cluster.topology
    return GpuRow(
        name=name_of(topology, gpu),
        model=_model(topology, gpu),
        numa=_or_none(int(topology.numa[gpu])),
        nics=tuple(name_of(topology, n) for n in cluster.router.nearest_nics(gpu)),
    )


def _parts(topology: Topology, ids: Ints) -> tuple[PartRow, ...]:
    return tuple(
        PartRow(name_of(topology, c), _model(topology, c), _or_none(int(topology.numa[c])))
        for c in ids.tolist()
    )


def _nic(topology: Topology, nic: int) -> NicRow:
    return NicRow(
        name=name_of(topology, nic),
        model=_model(topology, nic),
        rate_Gbps=float(topology.rate[nic]) * 8 / 1e9,
        numa=_or_none(int(topology.numa[nic])),
        rail=_or_none(int(topology.rail[nic])),
    )


def _links(topology: Topology, listed: Ints) -> Iterator[LinkRow]:
    both = np.isin(topology.source, listed) & np.isin(topology.target, listed)
    for link in np.flatnonzero(both).tolist():
        yield LinkRow(
            source=name_of(topology, int(topology.source[link])),
            target=name_of(topology, int(topology.target[link])),
            kind=LinkKind(topology.link_kind[link]).word,
            lanes=int(topology.lanes[link]),
            bandwidth_GBps=float(topology.capacity[link]) / GB,
        )


def _pairs(cluster: Cluster, gpus: Ints, nics: Ints) -> Iterator[PairRow]:
    topology = cluster.topology
    devices = [*gpus.tolist(), *nics.tolist()]
    unit = dict(zip(devices, topology.unit_of(devices).tolist(), strict=True))
    node = topology.node
    for source in gpus.tolist():
        routes = cluster.router.routes(unit[source])
        begin = int(topology.first_component[unit[source]])
        for target in devices:
            to_gpu = topology.kind[target] == ComponentKind.GPU
            apart = unit[target] != unit[source] or (not to_gpu and node[source] != node[target])
            if target == source or apart:
                continue
            a, b = source - begin, target - begin
            yield PairRow(
                source=name_of(topology, source),
                target=name_of(topology, target),
                smi=smi_word(routes, a, b),
                nccl=nccl_path(routes, a, b).name,
                bandwidth_GBps=_alone(routes, a, b) / GB,
            )


def _alone(routes: UnitRoutes, source: int, target: int) -> float:
    """What one transfer alone gets [B/s] on the way that it takes; 0 without one."""
    both_gpus = routes.unit.kind[source] == routes.unit.kind[target] == ComponentKind.GPU
    route = (routes.nvlink(source, target) if both_gpus else None) or routes.pcie(source, target)
    if route is None:
        return 0.0
    capacity = routes.capacity[list(route.resource)]
    return float((capacity / np.array(route.share)).min())


def _domain(cluster: Cluster) -> int:
    """GPUs of the first unit that NVLink or xGMI joins to its first GPU, itself included."""
    routes = cluster.router.routes(0)
    unit = routes.unit
    up = np.isin(unit.link_kind, (LinkKind.NVLINK, LinkKind.XGMI))
    up &= routes.capacity[: unit.links] > 0
    source, target = unit.source[up], unit.target[up]
    gpus = unit.of_kind(ComponentKind.GPU)
    joined, before = np.zeros(unit.components, np.bool_), -1
    joined[gpus[0]] = True
    while joined.sum() > before:
        before = int(joined.sum())
        joined[target[joined[source]]] = True
    return int(joined[gpus].sum())


def _fabric(topology: Topology) -> FabricRow | None:
    wiring = topology.wiring
    return None if wiring is None else FabricRow(wiring.name, wiring.description)
