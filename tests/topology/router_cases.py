"""Nodes small enough to check by hand, and a second way to find what crosses what."""

from __future__ import annotations

from functools import cache

import networkx as nx
import numpy as np

from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, build_cluster
from wirespeed.topology.fabrics.named import fabric_named
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.unit import Unit, UnitBuilder
from wirespeed.topology.unit_routes import UnitRoutes

GPU, NIC, CPU = ComponentKind.GPU, ComponentKind.NIC, ComponentKind.CPU
INSIDE = (ComponentKind.CPU, ComponentKind.ROOT, ComponentKind.PCIE)
COST = {LinkKind.PCIE: 1.0, LinkKind.ROOT: 1.5, LinkKind.CPU: 10.0, LinkKind.C2C: 0.5}
"""What a hop counts where NVLink is not used."""


@cache
def cluster(name: str, units: int = 1, *changes: str) -> Cluster:
    machine = preset_machine(name)
    nodes = units * machine.unit.nodes
    fabric = ("fat-tree", fabric_named("fat-tree", machine.network)) if units > 1 else None
    edits = [parse_change(text) for text in changes]
    return build_cluster(machine, nodes=nodes, fabric=fabric, changes=edits)


def routes_of(unit: Unit, *down: int) -> UnitRoutes:
    """Routes in a unit whose links, but for some, are up."""
    capacity = np.concatenate([unit.bandwidth, unit.throughput])
    capacity[list(down)] = 0.0
    return UnitRoutes(unit, capacity)


def host_graph(unit: Unit, capacity: np.ndarray) -> nx.DiGraph:
    """Links that are up, NVLink and xGMI left out, with what each hop counts."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(unit.components))
    for link in range(unit.links):
        cost = COST.get(LinkKind(unit.link_kind[link]))
        if cost is not None and capacity[link] > 0:
            graph.add_edge(int(unit.source[link]), int(unit.target[link]), weight=cost)
    return graph


def shortest(graph: nx.DiGraph, unit: Unit, source: int, target: int) -> float:
    """The cost of the shortest way that passes no device; infinite where there is none."""
    kept = [c for c in graph if unit.kind[c] in INSIDE or c in (source, target)]
    try:
        return nx.shortest_path_length(graph.subgraph(kept), source, target, weight="weight")
    except nx.NetworkXNoPath:
        return float("inf")


def two_sockets() -> tuple[Unit, dict[str, int]]:
    """All distances on one node: a switch of two levels, one of one, a bare port, another socket.

    gpu0 and gpu1 share a switch, gpu2 hangs from the next one below the same upper switch; gpu3 has
    a switch of its own on the same host bridge; gpu4 is on another bridge, gpu5 on the other CPU.
    """
    builder, at = UnitBuilder("two sockets"), dict[str, int]()

    def add(name: str, kind: ComponentKind, **fields: int) -> None:
        at[name] = builder.add(kind, **fields)

    def join(a: str, b: str, kind: LinkKind = LinkKind.PCIE) -> None:
        builder.connect(at[a], at[b], kind, bandwidth=32e9, lanes=16, latency=1e-7)

    for number in (0, 1):
        add(f"cpu{number}", CPU, numa=number)
    for name, cpu in (("rootA", 0), ("rootB", 0), ("rootC", 1)):
        add(name, ComponentKind.ROOT, numa=cpu)
        join(name, f"cpu{cpu}", LinkKind.ROOT)
    join("cpu0", "cpu1", LinkKind.CPU)
    for name in ("upper", "lower0", "lower1", "own"):
        add(name, ComponentKind.PCIE)
    for number in range(6):
        add(f"gpu{number}", GPU, numa=int(number == 5))
    add("nic0", NIC, rail=0)
    for a, b in (
        ("upper", "rootA"),
        ("own", "rootA"),
        ("lower0", "upper"),
        ("lower1", "upper"),
        ("gpu0", "lower0"),
        ("gpu1", "lower0"),
        ("nic0", "lower0"),
        ("gpu2", "lower1"),
        ("gpu3", "own"),
        ("gpu4", "rootB"),
        ("gpu5", "rootC"),
    ):
        join(a, b)
    return builder.build(), at


def joined_gpus(lanes: dict[tuple[int, int], int], gpus: int) -> Unit:
    """GPUs on one CPU with direct NVLinks of 25 GB/s."""
    builder = UnitBuilder("mesh")
    cpu = builder.add(CPU, numa=0)
    ids = [builder.add(GPU, numa=0) for _ in range(gpus)]
    for one in ids:
        builder.connect(one, cpu, LinkKind.PCIE, bandwidth=16e9, lanes=16)
    for (a, b), count in lanes.items():
        builder.connect(ids[a], ids[b], LinkKind.NVLINK, bandwidth=25e9 * count, lanes=count)
    return builder.build()
