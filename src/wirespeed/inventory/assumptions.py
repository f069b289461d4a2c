"""assumptions: what was not read but taken from a preset, said in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from wirespeed.errors import first_of
from wirespeed.inventory.completed import Completed
from wirespeed.inventory.graph_words import graph_words
from wirespeed.inventory.node_facts import NodeFacts
from wirespeed.topology.kinds import SmiWord
from wirespeed.topology.machine import Machine
from wirespeed.topology.software import Notice

_MOST_NAMED = 4


def assumptions(machine: Machine, completed: Completed) -> Iterable[Notice]:
    """One notice for each thing that the files do not say."""
    for rule in (_gpu, _links, _part, _rack, _host, _nics, _roles, _numa, _vendor, _contradicted):
        yield from rule(machine, completed)


def _gpu(machine: Machine, completed: Completed) -> Iterable[Notice]:
    if machine.basis.gpu_model != "preset":
        return
    match, others = completed.match, ", ".join(machine.basis.alternatives)
    start = f"nothing names the GPU: {machine.gpu}"
    if not completed.facts.links:
        text = (
            f"{start} of preset {match.design.name} is assumed, since no NVLink tells it apart; "
            "--gpu settles it"
        )
    elif not match.same_links:
        text = f"{start} is the nearest of the catalog with such links; --gpu settles it"
    elif others:
        text = (
            f"{start} is taken from preset {match.design.name}, the first that has these links; "
            f"others that fit: {others}; --gpu settles it"
        )
    else:
        text = f"{start} is taken from preset {match.design.name}"
    yield Notice("gpu-from-preset", text)


def _links(machine: Machine, completed: Completed) -> Iterable[Notice]:
    """Links between GPUs of which no row says anything."""
    facts, style = completed.facts, completed.design.nvlink.style
    if len(facts.gpus) > 1 and not facts.links and not _any_pair(facts):
        how = f"as in preset {machine.platform}" if style != "none" else "taken as PCIe only"
        yield Notice("links-from-preset", f"nothing says how the GPUs are linked: {how}")


def _any_pair(facts: NodeFacts) -> bool:
    return any(pair in facts.distance for pair in combinations(facts.gpus, 2))


def _part(machine: Machine, completed: Completed) -> Iterable[Notice]:
    seen, whole = len(completed.facts.gpus), completed.match.design.gpus
    if completed.match.part and completed.facts.links:
        text = f"{seen} of the {whole} GPUs of preset {machine.platform} are visible here"
        yield Notice("part-of-preset", text)


def _rack(machine: Machine, completed: Completed) -> Iterable[Notice]:
    if machine.unit.nodes > 1:
        text = (
            f"one tray is visible here; up to {machine.unit.nodes} such trays are taken to share "
            f"one NVLink domain, as in preset {machine.platform}"
        )
        yield Notice("rack-assumed", text)


def _host(machine: Machine, completed: Completed) -> Iterable[Notice]:
    told = any(completed.facts.merged.of_attribute("pcie_gen_max"))
    generation = "" if told else f"PCIe Gen{_generation(completed)}, "
    text = (
        f"{generation}the CPUs ({machine_cpu(completed)}) and the links between them are taken "
        f"from preset {machine.platform}"
    )
    yield Notice("host-from-preset", text)


def machine_cpu(completed: Completed) -> str:
    """The processors of the design."""
    cpu = completed.design.cpu
    return f"{cpu.sockets} x {cpu.model or 'unknown'}"


def _generation(completed: Completed) -> int:
    return max((group.generation for group in completed.design.pcie), default=0)


def _nics(machine: Machine, completed: Completed) -> Iterable[Notice]:
    facts = completed.facts
    if not facts.nics:
        text = "no NIC is visible here, so several such nodes have no network between them"
        yield Notice("no-nics", text)
        return
    if all(facts.merged.get(nic, "rate_Gbps") for nic in facts.nics):
        return
    compute = [g for g in completed.design.nics if g.role == "compute"]
    if compute:
        text = (
            f"the NICs' model and rate ({compute[0].model}, {compute[0].rate_Gbps:g} Gb/s, "
            f"{machine.network}) are taken from preset {machine.platform}"
        )
        if completed.roles.are_bonds(facts):
            text += "; as bonds they speak Ethernet"
        yield Notice("nic-rate-from-preset", text)


def _roles(machine: Machine, completed: Completed) -> Iterable[Notice]:
    facts, roles = completed.facts, completed.roles
    others = roles.others(facts)
    if not others:
        return
    names, verb = ", ".join(_named(nic, completed) for nic in others), "is"
    if len(others) > 1:
        verb = "are"
    if roles.basis == "near":
        text = (
            f"{names} {verb} taken for storage or management and left out: other NICs share a PCIe "
            "switch with a GPU"
        )
        labels = [facts.merged.text(nic, "label") for nic in facts.nics if nic in roles.compute]
        if all(labels):
            text += f"; NCCL_IB_HCA={','.join(labels)} says so to NCCL"
        else:
            text += "; say so to NCCL with NCCL_IB_HCA"
    else:
        text = f"{names} {verb} taken for storage or management, as in preset {machine.platform}"
    yield Notice("nic-not-compute", text, ", ".join(others))


def _named(nic: str, completed: Completed) -> str:
    label = completed.facts.merged.text(nic, "label")
    return f"{nic} ({label})" if label else nic


def _numa(machine: Machine, completed: Completed) -> Iterable[Notice]:
    """NICs that are SYS to every device of which the NUMA node is known."""
    facts, homes = completed.facts, completed.homes
    lone = [
        nic
        for node in completed.classes.members(SmiWord.NODE)
        if not any(device in facts.gpus for device in node)
        for nic in node
        if nic in homes.guessed
    ]
    if lone and len(homes.numbers) > 1:
        names = ", ".join(sorted(lone, key=facts.nics.index))
        verb = "is" if len(lone) == 1 else "are"
        yield Notice("numa-assumed", f"nothing says which CPU {names} {verb} plugged into", names)


def _vendor(machine: Machine, completed: Completed) -> Iterable[Notice]:
    word = completed.facts.vendor_word
    if word != "NV":
        text = f"{word} links are another vendor's and not in the catalog: taken as NVLinks"
        yield Notice("vendor-links", text)


def _contradicted(machine: Machine, completed: Completed) -> Iterable[Notice]:
    """Pairs whose printed word no tree can hold beside the others."""
    facts = completed.facts
    printed = {pair: word.name for pair, word in facts.distance.items()}
    if not completed.full_links:
        # Links to switches are laid as they were counted; those of a mesh may pass other GPUs.
        printed |= {pair: f"NV{count}" for pair, count in facts.links.items()}
    pairs = [pair for pair in combinations(facts.devices, 2) if pair in printed]
    words = graph_words(machine.unit, pairs)
    wrong: list[str] = []
    inside: list[str] = []
    for a, b in pairs:
        if words[a, b] == printed[a, b]:
            continue
        if printed[a, b] == "SYS" and completed.homes.cpu[a] == completed.homes.cpu[b]:
            inside.append(f"{a}–{b}")
        else:
            wrong.append(f"{a}–{b} is {printed[a, b]}, here {words[a, b] or 'unconnected'}")
    if wrong:
        text = f"some words contradict others or the NUMA nodes: {first_of(wrong, _MOST_NAMED)}"
        yield Notice("matrix-contradicted", text)
    if inside and completed.design.host_link.kind == "none":
        text = (
            f"SYS stands between devices of one NUMA node, as virtual machines show it: "
            f"{first_of(inside, _MOST_NAMED)}; taken as NODE"
        )
        yield Notice("sys-inside-numa", text)
