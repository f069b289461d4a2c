"""A cluster TOML as a machine, with the fabric, software and changes that it names."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

from wirespeed.errors import InputError
from wirespeed.readers.cluster_toml import read_cluster_toml
from wirespeed.topology.assemble import FabricDesign
from wirespeed.topology.change import Change, parse_change
from wirespeed.topology.cluster_spec import ClusterSpec, SoftwareSpec
from wirespeed.topology.fabrics.named import fabric_named
from wirespeed.topology.fabrics.table import fabric_from_table
from wirespeed.topology.machine import Basis, Machine
from wirespeed.topology.machines import machine_of
from wirespeed.topology.software import Software, parse_library

_SIGN = re.compile(r"^\s*\[node\]\s*(?:#.*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """What a cluster TOML says."""

    machine: Machine
    nodes: int
    fabric: tuple[str, FabricDesign] | None
    software: Software | None
    changes: tuple[Change, ...]


def is_cluster_toml(text: str) -> bool:
    """Whether a text is a cluster's description: a line of its own says [node]."""
    return _SIGN.search(text) is not None


def described(text: str, *, file: str, folder: Path | None = None) -> Described:
    """The cluster of a TOML text; a fabric in a file of its own is looked for in `folder`."""
    spec = read_cluster_toml(text, file=file)
    machine = machine_of(spec.node)
    if spec.preset:
        machine = replace(machine, platform=spec.preset, basis=Basis("preset", spec.preset))
    else:
        machine = replace(machine, platform="", basis=Basis("read"))
    return Described(
        machine,
        spec.nodes,
        _fabric(spec, machine.network, file, folder),
        _software(spec.software, machine),
        tuple(parse_change(change) for change in spec.changes),
    )


def _fabric(
    spec: ClusterSpec, network: str, file: str, folder: Path | None
) -> tuple[str, FabricDesign] | None:
    fabric = spec.fabric
    if isinstance(fabric, dict):
        return str(fabric.get("kind", "fat-tree")), fabric_from_table(fabric, f"{file}: fabric")
    if not fabric:
        return None
    if fabric.endswith(".toml"):
        return fabric_file((folder or Path()) / fabric)
    return fabric, fabric_named(fabric, network)


def fabric_file(path: Path) -> tuple[str, FabricDesign]:
    """Name and design of a fabric's own TOML file; raises InputError where it cannot be read."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            "the fabric cannot be read",
            where=str(path),
            why=str(error),
            remedy="a fabric file is TOML, with the keys of a [fabric] table at its top",
        ) from None
    return path.stem, fabric_from_table(table, str(path))


def _software(spec: SoftwareSpec, machine: Machine) -> Software | None:
    if not spec.library and not spec.env:
        return None
    library = parse_library(spec.library or machine.library)
    return replace(library, env=dict(spec.env))
