"""machine_of_log: the machine that a library's log tells of, completed from the nearest preset.

A log names what the library uses: GPUs by address, NICs with their link layer, sometimes its whole
picture with a path between any two devices. What it does not say is the preset's, and said to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from wirespeed.catalog import Gpu, gpu
from wirespeed.errors import InputError, UnknownName, first_of
from wirespeed.evidence import Evidence, Fact
from wirespeed.inventory.design_words import DesignWords
from wirespeed.inventory.log_node import LogNode
from wirespeed.inventory.machine import Read, read_machine
from wirespeed.inventory.match import in_order
from wirespeed.topology.machine import Basis, Machine
from wirespeed.topology.machines import machine_of
from wirespeed.topology.nccl_speeds import nvlink_planning
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.presets import preset, preset_names
from wirespeed.topology.software import Notice
from wirespeed.units import GB

_SMI = frozenset({"PIX", "PXB", "PHB", "SYS"})
"""Path words that a matrix has too."""
_MOST_NICS_APART = 4
_OF_A_TEST = 2
_MOST_NICS, _MOST_SETTINGS = 8, 6
"""Of which a notice names so many."""
_FIRST = ((80, (2, 7)), (90, (2, 15)), (100, (2, 25)))
"""The library's first release for GPUs of a compute capability. Source: its release notes."""
_USUAL_CC = 80
"""Compute capability below which a machine is taken for only where something tells."""
_LAYERS = {"IB": "infiniband", "ROCE": "ethernet"}
_ASSUMED = frozenset({"gpu-from-preset", "links-from-preset", "one-gpu", "p2p-unknown"})
"""What is said otherwise of a log."""


def machine_of_log(
    node: LogNode, others: Sequence[Evidence], option: str | None
) -> tuple[Machine, Read | None]:
    """The machine, and how it was completed where that was by words between its devices.

    `others` are texts without GPUs beside the log. Raises UnknownName for an unknown `option`,
    InputError where no preset has so many GPUs.
    """
    named, basis = _named(node, option)
    design = _nearest(node, named)
    if gpu(design.gpu).vendor != "NVIDIA":
        machine = replace(machine_of(design), name=node.file, basis=Basis(basis, design.name))
        return _told(machine, node, named), None
    read = read_machine([_words(node, design, named), *others], gpu=option, base=design)
    machine = read.machine
    kept = tuple(notice for notice in machine.warnings if notice.code not in _ASSUMED)
    machine = replace(machine, warnings=kept, basis=replace(machine.basis, gpu_model=basis))
    machine = _told(replace(machine, network=_network(node) or machine.network), node, named)
    return machine, replace(read, machine=machine)


def _named(node: LogNode, option: str | None) -> tuple[Gpu | None, str]:
    if option:
        return gpu(option), "option"
    for entry in node.gpus:
        try:
            if entry.model:
                return gpu(entry.model), "read"
        except UnknownName:
            continue
    return None, "preset"


def _nearest(node: LogNode, named: Gpu | None) -> NodeDesign:
    """The preset that is least far from what the log says."""
    vendor = named.vendor if named else ("AMD" if node.library == "rccl" else "NVIDIA")
    designs = [preset(name) for name in preset_names()]
    fitting = [
        design
        for design in designs
        if gpu(design.gpu).vendor == vendor
        and design.gpus >= len(node.gpus)
        and (named is None or gpu(design.gpu).key == named.key)
    ]
    if not fitting:
        # No preset has this GPU: another one's host is all that there is.
        fitting = [
            design
            for design in designs
            if gpu(design.gpu).vendor == vendor and design.gpus >= len(node.gpus)
        ]
    if not fitting:
        raise InputError(
            f"no preset has {len(node.gpus)} GPUs in a node",
            where=node.file,
            why="a log does not say how a machine is built; a preset has to",
            remedy="name the machine with --on: the output of nvidia-smi topo -m, a cluster TOML",
        )
    return min(fitting, key=lambda design: (_distance(node, design), in_order(design)))


def _distance(node: LogNode, design: NodeDesign) -> float:
    """How far a preset is from what the log says: 8 for other links, 4 for another network."""
    model, switched = gpu(design.gpu), design.nvlink.style == "switch"
    cc = model.cc or 0
    # One GPU or two may be all that a test took of a larger machine.
    total = 8.0 * any(cc >= least and () < node.version[:2] < first for least, first in _FIRST)
    part = 1.0 if len(node.gpus) > _OF_A_TEST else 0.25
    total += part * (design.gpus != len(node.gpus)) + (0 < cc < _USUAL_CC)
    total += 8 * bool(node.cc and cc != node.cc)
    whole = switched or design.nvlink_domain >= design.gpus > 1
    total += 8 * (node.nvlink is not None and node.nvlink != whole)
    if node.nvlink_GBps:
        words = DesignWords(design)
        credited = words.links(0, min(1, design.gpus - 1)) * nvlink_planning(cc) / GB
        total += 8 * (not switched or abs(credited / node.nvlink_GBps - 1) > 0.02)
    total += 4 * bool(node.nvls and not (switched and cc >= 90))
    total += 4 * (node.mnnvl != (design.nodes_per_unit > 1))
    total += 4 * (node.efa != (design.network.kind == "efa"))
    if node.nics:
        groups = [group for group in design.nics if group.role == "compute"]
        total += min(_MOST_NICS_APART, abs(sum(g.count for g in groups) - len(node.nics)))
        rates = {nic.rate_Gbps for nic in node.nics if nic.rate_Gbps}
        total += bool(rates and rates.isdisjoint(group.rate_Gbps for group in groups))
        total += 2 * (_network(node) not in ("", design.network.kind))
    return total


def _network(node: LogNode) -> str:
    """What most NICs speak; empty where the log does not say."""
    if node.efa:
        return "efa"
    layers = [_LAYERS.get(nic.layer.upper(), "") for nic in node.nics]
    return max(layers, key=layers.count, default="")


def _words(node: LogNode, design: NodeDesign, named: Gpu | None) -> Evidence:
    """What a matrix and a query would show of the node, inferred where the log does not say it."""
    words = DesignWords(design)
    facts: list[Fact] = []
    for entry in node.gpus:
        name = f"gpu{entry.index}"
        facts.append(Fact(name, "index", entry.index, entry.line))
        if entry.bus_id:
            facts.append(Fact(name, "bus_id", entry.bus_id, entry.line))
        model = named.key if named else gpu(design.gpu).key
        facts.append(Fact(name, "model", model, entry.line, inferred=named is None))
    for nic in node.nics:
        facts.append(Fact(f"nic{nic.index}", "index", nic.index, nic.line))
        if nic.name:
            facts.append(Fact(f"nic{nic.index}", "label", nic.name, nic.line))
        if nic.rate_Gbps:
            facts.append(Fact(f"nic{nic.index}", "rate_Gbps", nic.rate_Gbps, nic.line))
    if not node.nics:
        count = len(_compute(design))
        facts += [Fact(f"nic{at}", "index", at, 0, inferred=True) for at in range(count)]
    facts += _pairs(node, words)
    return Evidence("nccl-log", node.file, tuple(facts))


def _pairs(node: LogNode, words: DesignWords) -> Iterator[Fact]:
    design = words.design
    one_link = nvlink_planning(gpu(design.gpu).cc or 0) / GB
    places = {entry.index: at for at, entry in enumerate(node.gpus)}
    for (a, at_a), (b, at_b) in combinations(places.items(), 2):
        word, rate, line = node.paths.get((a, b)) or node.paths.get((b, a)) or ("", 0.0, 0)
        subject = f"gpu{a}>gpu{b}"
        if word == "NVL" and rate:
            yield Fact(subject, "smi", f"NV{max(1, round(rate / one_link))}", line)
        elif word in _SMI:
            yield Fact(subject, "smi", word, line)
        elif links := words.links(at_a, at_b):
            yield Fact(subject, "smi", f"NV{links}", 0, inferred=True)
        elif found := words.word(f"gpu{at_a}", f"gpu{at_b}"):
            yield Fact(subject, "smi", found.name, 0, inferred=True)
    compute = _compute(design)
    nics = [nic.index for nic in node.nics] or list(range(len(compute)))
    for a, at in places.items():
        for position, nic in enumerate(nics):
            word, _, line = node.paths.get((a, -1 - nic), ("", 0.0, 0))
            if word in _SMI:
                yield Fact(f"gpu{a}>nic{nic}", "smi", word, line)
            elif len(nics) <= len(compute) and (
                found := words.word(f"gpu{at}", f"nic{_evenly(compute, position, len(nics))}")
            ):
                yield Fact(f"gpu{a}>nic{nic}", "smi", found.name, 0, inferred=True)


def _evenly(compute: list[int], position: int, count: int) -> int:
    """The preset's NIC in whose place the NIC of that position stands: fewer are spread evenly."""
    return compute[position * len(compute) // count]


def _compute(design: NodeDesign) -> list[int]:
    """Numbers of the NICs that carry traffic between nodes."""
    return [n for n in range(design.nic_count) if design.nic(n).role == "compute"]


def _told(machine: Machine, node: LogNode, named: Gpu | None) -> Machine:
    return replace(machine, warnings=(*_notices(machine, node, named), *machine.warnings))


def _notices(machine: Machine, node: LogNode, named: Gpu | None) -> Iterator[Notice]:
    nodes = f" on {node.nodes} nodes" if (node.nodes or 1) > 1 else ""
    nics = first_of([nic.name or f"net{nic.index}" for nic in node.nics], _MOST_NICS)
    gpus = f"{len(node.gpus)} GPU{'s' if len(node.gpus) > 1 else ''} a node{nodes}"
    shown = f"{gpus}, NICs {nics}" if nics else f"{gpus}, no NIC is named"
    text = (
        f"the library itself tells what is in use ({shown}); all else is taken from preset "
        f"{machine.platform}"
    )
    yield Notice("machine-from-log", text, node.file)
    if node.gpus_assumed:
        text = f"how many GPUs a node has is not said: {len(node.gpus)} are taken"
        yield Notice("gpus-assumed", text, node.file)
    if named is None:
        text = (
            f"nothing in the log names the GPU: {machine.gpu} of preset {machine.platform} is "
            "assumed, the first that fits; --gpu settles it"
        )
        yield Notice("gpu-from-preset", text, node.file)
    if not any(rate for (_, rate, _) in node.paths.values()):
        text = f"the log does not say how the GPUs are linked: as in preset {machine.platform}"
        yield Notice("links-from-preset", text, node.file)


def job_notices(node: LogNode) -> Iterator[Notice]:
    """What the log says of the job, and how a forecast follows it."""
    if node.env:
        names = [f"{name}={value[:40]}" for name, value in sorted(node.env.items())]
        text = f"set in the log, and followed: {first_of(names, _MOST_SETTINGS)}"
        yield Notice("settings-from-log", text, node.file)
    names_of = {f"net{nic.index}": nic.name for nic in node.nics}
    if node.gdr_off:
        nics = ", ".join(names_of.get(net) or net for net in dict.fromkeys(node.gdr_off))
        text = f"the log says that GPUDirect RDMA is off for {nics}; --change gdr=off forecasts it"
        yield Notice("gdr-off-in-log", text, node.file)
    if node.socket and not node.efa:
        text = "the log says that sockets carry the data; --change net=socket forecasts it"
        yield Notice("sockets-in-log", text, node.file)
    if node.uses:
        told = ", ".join(
            f"{name} {'on' if on else 'off'}" for name, on in sorted(node.uses.items())
        )
        yield Notice("abilities-in-log", f"as the log says: {told}", node.file)
