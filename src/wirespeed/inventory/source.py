"""resolve: SOURCE, as commands take it, to a machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from wirespeed.catalog import gpu as gpu_row
from wirespeed.errors import InputError, UnknownName, UsageError, WirespeedError
from wirespeed.evidence import Evidence
from wirespeed.topology.assemble import FabricDesign
from wirespeed.topology.change import Change
from wirespeed.topology.machine import Basis, Machine
from wirespeed.topology.machines import machine_of
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.presets import preset
from wirespeed.topology.software import Notice, Software

if TYPE_CHECKING:
    from wirespeed.inventory.from_toml import Described

# Readers are imported where a text is read: a preset needs none, and a forecast on one starts fast.

Input = Callable[[], str | bytes]

_MOST_FILES = 256
_FILE_ENDINGS = (".txt", ".toml", ".xml", ".log", ".csv", ".json", ".out")


@dataclass(frozen=True, slots=True, eq=False)
class Resolved:
    """What a SOURCE means.

    Attributes:
        machine: the node or rack, with its warnings and oddities.
        nodes: how many nodes it stands for; None leaves it to the unit (one node, or one rack).
        fabric: name and design that the source gives; None: the platform's default.
        software, changes: what the source sets.
        evidence: what was read, file by file; empty for a preset or a TOML.
        design: the node's design, where one says all of it.
    """

    machine: Machine
    nodes: int | None = None
    fabric: tuple[str, FabricDesign] | None = None
    software: Software | None = None
    changes: tuple[Change, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    design: NodeDesign | None = None


def resolve(source: str, *, gpu: str | None = None, stdin: Input | None = None) -> Resolved:
    """What a preset's name, a file, a directory, a cluster TOML, `-` or `live` means.

    `gpu` names the GPU where the source does not; `stdin` gives the text of `-` (None: this
    process's own input). Raises UnknownName where nothing bears the name, InputError where a file
    cannot be read, UsageError for `live` on a host without nvidia-smi.
    """
    if source == "-":
        return _of_text((stdin or _standard_input)(), "stdin", gpu)
    if source == "live":
        return _live(gpu)
    path = Path(source).expanduser()
    try:
        if path.is_dir():
            return _of_evidence(*_read_directory(path), gpu)
        if path.is_file() or path.is_fifo():
            # A pipe is what a shell's <(nvidia-smi topo -m) hands over.
            return _of_text(_bytes_of(path), path.name, gpu, path.parent)
        if path.exists():
            raise InputError(
                "this is neither a file nor a directory",
                where=source[:80],
                why="it is a device or a socket, which says nothing of a machine",
                remedy="give a file, or - for what another command pipes in",
            )
    except (OSError, ValueError) as error:
        raise InputError("this is no path", where=source[:80], why=str(error)) from None
    return _of_preset(source, gpu)


def _standard_input() -> bytes:
    if sys.stdin.isatty():
        raise UsageError(
            "nothing is piped in",
            where="-",
            why="`-` reads what another command prints",
            remedy="write for example: nvidia-smi topo -m | wirespeed topo -",
        )
    from wirespeed.inventory.archives import ARCHIVE_LIMIT

    return sys.stdin.buffer.read(ARCHIVE_LIMIT + 1)


def _of_text(data: str | bytes, file: str, gpu: str | None, folder: Path | None = None) -> Resolved:
    from wirespeed.inventory.archives import is_archive, unpacked
    from wirespeed.inventory.from_toml import described, is_cluster_toml
    from wirespeed.readers import decode, read_parts

    if isinstance(data, bytes) and is_archive(data):
        inside = unpacked(data, file)
        if len(inside.texts) > 1 or inside.texts[0][0] != file:
            return _of_evidence(*_evidence_of(inside.texts, file, inside.notices), gpu)
        # One file that was packed alone.
        data = inside.texts[0][1]
    if file.endswith(".toml") or is_cluster_toml(decode(data, file=file)):
        return _of_toml(described(decode(data, file=file), file=file, folder=folder), gpu)
    return _of_evidence([*read_parts(data, file=file)], (), gpu)


def _of_toml(found: Described, gpu: str | None) -> Resolved:
    if gpu is not None:
        raise UsageError(
            "the file names its GPU itself",
            where="--gpu",
            why="a cluster TOML says all of a node",
            remedy="write gpu in its [node] table",
        )
    return Resolved(found.machine, found.nodes, found.fabric, found.software, found.changes)


def _of_evidence(
    evidence: list[Evidence], notices: tuple[Notice, ...], gpu: str | None
) -> Resolved:
    from wirespeed.inventory.combined import combine

    found = combine(evidence, gpu=gpu)
    machine = replace(found.machine, warnings=(*notices, *found.machine.warnings))
    return Resolved(
        machine,
        nodes=found.nodes,
        software=found.software,
        evidence=tuple(evidence),
        design=found.design,
    )


def _live(gpu: str | None) -> Resolved:
    from wirespeed.inventory.live import live_texts

    texts, not_told = live_texts()
    evidence, notices = _evidence_of(texts, "live")
    resolved = _of_evidence(evidence, (*not_told, *notices), gpu)
    return replace(resolved, machine=replace(resolved.machine, name="live"))


def _of_preset(name: str, gpu: str | None) -> Resolved:
    try:
        design = preset(name)
    except UnknownName as error:
        raise _neither(name, error) from None
    if gpu is None:
        return Resolved(machine_of(design), design=design)
    changed = msgspec.structs.replace(design, gpu=gpu_row(gpu).key)
    machine = replace(machine_of(changed), basis=Basis("option", design.name))
    return Resolved(machine, design=changed)


def _neither(name: str, error: UnknownName) -> WirespeedError:
    """What to say of a name that is no file and no preset."""
    if "/" in name or name.endswith(_FILE_ENDINGS):
        return InputError(
            f"there is no file {name}",
            why="it is no preset either",
            remedy=f"check the path; {error.remedy}" if error.remedy else "check the path",
        )
    return error


def _bytes_of(path: Path) -> bytes:
    """What a file holds, up to one byte more than readers take: they refuse what is larger."""
    from wirespeed.inventory.archives import ARCHIVE_LIMIT, is_archive
    from wirespeed.readers import SIZE_LIMIT

    try:
        with path.open("rb") as file:
            data = file.read(SIZE_LIMIT + 1)
            return data + file.read(ARCHIVE_LIMIT - SIZE_LIMIT) if is_archive(data) else data
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError("the file cannot be opened", where=str(path), why=why) from None


def _read_directory(path: Path) -> tuple[list[Evidence], tuple[Notice, ...]]:
    """Evidence of the files of a directory, and which ones say nothing that is known."""
    from wirespeed.inventory.archives import unpacked_files

    files = sorted(entry for entry in path.iterdir() if entry.is_file())
    inside = unpacked_files(files[:_MOST_FILES], _bytes_of)
    evidence, notices = _evidence_of(inside.texts, str(path), inside.notices)
    if len(files) > _MOST_FILES:
        text = f"only the first {_MOST_FILES} of {len(files)} files are read"
        notices = (*notices, Notice("file-left-out", text, str(path)))
    return evidence, notices


def _evidence_of(
    texts: Sequence[tuple[str, str | bytes]], where: str, before: Sequence[Notice] = ()
) -> tuple[list[Evidence], tuple[Notice, ...]]:
    """Evidence of named texts, and a notice for each that says nothing that is known."""
    from wirespeed.inventory.archives import folders_as_hosts
    from wirespeed.readers import read_parts

    hosts = folders_as_hosts(name for name, _ in texts)
    evidence: list[Evidence] = []
    left: list[tuple[str, InputError]] = []
    for name, text in texts:
        try:
            evidence += of_host(read_parts(text, file=name), hosts.get(name, ""))
        except InputError as error:
            left.append((name, error))
    if not evidence:
        raise InputError(
            "no file here can be read",
            where=where,
            why=f"{left[0][0]}: {left[0][1].what}" if left else "the directory holds no file",
            remedy="give the outputs of one machine: nvidia-smi topo -m, --query-gpu, topo -p2p",
        )
    notices = (Notice("file-left-out", f"{name} is left out: {e.what}", name) for name, e in left)
    return evidence, (*before, *notices)


def of_host(parts: Iterable[Evidence], host: str) -> list[Evidence]:
    """The parts with the host of their folder, where they name none themselves."""
    return [msgspec.structs.replace(part, host=part.host or host) for part in parts]
