"""Small clusters for tests of fabrics, and their networks as graphs for networkx."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import networkx as nx
import numpy as np

from wirespeed.topology.assemble import FabricDesign, Ports, assemble
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.model import Topology
from wirespeed.topology.unit import Unit, UnitBuilder


def node(nics: int = 8, rate: float = 50e9) -> Unit:
    """GPUs that each share a PCIe switch with a NIC of their own, one a rail."""
    builder = UnitBuilder(f"{nics} NICs")
    for rail in range(nics):
        switch = builder.add(ComponentKind.PCIE)
        gpu = builder.add(ComponentKind.GPU)
        nic = builder.add(ComponentKind.NIC, rail=rail, rate=rate)
        for device in (gpu, nic):
            builder.connect(device, switch, LinkKind.PCIE, bandwidth=64e9, latency=100e-9)
    return builder.build()


def cluster(design: FabricDesign, nodes: int, nics: int = 8, rate: float = 50e9) -> Topology:
    """That many equal nodes on a fabric."""
    return assemble("case", [node(nics, rate)], np.zeros(nodes, np.int32), design)


def bare_ports(nodes: int, rails: int = 8, rate: float = 50e9) -> Ports:
    """Ports without machines behind them, where only the fabric counts."""
    count = nodes * rails
    number = np.arange(count, dtype=np.int32)
    return Ports(
        component=number,
        node=number // rails,
        unit=number // rails,
        rail=number % rails,
        rate=np.full(count, rate),
    )


def count_of(topology: Topology, kind: ComponentKind) -> int:
    """How many components of that kind there are."""
    return len(topology.of_kind(kind))


def network_of(topology: Topology) -> nx.MultiDiGraph:
    """NICs and switches of the fabric as a graph; edge keys are link ids."""
    graph = nx.MultiDiGraph()
    for link in np.flatnonzero(topology.link_kind == LinkKind.NETWORK):
        graph.add_edge(int(topology.source[link]), int(topology.target[link]), key=int(link))
    return graph


def shortest_walks(graph: nx.MultiDiGraph, source: int, target: int) -> set[tuple[int, ...]]:
    """All shortest paths as tuples of link ids, parallel cables told apart."""
    if not nx.has_path(graph, source, target):
        return set()
    walks: set[tuple[int, ...]] = set()
    for vertices in nx.all_shortest_paths(nx.DiGraph(graph), source, target):
        steps: list[tuple[int, ...]] = [()]
        for a, b in itertools.pairwise(vertices):
            steps = [(*walk, key) for walk in steps for key in graph[a][b]]
        walks.update(steps)
    return walks


def is_walk(topology: Topology, links: Sequence[int], source: int, target: int) -> bool:
    """Whether these links lead from one component to the other, each going on from the last."""
    ends = [source, *(int(topology.target[link]) for link in links)]
    starts = [int(topology.source[link]) for link in links]
    return starts == ends[:-1] and ends[-1] == target


def split_flow(
    topology: Topology, links: Sequence[int], share: Sequence[float]
) -> dict[int, float]:
    """Net flow out of each component, for checks of conservation."""
    net: dict[int, float] = {}
    for link, part in zip(links, share, strict=True):
        a, b = int(topology.source[link]), int(topology.target[link])
        net[a] = net.get(a, 0.0) + float(part)
        net[b] = net.get(b, 0.0) - float(part)
    return net


def pairs_of(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """All ordered pairs of different NICs."""
    nics = topology.of_kind(ComponentKind.NIC)
    source, target = (grid.ravel() for grid in np.meshgrid(nics, nics, indexing="ij"))
    return source[source != target], target[source != target]
