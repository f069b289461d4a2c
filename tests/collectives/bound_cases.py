"""Clusters for tests of bounds, and the bound by trying every way to split the ranks."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np

from wirespeed.collectives.operation import Operation
from wirespeed.topology.assemble import FabricDesign
from wirespeed.topology.cluster import Cluster, Group, build_cluster
from wirespeed.topology.fabrics.named import default_fabric
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machine import Machine
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.unit import UnitBuilder

LIMITED = (ComponentKind.ROOT, ComponentKind.PCIE, ComponentKind.NVSWITCH)


def preset_cluster(name: str, nodes: int | None = None) -> Cluster:
    """So many nodes of a preset on their platform's default fabric."""
    machine = preset_machine(name)
    several = nodes is not None and nodes > machine.unit.nodes
    fabric = default_fabric(machine.platform, nodes or 1, machine.network) if several else None
    return build_cluster(machine, nodes=nodes, fabric=fabric)


def switched(
    gpus: int = 8, nvlink: float = 450e9, nic: float = 50e9, gpu: str = "h100", **fields: object
) -> Machine:
    """GPUs on one NVSwitch, each with a NIC of its own on its own PCIe switch and no way else."""
    builder = UnitBuilder("switched")
    switch = builder.add(ComponentKind.NVSWITCH) if nvlink else None
    for rail in range(gpus):
        bridge = builder.add(ComponentKind.PCIE)
        card = builder.add(ComponentKind.GPU, numa=0)
        port = builder.add(ComponentKind.NIC, rail=rail, rate=nic)
        for device in (card, port):
            builder.connect(device, bridge, LinkKind.PCIE, bandwidth=64e9)
        if switch is not None:
            builder.connect(card, switch, LinkKind.NVLINK, bandwidth=nvlink, lanes=18)
    return Machine("switched", builder.build(), gpu=gpu, **fields)  # type: ignore[arg-type]


def two_sockets(gpus: int = 4, between: float = 20e9, root: float = np.inf) -> Machine:
    """GPUs behind a PCIe switch a socket; one NIC a socket."""
    builder = UnitBuilder("two sockets")
    cpus = [builder.add(ComponentKind.CPU, numa=s) for s in range(2)]
    builder.connect(*cpus, LinkKind.CPU, bandwidth=between)
    for numa, cpu in enumerate(cpus):
        bridge = builder.add(ComponentKind.ROOT, numa=numa, throughput=root)
        builder.connect(bridge, cpu, LinkKind.ROOT, bandwidth=64e9)
        switch = builder.add(ComponentKind.PCIE, numa=numa)
        builder.connect(switch, bridge, LinkKind.PCIE, bandwidth=32e9)
        for _ in range(gpus // 2):
            card = builder.add(ComponentKind.GPU, numa=numa)
            builder.connect(card, switch, LinkKind.PCIE, bandwidth=32e9)
        nic = builder.add(ComponentKind.NIC, numa=numa, rail=numa, rate=25e9)
        builder.connect(nic, switch, LinkKind.PCIE, bandwidth=32e9)
    return Machine("two sockets", builder.build(), gpu="a100-pcie-40gb")


def many(machine: Machine, nodes: int, design: FabricDesign) -> Cluster:
    """So many of a machine on a fabric."""
    return build_cluster(machine, nodes=nodes, fabric=(design.name, design))  # type: ignore[attr-defined]


def by_trying_all(operation: Operation, cluster: Cluster, group: Group, root: int = 0) -> float:
    """Least seconds for each byte by a maximum flow for every way to split the ranks."""
    ranks, worst = len(group), 0.0
    one_way, shared = graph_of(cluster, shared=False), graph_of(cluster, shared=True)
    for k in range(1, ranks):
        for chosen in combinations(range(ranks), k):
            out = crossing(operation, frozenset(chosen), ranks, root)
            back = crossing(operation, frozenset(range(ranks)) - set(chosen), ranks, root)
            if out:
                flow = max_flow(one_way, group, chosen)
                worst = max(worst, out / flow if flow else np.inf)
            if out and back and operation is not Operation.SENDRECV:
                flow = max_flow(shared, group, chosen)
                worst = max(worst, (out + back) / 2 / flow if flow else np.inf)
    return worst


def crossing(operation: Operation, senders: frozenset[int], ranks: int, root: int) -> float:
    """Bytes that senders must send to the other ranks, said for each operation on its own."""
    k = len(senders)
    match operation:
        case Operation.BROADCAST:
            return float(root in senders)
        case Operation.REDUCE:
            return float(root not in senders)
        case Operation.ALL_REDUCE:
            return 1.0
        case Operation.ALL_GATHER:
            return k / ranks
        case Operation.REDUCE_SCATTER:
            return (ranks - k) / ranks
        case Operation.ALLTOALL:
            return k * (ranks - k) / ranks
        case Operation.SENDRECV:
            return float(sum((r + 1) % ranks not in senders for r in senders))
    raise AssertionError(operation)


def graph_of(cluster: Cluster, *, shared: bool) -> nx.DiGraph:
    """Everything that is up; components with a throughput as two vertices."""
    topology, graph = cluster.topology, nx.DiGraph()
    through = topology.capacity[topology.links :]
    limited = np.isin(topology.kind, LIMITED) & np.isfinite(through)
    graph.add_nodes_from(range(topology.components))
    for part in np.flatnonzero(limited).tolist():
        graph.add_edge(part, ("exit", part), capacity=through[part] / (2 if shared else 1))
    for link in range(topology.links):
        rate = topology.capacity[link]
        if shared:
            rate = (rate + topology.capacity[link ^ 1]) / 2
        source, target = int(topology.source[link]), int(topology.target[link])
        start = ("exit", source) if limited[source] else source
        known = graph.get_edge_data(start, target, {"capacity": 0.0})["capacity"]
        graph.add_edge(start, target, capacity=known + float(rate))
    return graph


def max_flow(graph: nx.DiGraph, group: Group, senders: tuple[int, ...]) -> float:
    """The maximum flow from some ranks to all others."""
    joined = graph.copy()
    for rank, gpu in enumerate(group.gpus.tolist()):
        joined.add_edge(*(("s", gpu) if rank in senders else (gpu, "t")))
    return float(nx.maximum_flow_value(joined, "s", "t"))
