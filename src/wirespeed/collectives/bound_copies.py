"""The bound of a copy: all ways together from where the bytes are to where they shall be."""

from __future__ import annotations

from wirespeed.collectives.bound_graph import unit_arcs, whole_arcs
from wirespeed.collectives.bound_search import NONE, Limit
from wirespeed.collectives.operation import Operation
from wirespeed.network import least_cuts, simplify
from wirespeed.topology.address import name_of
from wirespeed.topology.cluster import Cluster, Group


def copy_limit(operation: Operation, cluster: Cluster, group: Group) -> Limit:
    """The limit of a copy from rank 0 to rank 1, or between rank 0 and the memory next to it."""
    topology = cluster.topology
    first = int(group.gpus[0])
    memory = float("inf")
    if operation is Operation.P2P_COPY:
        second = int(group.gpus[1])
    else:
        second = cluster.router.memory_of(first)
        memory = float(topology.capacity[topology.links + second])
    ends = (second, first) if operation is Operation.H2D else (first, second)
    units = topology.unit_of([first, second])
    arcs = (
        unit_arcs(topology, int(units[0]), None, shared=False)
        if units[0] == units[1]
        else whole_arcs(topology, units, shared=False)
    )
    if arcs is None:
        return NONE
    table = least_cuts(simplify(arcs, ends), (), fixed={ends[0]: 1, ends[1]: 0})
    if table is None:
        return NONE
    links = float(table.capacity[0])
    if memory <= links:
        return Limit(
            1 / memory if memory else float("inf"),
            1,
            lambda: f"memory: {name_of(topology, second)}",
        )
    names = [name_of(topology, end) for end in ends]
    return Limit(
        1 / links if links else float("inf"), 1, lambda: f"copy: {names[0]} against {names[1]}"
    )
