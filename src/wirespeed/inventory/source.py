"""resolve: SOURCE, as commands take it, to a machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from wirespeed.catalog import gpu as gpu_row
from wirespeed.errors import InputError, UnknownName, WirespeedError
from wirespeed.evidence import Evidence
from wirespeed.topology.change import Change
from wirespeed.topology.machine import Basis, Machine
from wirespeed.topology.machines import machine_of
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.presets import preset
from wirespeed.topology.software import Software

Input = Callable[[], str | bytes]
_MOST_FILES = 256


@dataclass(frozen=True, slots=True, eq=False)
class Resolved:
    """What a SOURCE means.

    Attributes:
        machine: the node or rack, with its warnings and oddities.
        nodes: how many the source stands for; None leaves it to the preset (one node or rack).
        fabric: the fabric that the source names; None: the platform's default.
        software, changes: what the source sets.
        evidence: what was read, file by file; empty for a preset.
    """

    machine: Machine
    nodes: int | None = None
    fabric: str | None = None
    software: Software | None = None
    changes: tuple[Change, ...] = ()
    evidence: tuple[Evidence, ...] = ()


def resolve(source: str, *, gpu: str | None = None, stdin: Input | None = None) -> Resolved:
    """The machine that a preset's name, a file, a directory, `-` or `live` means.

    `gpu` names the GPU where the source does not. Raises UnknownName where nothing bears the name,
    InputError where a file cannot be read.
    """
    if source == "-":
        return _of_evidence([_read((stdin or _standard_input)(), "stdin")], gpu)
    path = Path(source).expanduser()
    if path.is_dir():
        return _of_evidence(_read_directory(path), gpu)
    if path.is_file():
        return _of_evidence([_read_file(path)], gpu)
    return _of_preset(source, gpu)


def _standard_input() -> bytes:
    return sys.stdin.buffer.read()


def _of_evidence(evidence: list[Evidence], gpu: str | None) -> Resolved:
    # Here, since a preset needs no reader: a forecast on one is to start fast.
    from wirespeed.inventory.machine import machine_from

    read = machine_from(evidence, gpu=gpu)
    return Resolved(read.machine, nodes=1, evidence=tuple(evidence))


def _of_preset(name: str, gpu: str | None) -> Resolved:
    try:
        design = preset(name)
    except UnknownName as error:
        raise _neither(name, error) from None
    if gpu is None:
        return Resolved(machine_of(design))
    row = gpu_row(gpu)
    changed: NodeDesign = msgspec.structs.replace(design, gpu=row.key)
    machine = machine_of(changed)
    return Resolved(replace(machine, basis=Basis("option", design.name)))


def _neither(name: str, error: UnknownName) -> WirespeedError:
    if "/" in name or Path(name).suffix in (".txt", ".toml", ".xml", ".log", ".csv"):
        return InputError(
            f"there is no file {name}",
            why="neither a file nor a preset bears this name",
            remedy=error.remedy,
        )
    return error


def _read_file(path: Path) -> Evidence:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            "the file cannot be opened", where=str(path), why=error.strerror or str(error)
        ) from None
    return _read(data, path.name)


def _read(data: str | bytes, file: str) -> Evidence:
    from wirespeed.readers import read_text

    return read_text(data, file=file)


def _read_directory(path: Path) -> list[Evidence]:
    files = sorted(entry for entry in path.iterdir() if entry.is_file())
    evidence, failures = [], []
    for file in files[:_MOST_FILES]:
        try:
            evidence.append(_read_file(file))
        except InputError as error:
            failures.append(error)
    if not evidence:
        raise InputError(
            "no file here can be read",
            where=str(path),
            why=str(failures[0]) if failures else "the directory is empty",
            remedy="give the files of one machine: topo -m, --query-gpu, an NCCL topology",
        )
    return evidence
