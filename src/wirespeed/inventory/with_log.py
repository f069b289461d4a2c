"""with_log: a library's log beside other files of the machine, or instead of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from wirespeed.errors import InputError, first_of
from wirespeed.evidence import Evidence
from wirespeed.inventory.design_of import design_of
from wirespeed.inventory.from_log import job_notices, machine_of_log
from wirespeed.inventory.log_node import LogNode, is_log
from wirespeed.inventory.machine import remarks_of
from wirespeed.inventory.result import Combined
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machine import Machine
from wirespeed.topology.software import DEFAULT_VERSION, Notice, Software
from wirespeed.topology.unit import Unit

_BUS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
_MOST_NAMED = 4

Files = Callable[[list[Evidence], str | None], Combined]


def with_log(
    node: LogNode, evidence: Sequence[Evidence], gpu: str | None, files: Files | None
) -> Combined:
    """What a log and the files beside it say together; `files` makes a machine of these.

    Without `files` it is the log's machine. With them theirs, held against what the log uses.
    Raises as they do.
    """
    found = None
    if files is not None:
        try:
            found = files(list(evidence), gpu)
        except InputError:
            # They name GPUs and not what joins them.
            found = None
    if found is None:
        others = [part for part in evidence if not is_log(part)] if files is None else []
        machine, read = machine_of_log(node, others, gpu)
        told = tuple(remarks_of([part for part in evidence if is_log(part)]))
        machine = replace(machine, warnings=(*told, *machine.warnings))
        found = Combined(machine, 1, design_of(read) if read else None)
    else:
        contradictions = tuple(_contradictions(node, found.machine))
        warnings = (*found.machine.warnings, *contradictions)
        found = replace(found, machine=replace(found.machine, warnings=warnings))
    warnings = (*found.machine.warnings, *job_notices(node))
    return replace(
        found,
        machine=replace(found.machine, warnings=warnings),
        nodes=max(found.nodes, node.nodes or 1),
        software=_software(node, found.machine),
    )


def _software(node: LogNode, machine: Machine) -> Software | None:
    """The library that speaks in the log; None where neither its version nor a setting stands."""
    if node.library != machine.library or not (node.version or node.env):
        return None
    version = node.version or DEFAULT_VERSION[node.library]
    return Software(node.library, version, env=dict(node.env))


def _contradictions(node: LogNode, machine: Machine) -> Iterator[Notice]:
    """What the log uses and the files do not have."""
    unit = machine.unit
    gpus = [int(c) for c in unit.of_kind(ComponentKind.GPU) if unit.node[c] == 0]
    nics = [int(c) for c in unit.of_kind(ComponentKind.NIC) if unit.node[c] == 0]
    first = node.gpus[0]
    if len(node.gpus) > len(gpus):
        text = f"{len(node.gpus)} GPUs of one node speak in {node.file}:{first.line}"
        yield _contradiction(f"{text}, {machine.name} shows {len(gpus)}", node)
    there = {_bus(unit.labels.get(c, "")) for c in gpus} - {""}
    gone = [gpu for gpu in node.gpus if gpu.bus_id and there and _bus(gpu.bus_id) not in there]
    if gone:
        text = (
            f"{first_of([gpu.bus_id for gpu in gone], _MOST_NAMED)} in {node.file}:{gone[0].line}"
        )
        yield _contradiction(f"{text} is no GPU of {machine.name}", node)
    labels = {unit.labels.get(c, "") for c in nics} - {""}
    new = [nic for nic in node.nics if nic.name and labels and not _known(nic.name, labels)]
    if new:
        text = f"{first_of([nic.name for nic in new], _MOST_NAMED)} in {node.file}:{new[0].line}"
        yield _contradiction(f"{text} is no NIC of {machine.name}", node)
    linked = _linked(unit)
    if node.nvlink is not None and linked is not None and node.nvlink != linked and len(gpus) > 1:
        says, shows = ("NVLink", "none") if node.nvlink else ("no NVLink", "one")
        text = f"{node.file} says {says} all the way between GPUs, {machine.name} shows {shows}"
        yield _contradiction(text, node)


def _contradiction(text: str, node: LogNode) -> Notice:
    return Notice("contradiction", f"{text}; the files beside the log are used", node.file)


def _linked(unit: Unit) -> bool | None:
    """Whether each GPU has an NVLink; None where some have and others have not."""
    gpus = {int(c) for c in unit.of_kind(ComponentKind.GPU)}
    ends = {int(c) for c in unit.source[unit.link_kind == LinkKind.NVLINK]} & gpus
    return None if ends and ends != gpus else bool(ends)


def _known(name: str, labels: set[str]) -> bool:
    """Whether files show a NIC; of a merged one, `{mlx5_0,mlx5_1}`, all that it is made of."""
    if name in labels:
        return True
    return all(part in labels for part in name.strip("{}").split(",") if part)


def _bus(label: str) -> str:
    """A PCI address without the zeros of a long domain; empty for any other label."""
    plain = label.lower()
    return plain[-12:] if _BUS.fullmatch(plain) else ""
