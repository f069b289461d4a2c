"""machine_of_rocm: the node that `rocm-smi --showtopo` shows, completed from a preset of AMD's.

The tool says which GPUs xGMI joins and where they sit; not which GPUs they are, how many links a
pair has, nor anything of NICs. Where a preset has just these pairs, it is that machine; else the
links are as read, one a pair, on the host of the nearest preset and without NICs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations

import msgspec

from wirespeed.catalog import Gpu, gpu
from wirespeed.errors import InputError, UsageError
from wirespeed.evidence import Evidence
from wirespeed.inventory.gpu_model import named_gpu
from wirespeed.inventory.machine import remarks_of
from wirespeed.inventory.merged import Merged, merge
from wirespeed.inventory.node_facts import node_facts
from wirespeed.topology.machine import Basis, Machine
from wirespeed.topology.machines import machine_of
from wirespeed.topology.node_design import GpuLinks, Network, NodeDesign, PcieGroup
from wirespeed.topology.presets import preset, preset_names
from wirespeed.topology.software import Notice

_ONE_HOP = 15
"""Weight of a pair that a link joins; farther ones have a multiple."""
_CLOUDS = ("azure-", "oci-", "aws-", "gcp-")

Edges = frozenset[tuple[int, int]]


def machine_of_rocm(
    evidence: Sequence[Evidence], *, gpu: str | None = None
) -> tuple[Machine, NodeDesign]:
    """The machine and its design; InputError where no GPU is named.

    `gpu` settles the model, which is not printed; UnknownName or UsageError for a wrong one.
    """
    merged = merge(evidence)
    facts = node_facts(merged)
    numbers = [int(name[3:]) for name in facts.gpus]
    if numbers != list(range(len(numbers))):
        raise InputError(
            "some GPUs are missing",
            where=facts.label,
            why=f"it names {', '.join(facts.gpus)}",
            remedy="give the whole output of `rocm-smi --showtopo`",
        )
    named, basis = named_gpu(facts, gpu)
    if named is not None and named.vendor != "AMD":
        raise UsageError(
            f"{named.key} is no GPU of AMD's",
            where="--gpu",
            why=f"{facts.label} is the output of rocm-smi",
            remedy="name a GPU such as mi300x, or leave --gpu out",
        )
    told = _says_links(merged)
    edges = _edges(merged, len(numbers))
    fitting = _fitting(edges if told or len(numbers) == 1 else None, len(numbers), named)
    numa = [merged.number(name, "numa") for name in facts.gpus]
    notices = [*remarks_of(evidence), *merged.contradictions]
    if fitting:
        base, others = fitting[0], fitting[1:]
        design = _with_numa(base, numa)
        text = f"rocm-smi shows no NIC: those of preset {base.name} are taken"
        if not told:
            text = f"the file shows no links and no NIC: those of preset {base.name} are taken"
        notices.append(Notice("nics-assumed", text, base.name))
    else:
        base, others = _host(named), []
        design = _built(base, edges, len(numbers), numa, named)
        notices.append(Notice("nics-unknown", "rocm-smi shows no NIC: there is none here"))
        if not told and len(numbers) > 1:
            text = "the file does not show how the GPUs are linked: taken as PCIe only"
            notices.append(Notice("links-unknown", text))
        if edges:
            text = "rocm-smi does not count links: one xGMI link a pair is assumed"
            notices.append(Notice("links-assumed", text))
    design = msgspec.structs.replace(design, name=facts.label)
    if named is None:
        text = f"rocm-smi names no GPU: {design.gpu} is taken; --gpu names another"
        notices.insert(0, Notice("gpu-assumed", text))
    models = {other.gpu for other in others if other.gpu != base.gpu}
    machine = machine_of(design, name=facts.label)
    alternatives = tuple(o.name for o in others if o.gpu in models and named is None)
    settled = replace(
        machine,
        basis=Basis(basis, base.name, alternatives),
        platform=base.name,
        warnings=tuple(notices),
    )
    return settled, design


def _says_links(merged: Merged) -> bool:
    """Whether one of the matrices is there."""
    return any(
        next(merged.of_attribute(attribute), None) for attribute in ("rocm_link", "hops", "weight")
    )


def _edges(merged: Merged, count: int) -> Edges:
    """Pairs that xGMI joins directly, seen from either end."""
    found = set()
    for a, b in combinations(range(count), 2):
        pairs = (f"gpu{a}>gpu{b}", f"gpu{b}>gpu{a}")
        for pair in pairs:
            weight, hops = merged.number(pair, "weight"), merged.number(pair, "hops")
            word = merged.text(pair, "rocm_link")
            near = weight in (None, _ONE_HOP) and hops in (None, 1)
            counted = weight is not None or hops is not None
            if near and (word == "XGMI" or (not word and counted)):
                found.add((a, b))
    return frozenset(found)


def _amd() -> Iterable[NodeDesign]:
    designs = (preset(name) for name in preset_names())
    return (design for design in designs if gpu(design.gpu).vendor == "AMD")


def _fitting(edges: Edges | None, count: int, named: Gpu | None) -> list[NodeDesign]:
    """AMD's presets with just these pairs (None: any), makers' own first, older before newer."""
    found = [
        design
        for design in _amd()
        if design.gpus == count
        and edges in (None, frozenset((a, b) for a, b, _ in design.nvlink.pairs(count)))
        and (named is None or gpu(design.gpu).key == named.key)
    ]
    return sorted(
        found, key=lambda d: (d.status, d.name.startswith(_CLOUDS), not d.nvlink.every_pair, d.name)
    )


def _host(named: Gpu | None) -> NodeDesign:
    """The preset that lends its host: one with such GPUs, else the first."""
    designs = sorted(_amd(), key=lambda d: (d.name.startswith(_CLOUDS), d.name != "mi300x-8"))
    return next((d for d in designs if named and gpu(d.gpu).key == named.key), designs[0])


def _built(
    base: NodeDesign,
    edges: Edges,
    count: int,
    numa: Sequence[int | None],
    named: Gpu | None,
) -> NodeDesign:
    homes = [home or 0 for home in numa]
    nodes = max(base.cpu.numa_nodes, max(homes, default=0) + 1)
    generation = base.pcie[0].generation
    return msgspec.structs.replace(
        base,
        gpu=named.key if named else base.gpu,
        gpus=count,
        nvlink=GpuLinks(style="mesh", edges=tuple((a, b, 1) for a, b in sorted(edges)))
        if edges
        else GpuLinks(),
        cpu=msgspec.structs.replace(base.cpu, numa_nodes=nodes),
        pcie=tuple(
            PcieGroup(numa=home, levels=0, gpus=(number,), generation=generation)
            for number, home in enumerate(homes)
        ),
        nics=(),
        network=Network(),
        note="links and NUMA nodes as rocm-smi shows them",
        source="",
    )


def _with_numa(base: NodeDesign, numa: Sequence[int | None]) -> NodeDesign:
    """The preset with its PCIe groups on the NUMA nodes that were read, where all are told."""
    told = {group: {numa[g] for g in group.gpus} for group in base.pcie if group.gpus}
    nodes = base.cpu.numa_nodes
    if any(len(homes) != 1 or not _is_node(next(iter(homes)), nodes) for homes in told.values()):
        return base
    groups = tuple(
        msgspec.structs.replace(group, numa=next(iter(told[group]))) if group in told else group
        for group in base.pcie
    )
    return msgspec.structs.replace(base, pcie=groups)


def _is_node(home: int | None, nodes: int) -> bool:
    return home is not None and 0 <= home < nodes
