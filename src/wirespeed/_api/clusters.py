"""cluster: so many machines, joined by a fabric, under a library and changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from wirespeed._api.sources import machine_from
from wirespeed.errors import UsageError
from wirespeed.topology.assemble import FabricDesign
from wirespeed.topology.change import Change, ChangeKind, parse_change
from wirespeed.topology.cluster import Cluster, build_cluster
from wirespeed.topology.fabrics.generic import FAT_TREE, GENERIC
from wirespeed.topology.machine import Machine
from wirespeed.topology.software import DEFAULT_VERSION, Software, parse_library


def cluster(
    source: str | Machine,
    *,
    nodes: int | None = None,
    racks: int | None = None,
    fabric: str | None = None,
    library: str | None = None,
    env: Mapping[str, str] | None = None,
    changes: Iterable[str | Change] = (),
    gpu: str | None = None,
) -> Cluster:
    """A cluster to forecast on.

    `source` is a preset's name or a file; without `nodes` or `racks` it is one node, or one rack
    of a rack preset. More than one is joined by `fabric`, or by the platform's default one. `env`
    holds the library's environment (NCCL_…), `changes` the edits such as `node0/nic3=down`.
    Raises WirespeedError with what to do about it.
    """
    machine = machine_from(source, gpu=gpu)
    edits = [parse_change(c) if isinstance(c, str) else c for c in changes]
    count = _count(machine, nodes, racks, edits)
    software = parse_library(library) if library else _usual(machine)
    return build_cluster(
        machine,
        nodes=count,
        fabric=_fabric(machine, count, fabric),
        software=replace(software, env=dict(env or {})),
        changes=edits,
    )


def _count(machine: Machine, nodes: int | None, racks: int | None, edits: Iterable[Change]) -> int:
    """Nodes, by whichever way they were given."""
    for where, number in (("--nodes", nodes), ("--racks", racks)):
        if number is not None and number < 1:
            raise UsageError(
                f"a cluster of {number} {where.removeprefix('--')}",
                where=where,
                why="it takes at least one",
                remedy=f"leave {where} out for a single machine",
            )
    if nodes is not None and racks is not None:
        raise UsageError(
            "both --nodes and --racks are given",
            where="--racks",
            why=f"a unit of {machine.name} has {machine.unit.nodes} nodes; one of the two says all",
            remedy="leave one out",
        )
    for change in edits:
        if change.kind is ChangeKind.MACHINE and change.subject == "nodes":
            return int(float(change.value))
    if racks is not None:
        return racks * machine.unit.nodes
    return machine.unit.nodes if nodes is None else nodes


def _fabric(machine: Machine, nodes: int, name: str | None) -> tuple[str, FabricDesign] | None:
    if name is not None:
        return name, GENERIC[name]
    if nodes <= machine.unit.nodes:
        return None
    return FAT_TREE.name, FAT_TREE


def _usual(machine: Machine) -> Software:
    return Software(machine.library, DEFAULT_VERSION[machine.library])
