"""Machine: one node or rack as it is known, before it is multiplied to a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from wirespeed.errors import Infeasible, UsageError
from wirespeed.topology.change import Change
from wirespeed.topology.fabrics.wiring import Routing
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.software import Abilities, Notice
from wirespeed.topology.unit import Unit
from wirespeed.units import gbps


@dataclass(frozen=True, slots=True)
class Basis:
    """Where the GPU model comes from: `read` in a file, given as an `option`, or from a `preset`.

    `alternatives` are other presets that fit what was read just as well.
    """

    gpu_model: str = "preset"
    preset: str = ""
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Machine:
    """A unit with what is known about it.

    Attributes:
        name: what to call it: a preset or a file.
        gpu: the catalog's name of the GPU.
        platform: the preset whose default fabric it would join.
        library: nccl or rccl.
        network: what the compute NICs speak: infiniband, ethernet, efa, slingshot or tcpx; and
            which generation of it (ndr, v2), empty where that is not known.
        cpu_vendor: Intel, AMD, NVIDIA …; empty where it is not known.
        peer_to_peer: whether GPUs reach each other's memory over PCIe; None leaves it to the model.
        warnings: what was assumed; oddities: what looks wrong on the machine itself.
    """

    name: str
    unit: Unit
    gpu: str
    platform: str = ""
    library: str = "nccl"
    network: str = "infiniband"
    network_generation: str = ""
    cpu_vendor: str = ""
    peer_to_peer: bool | None = None
    basis: Basis = field(default_factory=Basis)
    abilities: Abilities = field(default_factory=Abilities)
    routing: Routing = Routing.STATIC
    warnings: tuple[Notice, ...] = ()
    oddities: tuple[Notice, ...] = ()

    @property
    def has_nvswitch(self) -> bool:
        """Whether NVSwitches join the GPUs."""
        return bool((self.unit.kind == ComponentKind.NVSWITCH).any())


def alter_machine(machine: Machine, changes: Iterable[Change]) -> Machine:
    """The machine as MACHINE changes would have it; `nodes` is not its business.

    Raises Infeasible for more NICs than there are, UsageError for what only training reads.
    """
    unit = machine.unit
    for change in changes:
        value = float(change.value)
        match change.subject:
            case "nodes" | "hbm" | "gemm":
                # What a GPU computes with is read by a training step, from the changes themselves.
                continue
            case "nic":
                _need(bool((unit.rail >= 0).any()), unit, change, "compute NIC")
                unit = _with_nic_rate(unit, gbps(value))
            case "nics":
                unit = _with_nics(unit, int(value))
            case "nvlink":
                kinds = (LinkKind.NVLINK, LinkKind.XGMI)
                faster = np.isin(unit.link_kind, kinds)
                _need(bool(faster.any()), unit, change, "NVLink or xGMI")
                unit = replace(
                    unit, bandwidth=np.where(faster, unit.bandwidth * value, unit.bandwidth)
                )
            case "memory":
                cpus = unit.kind == ComponentKind.CPU
                unit = replace(
                    unit, throughput=np.where(cpus, unit.throughput * value, unit.throughput)
                )
            case other:
                raise UsageError(
                    f"{other} cannot be changed here",
                    where="--change",
                    why="no forecast of a collective takes it into account",
                    remedy="name a preset, or describe such a machine in a cluster TOML",
                )
    return replace(machine, unit=unit)


def _need(has: bool, unit: Unit, change: Change, part: str) -> None:
    """Raises Infeasible where a change is about a part that the machine lacks."""
    if not has:
        raise Infeasible(
            f"{change} on {unit.name}",
            where="--change",
            why=f"it has no {part}: nothing would change",
            remedy="name a machine that has one, or describe it in a cluster TOML",
        )


def _with_nic_rate(unit: Unit, rate: float) -> Unit:
    """Compute NICs at another port rate; their PCIe links follow where they would be too slow."""
    compute = (unit.kind == ComponentKind.NIC) & (unit.rail >= 0)
    touches = compute[unit.source] | compute[unit.target]
    bandwidth = np.where(touches, np.maximum(unit.bandwidth, rate), unit.bandwidth)
    return replace(unit, rate=np.where(compute, rate, unit.rate), bandwidth=bandwidth)


def _with_nics(unit: Unit, count: int) -> Unit:
    """The first `count` compute NICs of every node keep their rail, spread over what there is."""
    rails = np.unique(unit.rail[unit.rail >= 0])
    if count > len(rails):
        raise Infeasible(
            f"a node with {count} NICs",
            where="--change",
            why=f"{unit.name} has {len(rails)} compute NICs",
            remedy="describe the machine in a cluster TOML",
        )
    kept = rails[np.arange(count) * len(rails) // count]
    renumbered = np.searchsorted(kept, unit.rail).astype(np.int32)
    return replace(unit, rail=np.where(np.isin(unit.rail, kept), renumbered, np.int32(-1)))
