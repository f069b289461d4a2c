"""numa_homes: which CPU (NUMA node) each host bridge belongs to, and how many CPUs there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from wirespeed.inventory.design_words import DesignWords
from wirespeed.inventory.node_facts import NodeFacts
from wirespeed.inventory.pcie_classes import Classes
from wirespeed.topology.kinds import SmiWord
from wirespeed.topology.node_builder import socket_bandwidth
from wirespeed.topology.node_design import Cpu, CpuLink

_USUAL_LINKS = {
    "Grace": CpuLink(links=6, GBps=100),
    "Vera": CpuLink(links=6, GBps=100),
    "Xeon": CpuLink(kind="upi-skx", links=3),
    "": CpuLink(kind="epyc-rome", links=3),
}
"""Between sockets, where the preset has one socket and the machine more; as presets have it."""


@dataclass(frozen=True, slots=True)
class Homes:
    """CPUs of a node.

    Attributes:
        numbers: the NUMA node that each CPU is, by CPU.
        cpu: position in `numbers` by device.
        sockets: packages; CPUs are equal shares of them, in order.
        guessed: devices whose NUMA node nothing says.
    """

    numbers: tuple[int, ...]
    cpu: Mapping[str, int]
    sockets: int
    guessed: tuple[str, ...]


def numa_homes(facts: NodeFacts, classes: Classes, words: DesignWords) -> Homes:
    """NUMA nodes as read; where they are not, a NUMA node for each class of NODE."""
    spare = _spare_numbers(facts, words)
    numa: dict[str, int] = {}
    guessed: list[str] = []
    given = Counter(set(facts.numa.values()))
    for node in classes.members(SmiWord.NODE):
        of_node = [facts.numa[device] for device in node if device in facts.numa]
        for bridge in classes.members(SmiWord.PHB, node):
            own = [facts.numa[device] for device in bridge if device in facts.numa] or of_node
            if own:
                numa.update(dict.fromkeys(bridge, own[0]))
        left = [device for device in node if device not in numa]
        if left:
            number = _number_for(left[0], given, spare, facts, words)
            given[number] += 1
            numa.update(dict.fromkeys(left, number))
            guessed += left
    numbers = tuple(sorted(set(given) | set(spare)))
    place = {number: position for position, number in enumerate(numbers)}
    cpu = {device: place[number] for device, number in numa.items()}
    return Homes(numbers, cpu, _sockets(len(numbers), words.design.cpu), tuple(guessed))


def cpu_of(homes: Homes, base: Cpu) -> Cpu:
    """The preset's processors in the number of this machine; a link where it had none between."""
    link = base.link
    if homes.sockets > 1 and not socket_bandwidth(base):
        link = next(link for word, link in _USUAL_LINKS.items() if word in base.model)
    return msgspec.structs.replace(
        base, sockets=homes.sockets, numa_nodes=len(homes.numbers), link=link
    )


def _spare_numbers(facts: NodeFacts, words: DesignWords) -> tuple[int, ...]:
    """All NUMA nodes of the preset, where what was read lies on the very same ones."""
    count = words.design.cpu.numa_nodes
    read = set(facts.numa.values())
    alike = bool(read) and all(
        words.numa(f"gpu{position}") == facts.numa[name]
        for position, name in enumerate(facts.gpus)
        if name in facts.numa
    )
    fits = bool(read) and max(read) < count
    return tuple(range(count)) if fits and (alike or len(read) == count) else ()


def _number_for(
    device: str,
    given: Counter[int],
    spare: tuple[int, ...],
    facts: NodeFacts,
    words: DesignWords,
) -> int:
    """A NUMA node for devices that nothing places: the preset's if free, else a free one.

    Where every NUMA node has devices already that are SYS to these, each gets an equal part in the
    order of their numbers: the matrix then says SYS inside a NUMA node, as it does where each
    device has its own PCIe domain.
    """
    read = set(facts.numa.values())
    known = spare or tuple(range(max(read) + 1 if read else 0))
    free = [number for number in known if number not in given]
    hint = _hint(device, facts, words)
    if hint is not None and (hint in free or (hint in known and not free)):
        return hint
    if free:
        return free[0]
    if len(read) > 1:
        kind = facts.nics if device in facts.nics else facts.gpus
        return sorted(read)[kind.index(device) * len(read) // len(kind)]
    return next(number for number in range(len(given) + 1) if number not in given)


def _hint(device: str, facts: NodeFacts, words: DesignWords) -> int | None:
    """The NUMA node of the same device in the preset, where that has as many of its kind."""
    own, count = facts.gpus, words.design.gpus
    if device in facts.nics:
        own, count = facts.nics, words.design.nic_count
    return words.numa(f"{device[:3]}{own.index(device)}") if len(own) == count else None


def _sockets(count: int, base: Cpu) -> int:
    """Packages for so many NUMA nodes: as in the preset, else 4 in one (NPS4), others in two."""
    if count == base.numa_nodes:
        return base.sockets
    if count in (1, 4):
        return 1
    return 2 if count % 2 == 0 else count
