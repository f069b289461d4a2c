"""Cluster: a topology, its software and abilities; Group: the GPUs that take part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from wirespeed.catalog import Parameters, gpu, parameters
from wirespeed.errors import UsageError
from wirespeed.topology.address import find
from wirespeed.topology.assemble import FabricDesign, assemble
from wirespeed.topology.change import Change, ChangeKind, apply_to_topology
from wirespeed.topology.fabrics.wiring import Routing
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.machine import Machine, alter_machine
from wirespeed.topology.model import Topology
from wirespeed.topology.router import Router
from wirespeed.topology.software import DEFAULT_VERSION, Abilities, Notice, Software
from wirespeed.topology.unit import Unit, first_nodes

MOST_NODES = 65_536
"""What the default fabric holds."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cluster:
    """What a forecast is made on. `compute` holds the share of full speed of slow GPUs."""

    topology: Topology
    machine: Machine
    software: Software
    abilities: Abilities
    routing: Routing
    fabric: str
    router: Router
    compute: Mapping[int, float]
    changes: tuple[Change, ...] = ()
    """All that was edited, in order."""
    warnings: tuple[Notice, ...] = ()
    parameters: Parameters = field(default_factory=parameters)
    seed: int = 0
    """Of the hash by which a fabric spreads flows, where it does."""

    def __repr__(self) -> str:
        what = f"{self.nodes} x {self.machine.name}", self.fabric, str(self.software)
        return f"Cluster({', '.join(filter(None, (*what, *map(str, self.changes))))})"

    @property
    def nodes(self) -> int:
        """Number of nodes (operating systems)."""
        return self.topology.nodes


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The GPUs that take part, in rank order (component ids)."""

    gpus: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.gpus)


def everyone(cluster: Cluster) -> Group:
    """All GPUs that are up, in order of node and index."""
    topology = cluster.topology
    gpus = topology.gpus().astype(np.int64)
    return Group(gpus[topology.capacity[topology.links + gpus] > 0])


def build_cluster(
    machine: Machine,
    *,
    nodes: int | None = None,
    fabric: tuple[str, FabricDesign] | None = None,
    software: Software | None = None,
    changes: Iterable[Change] = (),
) -> Cluster:
    """A cluster of `nodes` equal machines (None: one node, or one whole rack) under the changes.

    `fabric` is a name and a design; None is right only where a single unit needs none. Raises
    Infeasible where the fabric is too small, UnknownName where a change names nothing, UsageError
    for a number of nodes that no cluster has.
    """
    edits = list(changes)
    machine = alter_machine(machine, [c for c in edits if c.kind is ChangeKind.MACHINE])
    for change in edits:
        if change.kind is ChangeKind.MACHINE and change.subject == "nodes":
            nodes = int(float(change.value))
    if fabric is not None and any(is_rail_only(change) for change in edits):
        # Here, since most forecasts need no other fabric than the one they are given.
        from wirespeed.topology.fabrics.named import fabric_named

        fabric = "rail-only", fabric_named("rail-only", machine.network)
    count = machine.unit.nodes if nodes is None else nodes
    _check(count)
    units, classes = _units(machine, count)
    topology = assemble(machine.name, units, classes, fabric[1] if fabric else None)
    cluster = Cluster(
        topology=topology,
        machine=machine,
        software=software or Software(machine.library, DEFAULT_VERSION[machine.library]),
        abilities=machine.abilities,
        routing=machine.routing,
        fabric=fabric[0] if fabric else "",
        router=Router(topology),
        compute={},
        warnings=(*machine.warnings, *map(_for_steps, filter(_is_for_steps, edits))),
    )
    overlays = [c for c in edits if c.kind is not ChangeKind.MACHINE and not is_rail_only(c)]
    return replace(changed(cluster, overlays), changes=tuple(edits))


def _is_for_steps(change: Change) -> bool:
    return change.kind is ChangeKind.MACHINE and change.subject in ("hbm", "gemm")


def _for_steps(change: Change) -> Notice:
    text = f"{change} makes training steps faster; collectives do not depend on it"
    return Notice("for-steps-only", text)


def is_rail_only(change: Change) -> bool:
    """Whether a change parts the rails: that is another fabric, not another way through one."""
    return change.kind is ChangeKind.ROUTING and change.value == "rail-only"


def changed(cluster: Cluster, changes: Iterable[Change]) -> Cluster:
    """The cluster under more changes: overlays on what is there, nothing is built anew.

    Raises UsageError for a change of the machine itself or one that parts its rails, which have to
    be built; UnknownName where a change names nothing.
    """
    edits = tuple(changes)
    topology, software, compute = cluster.topology, cluster.software, dict(cluster.compute)
    abilities, routing = cluster.abilities, cluster.routing
    machine, warnings = cluster.machine, cluster.warnings
    for change in edits:
        match change.kind:
            case ChangeKind.RESOURCE:
                topology = apply_to_topology(topology, change)
            case ChangeKind.COMPUTE:
                compute |= _slow(topology, change)
            case ChangeKind.CAPABILITY:
                abilities = _with_ability(abilities, change)
                if change.subject == "p2p" and change.value and not _has_pcie_p2p(machine):
                    machine = replace(machine, peer_to_peer=True)
                    warnings = tuple(w for w in warnings if w.code != "p2p-refused")
            case ChangeKind.ROUTING if not is_rail_only(change):
                routing = Routing(str(change.value))
            case ChangeKind.SETTING:
                value = change.value
                text = f"{value:g}" if isinstance(value, float) else str(value)
                software = replace(software, settings={**software.settings, change.subject: text})
            case ChangeKind.ENV:
                env = {**software.env, change.subject: str(change.value)}
                software = replace(software, env=env)
            case ChangeKind.MACHINE | ChangeKind.ROUTING:
                raise UsageError(
                    f"{change} cannot be laid over a cluster",
                    where="--change",
                    why="it changes the machine or the fabric that the cluster is built of",
                    remedy="build the cluster with it",
                )
    return replace(
        cluster,
        topology=topology,
        machine=machine,
        software=software,
        abilities=abilities,
        routing=routing,
        router=cluster.router.on(topology),
        compute=compute,
        warnings=warnings,
        changes=(*cluster.changes, *edits),
    )


def _check(nodes: int) -> None:
    if not 1 <= nodes <= MOST_NODES:
        raise UsageError(
            f"a cluster of {nodes:,} nodes",
            where="--nodes",
            why=f"numbers of nodes run from 1 to {MOST_NODES:,}",
            remedy="write for example --nodes 16",
        )


def _units(machine: Machine, nodes: int) -> tuple[list[Unit], npt.NDArray[np.int32]]:
    """Whole units, and a last one that holds only the nodes that are left."""
    whole, rest = divmod(nodes, machine.unit.nodes)
    units = [machine.unit] if whole else []
    classes = np.zeros(whole, np.int32)
    if rest:
        units.append(first_nodes(machine.unit, rest))
        classes = np.append(classes, np.int32(len(units) - 1))
    return units, classes


def _slow(topology: Topology, change: Change) -> dict[int, float]:
    found = find(topology, change.subject)
    if (topology.kind[found] != ComponentKind.GPU).any():
        raise UsageError(
            f"{change.subject} is no GPU", where="--change", why="only a GPU has compute"
        )
    return {int(gpu): float(change.value) for gpu in found}


def _has_pcie_p2p(machine: Machine) -> bool:
    if machine.peer_to_peer is not None:
        return machine.peer_to_peer
    return gpu(machine.gpu).pcie_p2p


def _with_ability(abilities: Abilities, change: Change) -> Abilities:
    if change.subject == "net":
        socket = change.value == "socket"
        return replace(abilities, socket=socket, gdr=abilities.gdr and not socket)
    return replace(abilities, **{change.subject.replace("-", "_"): bool(change.value)})
