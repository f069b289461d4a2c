"""cluster: so many machines, joined by a fabric, under a library and changes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from wirespeed._api.sources import Source, resolved
from wirespeed.catalog import gpu as gpu_row
from wirespeed.catalog import parameter_set
from wirespeed.errors import InputError, UsageError
from wirespeed.inventory import Resolved
from wirespeed.topology.assemble import FabricDesign
from wirespeed.topology.change import Change, ChangeKind, parse_change
from wirespeed.topology.cluster import Cluster, build_cluster
from wirespeed.topology.machines import with_domain
from wirespeed.topology.node_builder import unit_of
from wirespeed.topology.software import DEFAULT_VERSION, Software, parse_library


def cluster(
    source: Source,
    *,
    nodes: int | None = None,
    racks: int | None = None,
    fabric: str | None = None,
    library: str | None = None,
    env: Mapping[str, str] | None = None,
    changes: Iterable[str | Change] = (),
    gpu: str | None = None,
    parameters: str = "fitted",
) -> Cluster:
    """A cluster to forecast on.

    `source` is a preset's name, a file or a directory; without `nodes` or `racks` it is one node,
    one rack of a rack preset, or what the file says. More than one is joined by `fabric`, a name or
    a TOML file, or by the platform's default. `env` holds the library's environment (NCCL_…),
    `changes` edits such as `node0/nic3=down`; `parameters` are `fitted`, or `ideal`: wires without
    overhead and steps without delay. Raises WirespeedError with what to do about it.
    """
    found = resolved(source, gpu=gpu)
    edits = [*found.changes, *(parse_change(c) if isinstance(c, str) else c for c in changes)]
    found = _joined(found, [c for c in edits if _joins(c)])
    count = _count(found, nodes, racks, edits)
    made = build_cluster(
        found.machine,
        nodes=count,
        fabric=_fabric(found, count, fabric),
        software=_software(found, library, env or {}),
        changes=[c for c in edits if not _joins(c)],
    )
    return replace(made, changes=tuple(edits), parameters=parameter_set(parameters))


def _joins(change: Change) -> bool:
    return change.kind is ChangeKind.MACHINE and change.subject == "nvlink-domain"


def _joined(found: Resolved, edits: list[Change]) -> Resolved:
    """What was found with an NVLink domain of as many GPUs as the last of these changes says."""
    if not edits:
        return found
    if found.design is None:
        raise UsageError(
            f"{edits[-1]} cannot be changed on {found.machine.name}",
            where="--change",
            why="only its graph is known, not the design that more nodes would follow",
            remedy="name the preset that it is, or describe it in a cluster TOML",
        )
    design = with_domain(found.design, int(float(edits[-1].value)))
    if design is found.design:
        return found
    return replace(found, design=design, machine=replace(found.machine, unit=unit_of(design)))


def _count(found: Resolved, nodes: int | None, racks: int | None, edits: Iterable[Change]) -> int:
    """Nodes, by whichever way they were given; the last change that says so wins."""
    unit = found.machine.unit
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
            why=f"one says all: a rack or node of {found.machine.name} counts {unit.nodes} nodes",
            remedy="leave one out",
        )
    for change in reversed([*edits]):
        if change.kind is ChangeKind.MACHINE and change.subject == "nodes":
            return int(float(change.value))
    if racks is not None:
        return racks * unit.nodes
    return nodes or found.nodes or unit.nodes


def _software(found: Resolved, library: str | None, env: Mapping[str, str]) -> Software:
    """The library that was asked for, or the source's, or the usual one of these GPUs."""
    usual = found.machine.library
    software = found.software or Software(usual, DEFAULT_VERSION[usual])
    if library:
        asked = parse_library(library)
        software = replace(software, library=asked.library, version=asked.version)
    if software.library != usual:
        raise UsageError(
            f"{software.library} does not drive {gpu_row(found.machine.gpu).name}",
            where="--library" if library else "library",
            why="NCCL is for GPUs of NVIDIA, RCCL for those of AMD",
            remedy=f"write for example {Software(usual, DEFAULT_VERSION[usual])}, or leave it out",
        )
    return replace(software, env={**software.env, **env})


def _fabric(found: Resolved, nodes: int, name: str | None) -> tuple[str, FabricDesign] | None:
    """The fabric that was asked for, or the source's own, or the platform's default."""
    machine = found.machine
    if name is None and nodes <= machine.unit.nodes:
        return None
    if name is None and found.fabric is not None:
        return found.fabric
    # Here, since most forecasts are about one machine and are to start fast.
    from wirespeed.topology.fabrics.named import default_fabric, fabric_named

    if name is None:
        return default_fabric(machine.platform, nodes, machine.network)
    file = Path(name)
    if file.suffix == ".toml" or file.is_file():
        return file.stem, _from_file(file)
    return name, fabric_named(name, machine.network)


def _from_file(file: Path) -> FabricDesign:
    """The design in a TOML file: its [fabric] table, or all of it."""
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        why = error.strerror or ""
        raise InputError("the fabric cannot be read", where=str(file), why=why) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError("this is not TOML", where=str(file), why=str(error)) from error
    from wirespeed.topology.fabrics.table import fabric_from_table

    return fabric_from_table(document.get("fabric", document), str(file))
