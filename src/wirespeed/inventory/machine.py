"""read_machine: from words between devices to a Machine whose graph says the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wirespeed.catalog import Gpu, gpu
from wirespeed.errors import UsageError
from wirespeed.evidence import Evidence
from wirespeed.inventory.assumptions import assumptions
from wirespeed.inventory.completed import Completed, complete
from wirespeed.inventory.gpu_model import gpu_by_links, named_gpu
from wirespeed.inventory.hints import hints_of
from wirespeed.inventory.lost_links import without_lost_links
from wirespeed.inventory.match import best_match, match_with
from wirespeed.inventory.merged import merge
from wirespeed.inventory.node_facts import NodeFacts, node_facts, peer_to_peer
from wirespeed.inventory.oddities import oddities_of
from wirespeed.inventory.slots import with_slots_as_read
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.machine import Basis, Machine
from wirespeed.topology.machines import machine_of
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.software import Notice
from wirespeed.topology.unit import Unit


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """A machine and how it was completed."""

    machine: Machine
    completed: Completed


def read_machine(
    evidence: Sequence[Evidence], *, gpu: str | None = None, base: NodeDesign | None = None
) -> Read:
    """The machine that some files describe together; `gpu` settles its model.

    `base` is the preset to complete it from where its links fit; else the best match is.
    Raises InputError where no GPU is named, UnknownName for an unknown `gpu`, UsageError for one
    that has too few links.
    """
    merged = merge(evidence)
    facts = node_facts(merged)
    named, basis = named_gpu(facts, gpu)
    if named and basis == "option":
        _check_links(facts, named)
    match = (match_with(facts, base) if base else None) or best_match(facts, named)
    model = named or (_model_of(match.design.gpu) if match.same_links else gpu_by_links(facts))
    completed = complete(facts, match, model or _model_of(match.design.gpu))
    machine = machine_of(completed.design, name=facts.label)
    unit = with_slots_as_read(
        _as_read(without_lost_links(machine.unit, completed), completed), merged
    )
    settled = replace(
        machine,
        unit=unit,
        platform=match.design.name,
        network="ethernet" if completed.roles.are_bonds(facts) else machine.network,
        peer_to_peer=peer_to_peer(merged),
        basis=Basis(basis, match.design.name, () if named else match.alternatives),
    )
    notices = [*remarks_of(evidence), *merged.contradictions, *assumptions(settled, completed)]
    notices += hints_of(completed)
    return Read(
        replace(settled, warnings=tuple(notices), oddities=tuple(oddities_of(completed))),
        completed,
    )


def _model_of(name: str) -> Gpu:
    return gpu(name)


def _check_links(facts: NodeFacts, model: Gpu) -> None:
    most = max(facts.links.values(), default=0)
    if most > model.nvlink_links:
        raise UsageError(
            f"{model.key} cannot be the GPU of {facts.label}",
            where="--gpu",
            why=f"{facts.vendor_word}{most} stands in the matrix; {model.name} has "
            f"{model.nvlink_links or 'no'} NVLinks",
            remedy="leave --gpu out, or name a GPU with enough links",
        )


def _as_read(unit: Unit, completed: Completed) -> Unit:
    """Numbers, NUMA nodes and names as the files print them."""
    facts = completed.facts
    index, labels = unit.index.copy(), dict(unit.labels)
    for kind, names in ((ComponentKind.GPU, facts.gpus), (ComponentKind.NIC, facts.nics)):
        printed = np.array([int(name[3:]) for name in names], np.int32)
        for component in unit.of_kind(kind).tolist():
            name = names[unit.index[component]]
            index[component] = printed[unit.index[component]]
            if label := facts.merged.text(name, "label") or facts.merged.text(name, "bus_id"):
                labels[component] = label
    numbers = np.array([*completed.homes.numbers, -1], np.int32)
    return replace(unit, index=index, numa=numbers[unit.numa], labels=labels)


def remarks_of(evidence: Iterable[Evidence]) -> Iterable[Notice]:
    """What the readers remarked, with file and line."""
    for part in evidence:
        for remark in part.remarks:
            # What differs by direction is told among the oddities, by pair.
            if remark.code != "asymmetric":
                where = f"{part.file}:{remark.line}" if remark.line else part.file
                yield Notice(remark.code, remark.text, where)
