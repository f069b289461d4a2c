"""assumptions: what was not read but taken from a preset, said in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from wirespeed.inventory.completed import Completed
from wirespeed.inventory.graph_words import graph_words
from wirespeed.topology.machine import Machine
from wirespeed.topology.software import Notice

_MOST_NAMED = 4


def assumptions(machine: Machine, completed: Completed) -> Iterable[Notice]:
    """One notice for each thing that the files do not say."""
    for rule in (_gpu, _part, _rack, _host, _nics, _roles, _numa, _vendor, _contradicted):
        yield from rule(machine, completed)


def _gpu(machine: Machine, completed: Completed) -> Iterable[Notice]:
    if machine.basis.gpu_model != "preset":
        return
    facts, match = completed.facts, completed.match
    if not facts.links:
        text = (
            f"nothing names the GPU, and without NVLink nothing tells it apart: {machine.gpu} of "
            f"preset {match.design.name} is assumed; --gpu settles it"
        )
    elif machine.basis.alternatives:
        others = ", ".join(machine.basis.alternatives)
        text = (
            f"nothing names the GPU: {machine.gpu} is taken from preset {match.design.name}, the "
            f"first that has these links; {others} fit as well; --gpu settles it"
        )
    elif match.same_links:
        text = f"nothing names the GPU: {machine.gpu} is taken from preset {match.design.name}"
    else:
        text = (
            f"nothing names the GPU: {machine.gpu} is the first of the catalog with such links; "
            "--gpu settles it"
        )
    yield Notice("gpu-from-preset", text)


def _part(machine: Machine, completed: Completed) -> Iterable[Notice]:
    seen, whole = len(completed.facts.gpus), completed.match.design.gpus
    if completed.match.same_links and completed.facts.links and seen < whole:
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
        yield Notice("nic-rate-from-preset", text)


def _roles(machine: Machine, completed: Completed) -> Iterable[Notice]:
    others = completed.roles.others(completed.facts)
    if not others:
        return
    names = ", ".join(_named(nic, completed) for nic in others)
    compute = [_label(nic, completed) for nic in completed.facts.nics if nic not in others]
    if completed.roles.basis == "near":
        text = (
            f"{names} share no PCIe switch with a GPU while other NICs do: taken for storage or "
            f"management and left out; NCCL_IB_HCA={','.join(compute)} says so to NCCL"
        )
    else:
        text = f"{names} are taken for storage or management, as in preset {machine.platform}"
    yield Notice("nic-not-compute", text, ", ".join(others))


def _label(nic: str, completed: Completed) -> str:
    return completed.facts.merged.text(nic, "label") or nic


def _named(nic: str, completed: Completed) -> str:
    label = completed.facts.merged.text(nic, "label")
    return f"{nic} ({label})" if label else nic


def _numa(machine: Machine, completed: Completed) -> Iterable[Notice]:
    guessed = [device for device in completed.homes.guessed if device in completed.facts.nics]
    if guessed and len(completed.homes.numbers) > 1:
        text = f"nothing says at which CPU {', '.join(guessed)} are plugged in: assumed"
        yield Notice("numa-assumed", text, ", ".join(guessed))


def _vendor(machine: Machine, completed: Completed) -> Iterable[Notice]:
    word = completed.facts.vendor_word
    if word != "NV":
        text = f"{word} links are another vendor's and not in the catalog: taken as NVLinks"
        yield Notice("vendor-links", text)


def _contradicted(machine: Machine, completed: Completed) -> Iterable[Notice]:
    """Pairs whose printed word no tree can hold beside the others."""
    facts, words = completed.facts, graph_words(machine.unit)
    wrong = []
    for a, b in combinations(facts.devices, 2):
        printed = facts.distance[a, b].name if (a, b) in facts.distance else ""
        if (a, b) in facts.links:
            printed = f"NV{facts.links[a, b]}"
        if printed and words.get((a, b)) != printed:
            wrong.append(f"{a}–{b} is {printed}, here {words.get((a, b)) or 'unconnected'}")
    if wrong:
        more = f" and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
        text = (
            "some words of the matrix contradict others or the NUMA nodes: "
            f"{'; '.join(wrong[:_MOST_NAMED])}{more}"
        )
        yield Notice("matrix-contradicted", text)
