"""combine: several files of one machine, each for what it knows best.

A topology XML knows the PCIe tree with its widths and the links of every GPU: where it is whole,
its graph is the machine. A matrix or a query beside it is held against that graph. A skeleton,
which NCCL would complete itself, gives its tree as words, and is completed from a preset like a
matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from wirespeed.catalog import Gpu, gpu
from wirespeed.errors import InputError, UnknownName, first_of
from wirespeed.evidence import Evidence, Fact
from wirespeed.inventory.design_of import design_of
from wirespeed.inventory.from_lstopo import as_topology
from wirespeed.inventory.from_rocm import machine_of_rocm
from wirespeed.inventory.from_xml import XmlMachine, machines_of_xml
from wirespeed.inventory.gpu_model import named_gpu
from wirespeed.inventory.graph_words import graph_words
from wirespeed.inventory.hosts import combine_hosts, hosts_apart
from wirespeed.inventory.log_node import is_log, log_node
from wirespeed.inventory.machine import Read, read_machine, remarks_of
from wirespeed.inventory.match import best_match
from wirespeed.inventory.merged import Merged, merge
from wirespeed.inventory.node_facts import NodeFacts, node_facts, peer_to_peer
from wirespeed.inventory.nvlink_states import with_links_as_listed
from wirespeed.inventory.pci_status import redirecting_bridges, with_pci_links
from wirespeed.inventory.result import Combined
from wirespeed.inventory.run_models import models_of_a_run
from wirespeed.inventory.slots import with_slots_as_read
from wirespeed.inventory.with_log import with_log
from wirespeed.readers import lstopo, nccl_xml, nvbandwidth, p2p_bandwidth, rocm_topo
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.machine import Basis, Machine
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.presets import preset, preset_names
from wirespeed.topology.software import Abilities, Notice
from wirespeed.topology.unit import Unit
from wirespeed.units import gbps

_ALIKE = {"PXB": "PIX", "NODE": "PHB"}
"""Words that a topology XML cannot tell apart: host bridges of one CPU, levels of one switch."""
_COPIES = {nvbandwidth.NAME, p2p_bandwidth.NAME}
"""Formats of benchmarks that list GPUs."""
_CABLES = {"infiniband", "ethernet"}
"""What the PCI class of a NIC tells apart."""
_MOST_NAMED = 3


def combine(evidence: Sequence[Evidence], *, gpu: str | None = None) -> Combined:
    """The machine that some files describe together; `gpu` settles its model.

    Texts of several hosts are kept apart; the first host's machine stands for all. Raises
    InputError where no GPU is named, UnknownName for an unknown `gpu`, UsageError for one that has
    too few links.
    """
    by_host = hosts_apart(evidence)
    if len(by_host) > 1:
        return combine_hosts(by_host, lambda parts: _of_one_host(parts, gpu))
    return _of_one_host(evidence, gpu)


def _of_one_host(evidence: Sequence[Evidence], gpu: str | None) -> Combined:
    evidence = with_pci_links(evidence)
    if any(map(is_log, evidence)) and (node := log_node(evidence)):
        return with_log(node, evidence, gpu, None if _is_log_alone(evidence) else _of_files)
    return _of_files(evidence, gpu)


def _is_log_alone(evidence: Sequence[Evidence]) -> bool:
    """Whether nothing beside the library itself tells of GPUs."""
    return not _has_gpus(evidence)


def _of_files(evidence: list[Evidence], gpu: str | None) -> Combined:
    evidence = [*evidence, *models_of_a_run(evidence)]
    _check_links_told(evidence)
    found = _combine(evidence, gpu)
    machine = with_links_as_listed(found.machine, merge(evidence))
    odd = (*machine.oddities, *redirecting_bridges(evidence))
    design = None if machine.unit is not found.machine.unit else found.design
    return replace(found, machine=replace(machine, oddities=odd), design=design)


def _combine(evidence: list[Evidence], gpu: str | None) -> Combined:
    trees, others = _trees(evidence)
    # Of a file that was cut, nothing but its name may be left.
    machines = machines_of_xml(trees[0]) if trees else ()
    if trees and not machines and not _has_gpus(others):
        raise _no_gpu(trees[0])
    if not machines:
        if _has_format(others, rocm_topo.NAME) and not _has_words(others):
            return Combined(*_of_rocm(others, gpu))
        read = read_machine(others, gpu=gpu)
        return Combined(read.machine, 1, design_of(read))
    first = machines[0]
    if not len(first.unit.of_kind(ComponentKind.GPU)) and not _has_gpus(others):
        raise _no_gpu(trees[0])
    design: NodeDesign | None = None
    if first.complete:
        machine = _whole(trees[0], first, others, gpu)
    else:
        completed = _skeleton(trees[0], first, others, gpu)
        machine, design = completed.machine, design_of(completed)
    notices = (*_left_out(trees, machines), *machine.warnings)
    return Combined(replace(machine, warnings=notices), first.nodes, design)


def _trees(evidence: list[Evidence]) -> tuple[list[Evidence], list[Evidence]]:
    """Topology files and all else: NCCL's own, else hwloc's where it shows a GPU."""
    trees = [part for part in evidence if _has_format([part], nccl_xml.NAME)]
    hwloc = [part for part in evidence if _has_format([part], lstopo.NAME)]
    others = [part for part in evidence if part not in trees and part not in hwloc]
    shown = [as_topology(part) for part in hwloc if _has_gpus([part])]
    if not trees and not shown:
        # Of processors alone nothing is taken; where that is all, the message says so.
        return [], others or hwloc
    return trees or shown, others


def _check_links_told(evidence: list[Evidence]) -> None:
    """Refuses files that measure copies and nothing else: they name GPUs, not what joins them."""
    measured = [part for part in evidence if set(part.format.split("+")) <= _COPIES]
    others = [part for part in evidence if part not in measured]
    if measured and _has_gpus(measured) and not _has_gpus(others):
        raise InputError(
            "nothing says how the GPUs are linked",
            where=", ".join(part.file for part in measured),
            why="it measures copies between GPUs; links and NICs it does not show",
            remedy="give the output of `nvidia-smi topo -m` too, or name a preset",
        )


def _has_format(evidence: Iterable[Evidence], name: str) -> bool:
    return any(name in part.format.split("+") for part in evidence)


def _of_rocm(evidence: list[Evidence], gpu: str | None) -> tuple[Machine, int, NodeDesign]:
    machine, design = machine_of_rocm(evidence, gpu=gpu)
    return machine, 1, design


def _no_gpu(tree: Evidence) -> InputError:
    """Why a tree without a GPU is no machine: its author left what is where to NCCL."""
    places = {fact.subject for fact in tree.facts if fact.subject.startswith("pci ")}
    return InputError(
        "the file does not say which devices are GPUs",
        where=tree.file,
        why=f"it places {len(places)} PCI devices on CPUs and leaves the rest to NCCL",
        remedy="give the dump of NCCL_TOPO_DUMP_FILE, or the name of a preset",
    )


def _skeleton(
    tree: Evidence, found: XmlMachine, others: Sequence[Evidence], option: str | None
) -> Read:
    words = _as_words(found, tree.file, gpus_too=False)
    # A rate that the file does not state is the preset's to give, not that of the NIC's kind.
    stated = _with_rate(tree)
    kept = [f for f in words.facts if f.attribute != "rate_Gbps" or f.subject in stated]
    words = Evidence(words.format, words.file, (*kept, *_host_facts(found)))
    read = read_machine([words, *others], gpu=option)
    machine = read.machine
    text = (
        "the file is a skeleton that NCCL completes on the machine itself: links between GPUs "
        f"and the rates of PCIe links are taken from preset {machine.platform}"
    )
    first = Notice("skeleton", text, tree.file)
    network = machine.network
    if {network, found.network} == _CABLES and len(found.unit.of_kind(ComponentKind.NIC)):
        network = found.network
    warnings = (*remarks_of([tree]), first, *machine.warnings)
    return replace(read, machine=replace(machine, network=network, warnings=warnings))


def _with_rate(tree: Evidence) -> set[str]:
    """NICs whose rate the file states."""
    told = (fact for fact in tree.facts if fact.attribute == "rate_Gbps")
    return {fact.subject.rpartition("/")[2] for fact in told}


def _host_facts(found: XmlMachine) -> Iterable[Fact]:
    """What a skeleton shows of the host, to tell presets apart by."""
    if found.cpu_vendor:
        yield Fact("host", "cpu_vendor", found.cpu_vendor, 0)
    unit = found.unit
    devices = [*unit.of_kind(ComponentKind.GPU), *unit.of_kind(ComponentKind.NIC)]
    buses = [found.bus_ids[int(c)] for c in devices if int(c) in found.bus_ids]
    domains = {bus.partition(":")[0] for bus in buses}
    yield Fact("host", "own_domains", 1 < len(buses) == len(domains), 0)
    yield Fact("host", "displays", found.displays, 0)


def _left_out(trees: Sequence[Evidence], machines: Sequence[XmlMachine]) -> Iterable[Notice]:
    if len(machines) > 1:
        text = f"the file holds {len(machines)} different machines: the first is taken"
        yield Notice("several-machines", text, trees[0].file)
    for part in trees[1:]:
        text = f"{part.file} is left out: the tree is taken from {trees[0].file}"
        yield Notice("file-left-out", text, part.file)


@dataclass(frozen=True, slots=True)
class _Settled:
    """Which GPU it is, and how that is known."""

    name: str
    basis: Basis


def _whole(
    tree: Evidence, found: XmlMachine, others: Sequence[Evidence], option: str | None
) -> Machine:
    facts = node_facts(merge([_as_words(found, tree.file, gpus_too=True)]))
    merged = merge([tree, *others])
    settled = _settle(facts, merged, found, option)
    beside = read_machine(others, gpu=option).machine if _has_gpus(others) else None
    notices = [
        *remarks_of([tree, *others]),
        *found.notices,
        *merged.contradictions,
        *_other_model(tree, found, merged),
        *_contradictions(found.unit, others),
    ]
    if not found.gpu and settled.basis.gpu_model == "preset":
        text = f"{settled.name} stands in for a GPU that the catalog lacks; --gpu names another"
        notices.append(Notice("gpu-stands-in", text))
    return Machine(
        name=", ".join(merged.files),
        unit=with_slots_as_read(found.unit, merged),
        gpu=settled.name,
        platform=settled.basis.preset,
        library=found.library,
        network="socket" if found.socket else found.network,
        cpu_vendor=found.cpu_vendor,
        peer_to_peer=peer_to_peer(merged),
        basis=settled.basis,
        abilities=Abilities(gdr=found.gdr is not False, socket=found.socket),
        warnings=tuple(notices),
        oddities=(*found.oddities, *(beside.oddities if beside else ())),
    )


def _settle(facts: NodeFacts, merged: Merged, found: XmlMachine, option: str | None) -> _Settled:
    named, basis = named_gpu(replace(facts, merged=merged), option)
    if named is None and found.gpu and _is_known(found.gpu):
        named, basis = gpu(found.gpu), "read" if found.gpu_read else "preset"
    if named is None and found.library == "rccl":
        named, basis = _stand_in(found.unit), "preset"
    if named is not None and named.vendor != "NVIDIA":
        name = _platform(named, len(facts.gpus))
        return _Settled(named.key, Basis(basis, name, found.gpu_alternatives))
    match = best_match(facts, named)
    key = named.key if named else match.design.gpu
    others = found.gpu_alternatives if named else match.alternatives
    return _Settled(key, Basis(basis, match.design.name, others))


def _stand_in(unit: Unit) -> Gpu:
    """The AMD part of the catalog that is nearest to one that it lacks (MI300A, MI100, MI50)."""
    return gpu("mi300x" if any(m.startswith("MI300") for m in unit.models) else "mi250x")


def _platform(model: Gpu, count: int) -> str:
    """The shortest name of a preset with so many GPUs of that model; empty where there is none."""
    fitting = [
        name
        for name in preset_names()
        if preset(name).gpus == count and gpu(preset(name).gpu).key == model.key
    ]
    return min(fitting, key=lambda name: (len(name), name), default="")


def _as_words(found: XmlMachine, file: str, *, gpus_too: bool) -> Evidence:
    """What the graph's first node would show in a matrix, as if it had been read."""
    unit, words = found.unit, graph_words(found.unit)
    facts: list[Fact] = []
    for kind in (ComponentKind.GPU, ComponentKind.NIC):
        for component in unit.of_kind(kind).tolist():
            if unit.node[component] == 0:
                name = f"{kind.word}{unit.index[component]}"
                facts += _device_facts(unit, component, name, found)
    for (a, b), word in words.items():
        hidden = not gpus_too and a.startswith("gpu") and b.startswith("gpu")
        if a != b and word and not hidden:
            facts.append(Fact(f"{a}>{b}", "smi", word, 0, inferred=True))
    return Evidence("graph", file, tuple(facts))


def _device_facts(unit: Unit, component: int, name: str, found: XmlMachine) -> Iterable[Fact]:
    yield Fact(name, "index", int(unit.index[component]), 0)
    yield Fact(name, "numa", int(unit.numa[component]), 0)
    if label := unit.labels.get(component, ""):
        yield Fact(name, "label", label, 0)
    if name.startswith("nic") and unit.rate[component] > 0:
        yield Fact(name, "rate_Gbps", float(unit.rate[component] / gbps(1)), 0)
    if name.startswith("gpu") and found.gpu and found.gpu_read and _is_known(found.gpu):
        yield Fact(name, "model", found.gpu, 0)


def _is_known(name: str) -> bool:
    try:
        return bool(gpu(name))
    except UnknownName:
        return False


def _has_words(others: Sequence[Evidence]) -> bool:
    return any(fact.attribute == "smi" for part in others for fact in part.facts)


def _has_gpus(others: Sequence[Evidence]) -> bool:
    return any(fact.subject.startswith("gpu") for part in others for fact in part.facts)


def _other_model(tree: Evidence, found: XmlMachine, merged: Merged) -> Iterable[Notice]:
    """GPUs that a query calls otherwise than their PCI id does."""
    if not (found.gpu_read and _is_known(found.gpu)):
        return
    model = gpu(found.gpu)
    for name, statement in merged.of_attribute("model"):
        said = str(statement.value)
        if _is_known(said) and gpu(said).key != model.key:
            line = next((fact.line for fact in tree.facts if fact.subject == name), 0)
            text = (
                f"{name} model is {said} in {statement.place}, but {model.name} by its PCI id in "
                f"{tree.file}:{line}; the name is used"
            )
            yield Notice("contradiction", text, name)
            return


def _contradictions(unit: Unit, others: Sequence[Evidence]) -> Iterable[Notice]:
    """Pairs of which a matrix says something else than the tree; NICs are told by their labels."""
    for part in others:
        merged = merge([part])
        if not _has_words([part]):
            continue
        facts = node_facts(merged)
        same = _same_devices(facts, unit)
        tree = graph_words(unit)
        wrong = []
        for a, b in combinations(same, 2):
            printed = str(merged.get(f"{a}>{b}", "smi") or "")
            built = tree.get((same[a], same[b]), "")
            if printed and built and _ALIKE.get(printed, printed) != _ALIKE.get(built, built):
                line = merged.statements[f"{a}>{b}", "smi"].place
                wrong.append(f"{a} to {b} is {printed} in {line}, {built} in the tree")
        if wrong:
            text = f"{first_of(wrong, _MOST_NAMED, '; ')}; the tree is used"
            yield Notice("contradiction", text, part.file)


def _same_devices(facts: NodeFacts, unit: Unit) -> dict[str, str]:
    """Devices of the matrix and what they are in the tree: GPUs by number, NICs by label."""
    there = {}
    for component in unit.of_kind(ComponentKind.NIC).tolist():
        there[unit.labels.get(component, "")] = f"nic{unit.index[component]}"
    count = len(unit.of_kind(ComponentKind.GPU))
    same = {name: name for name in facts.gpus if int(name[3:]) < count}
    for nic in facts.nics:
        label = facts.merged.text(nic, "label")
        if label and label in there:
            same[nic] = there[label]
    return same
