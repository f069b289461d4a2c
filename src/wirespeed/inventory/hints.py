"""hints_of: what the words mean for those who use the machine, one rule a function.

None of these is a fault: they are what a person who reads the matrix would tell another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations

from wirespeed.inventory.completed import Completed
from wirespeed.inventory.oddities import far_from_nics
from wirespeed.topology.kinds import SmiWord
from wirespeed.topology.software import Notice

Rule = Callable[[Completed], Iterable[Notice]]

_REFUSALS = {
    "CNS": "the chipset does not support it",
    "GNS": "the GPU does not support it",
    "TNS": "the topology does not support it",
    "NS": "it is not supported",
    "DR": "a registry key disables it",
    "U": "the driver does not know",
}


def hints_of(completed: Completed) -> Iterable[Notice]:
    """One notice for each thing that is worth knowing."""
    for rule in RULES:
        yield from rule(completed)


def one_gpu(completed: Completed) -> Iterable[Notice]:
    """A single GPU says nothing of links; its best NIC is all there is to tell."""
    facts = completed.facts
    if len(facts.gpus) > 1:
        return
    gpu, words = facts.gpus[0], facts.nic_words(facts.gpus[0])
    text = "one GPU is visible: nothing can be said about links between GPUs"
    if words:
        best = min(words.values())
        names = ", ".join(_named(nic, completed) for nic, word in words.items() if word == best)
        text += f"; its best NIC is {names} ({best.name})"
    yield Notice("one-gpu", text, gpu)


def p2p_status(completed: Completed) -> Iterable[Notice]:
    """What `topo -p2p` says, or that the matrix alone does not say it."""
    facts = completed.facts
    words = Counter(
        str(statement.value)
        for attribute in ("p2p_read", "p2p_write", "p2p_status")
        for _, statement in facts.merged.of_attribute(attribute)
    )
    refused = [word for word in words if word != "OK"]
    if refused and len(refused) == len(words):
        reason = _REFUSALS.get(refused[0], "the driver refuses it")
        text = (
            f"no peer-to-peer between GPUs: {reason} ({refused[0]}); the library copies through "
            "host memory (SHM)"
        )
        yield Notice("p2p-refused", text)
    elif not words and completed.design.nvlink.style == "none" and len(facts.gpus) > 1:
        text = (
            "the matrix does not say whether peer-to-peer works over PCIe: "
            "`nvidia-smi topo -p2p r` does"
        )
        yield Notice("p2p-unknown", text)


def numa_per_gpu(completed: Completed) -> Iterable[Notice]:
    """Each GPU on a NUMA node of its own: SYS need not cross sockets."""
    facts = completed.facts
    pairs = list(combinations(facts.gpus, 2))
    far = all(facts.distance.get(pair) == SmiWord.SYS for pair in pairs)
    own = len(set(facts.numa.values())) == len(facts.gpus) > 2
    if far and own:
        text = (
            "every GPU has a NUMA node of its own: in NPS4 mode these are parts of one socket, so "
            "SYS here need not cross sockets"
        )
        yield Notice("nps", text)


def linked_groups(completed: Completed) -> Iterable[Notice]:
    """NVLink joins some GPUs only: larger groups fall to PCIe."""
    facts = completed.facts
    if not facts.links or facts.differing:
        return
    groups = _linked(completed)
    sizes = {len(group) for group in groups}
    if len(groups) > 1 and max(sizes) > 1 and len(sizes) == 1:
        text = (
            f"NVLink joins groups of {max(sizes)} only ({_pairs(groups)}): any larger group falls "
            "to PCIe and the host"
        )
        yield Notice("linked-in-groups", text)


def _linked(completed: Completed) -> list[list[str]]:
    """GPUs joined by links, directly or over each other."""
    facts = completed.facts
    groups: list[list[str]] = []
    for gpu in facts.gpus:
        touched = [g for g in groups if any((gpu, other) in facts.links for other in g)]
        groups = [g for g in groups if g not in touched]
        groups.append([*(name for g in touched for name in g), gpu])
    return groups


def host_bridge(completed: Completed) -> Iterable[Notice]:
    """PCIe switches that meet at a host bridge: what a ring over all GPUs crosses."""
    facts = completed.facts
    if facts.links or len(facts.gpus) < 3:
        return
    switches = completed.classes.members(SmiWord.PXB, facts.gpus)
    far = max(completed.classes.word(a, b) for a, b in combinations(facts.gpus, 2))
    if 1 < len(switches) < len(facts.gpus) and far == SmiWord.PHB:
        sizes = " and ".join(str(len(switch)) for switch in switches)
        text = (
            f"PCIe switches with {sizes} GPUs meet at one host bridge (PHB), which holds up any "
            "ring over all"
        )
        yield Notice("through-host-bridge", text)


def near_pairs(completed: Completed) -> Iterable[Notice]:
    """PCIe GPUs that are nearest to each other: the groups to choose."""
    facts = completed.facts
    if facts.links or len(facts.gpus) < 3:
        return
    words = {pair: facts.distance.get(pair) for pair in combinations(facts.gpus, 2)}
    known = {word for word in words.values() if word is not None}
    if len(known) < 2:
        return
    best = min(known)
    groups = [g for g in completed.classes.members(best, facts.gpus) if len(g) > 1]
    text = f"nearest to each other ({best.name}): {_pairs(groups)}"
    yield Notice("near-gpus", text)


def _pairs(groups: list[list[str]]) -> str:
    return "; ".join(", ".join(group) for group in groups)


def shared_nics(completed: Completed) -> Iterable[Notice]:
    """Several GPUs beside each compute NIC."""
    near = SmiWord.PXB
    counts = {
        sum(completed.classes.word(gpu, nic) <= near for gpu in completed.facts.gpus)
        for nic in completed.roles.compute
    }
    nics = len(completed.roles.compute)
    if completed.roles.basis == "near" and counts and min(counts) > 1:
        if nics * min(counts) > len(completed.facts.gpus):
            return
        text = f"each compute NIC serves {min(counts)} GPUs"
        yield Notice("nic-shared", text)


def few_nics(completed: Completed) -> Iterable[Notice]:
    """Fewer NICs than NUMA nodes with GPUs: some GPUs cannot have one near."""
    far = far_from_nics(completed)
    if far:
        verb = "reaches" if len(far) == 1 else "reach"
        text = (
            f"{', '.join(far)} {verb} every NIC across NUMA nodes (SYS); the library may go "
            "through a GPU beside the NIC (PXN) where NVLink joins them"
        )
        yield Notice("nic-across-numa", text, ", ".join(far))


def coherent_host(completed: Completed) -> Iterable[Notice]:
    """GPUs beside Grace: every NIC is SYS, and the matrix does not show the coherent link."""
    facts = completed.facts
    if completed.design.host_link.kind != "c2c" or not facts.nics:
        return
    words = {word for gpu in facts.gpus for word in facts.nic_words(gpu).values()}
    if words == {SmiWord.SYS}:
        text = (
            "every NIC is SYS, which is normal here: each device has a PCIe domain of its own, and "
            "GPUs hang from Grace by NVLink-C2C, which the matrix does not show; which NIC belongs "
            "to which GPU an NCCL topology file says"
        )
        yield Notice("sys-normal", text)


def _named(nic: str, completed: Completed) -> str:
    label = completed.facts.merged.text(nic, "label")
    return f"{nic} ({label})" if label else nic


RULES: tuple[Rule, ...] = (
    one_gpu,
    p2p_status,
    numa_per_gpu,
    linked_groups,
    host_bridge,
    near_pairs,
    shared_nics,
    few_nics,
    coherent_host,
)
