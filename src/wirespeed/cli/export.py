"""A machine in the formats of other tools, for `topo --to`."""

from __future__ import annotations

from collections.abc import Callable

from wirespeed._api.clusters import cluster
from wirespeed._api.counts import one_count
from wirespeed._api.sources import resolved
from wirespeed._api.topo import topo
from wirespeed.cli.options import MachineOptions
from wirespeed.errors import Infeasible, UsageError
from wirespeed.inventory import Resolved
from wirespeed.topology.change import ChangeKind
from wirespeed.topology.node_design import NodeDesign


def as_dot(source: str, machine: MachineOptions) -> str:
    """Graphviz."""
    from wirespeed.views.export.dot import dot

    nodes = one_count(machine.nodes) if machine.nodes else None
    return dot(topo(source, gpu=machine.gpu, nodes=nodes, changes=machine.change))


def as_nccl_xml(source: str, machine: MachineOptions) -> str:
    """NCCL's topology file of one node or rack, after changes to the machine as such."""
    from wirespeed.views.export.nccl_xml import nccl_xml

    on = cluster(source, gpu=machine.gpu, changes=machine.change)
    for change in on.changes:
        if change.kind not in (ChangeKind.MACHINE, ChangeKind.CAPABILITY):
            raise UsageError(
                f"{change} has no place in a topology file",
                where="--change",
                why="it describes a machine as it is built",
                remedy="leave the change out, or write --to toml",
            )
    kind = on.machine
    return nccl_xml(kind.unit, library=kind.library, network=kind.network, gdr=on.abilities.gdr)


def as_toml(source: str, machine: MachineOptions) -> str:
    """A cluster TOML that reads back as this cluster."""
    from wirespeed.readers.cluster_toml import write_cluster_toml
    from wirespeed.topology.cluster_spec import ClusterSpec

    found = resolved(source, gpu=machine.gpu)
    design = _design_of(source, found)
    on = cluster(
        found,
        nodes=one_count(machine.nodes) if machine.nodes else None,
        racks=one_count(machine.racks, "--racks") if machine.racks else None,
        fabric=machine.fabric,
        changes=machine.change,
    )
    spec = ClusterSpec(
        node=design,
        nodes=on.nodes,
        fabric=machine.fabric or "",
        changes=tuple(map(str, on.changes)),
        preset=found.machine.basis.preset,
    )
    return write_cluster_toml(spec)


def _design_of(source: str, found: Resolved) -> NodeDesign:
    if found.design is None:
        raise Infeasible(
            f"{source} cannot be written as TOML",
            where="--to toml",
            why="lost links, narrow slots and the bridges of a topology file have no place there",
            remedy="write --to nccl-xml, or begin from the preset that is nearest to it",
        )
    return found.design


FORMATS: dict[str, Callable[[str, MachineOptions], str]] = {
    "dot": as_dot,
    "nccl-xml": as_nccl_xml,
    "toml": as_toml,
}
