"""completed: the design of a node as it was read, with the preset in the gaps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import msgspec

from wirespeed.catalog import Gpu
from wirespeed.inventory.cut_rows import near_by_peers
from wirespeed.inventory.design_words import DesignWords
from wirespeed.inventory.match import Match
from wirespeed.inventory.nic_roles import Roles, compute_nics
from wirespeed.inventory.node_facts import NodeFacts, Pair
from wirespeed.inventory.numa_homes import Homes, cpu_of, numa_homes
from wirespeed.inventory.pcie_classes import Classes, nested_classes
from wirespeed.topology.kinds import SmiWord
from wirespeed.topology.node_design import (
    GpuLinks,
    HostLink,
    NicGroup,
    NodeDesign,
    PcieGroup,
    Trunk,
)

_DEFAULT_NIC = NicGroup(model="ConnectX-6", count=1, rate_Gbps=200)


@dataclass(frozen=True, slots=True)
class Completed:
    """A design whose devices stand in the order of `facts`, and how it came about."""

    design: NodeDesign
    facts: NodeFacts
    match: Match
    classes: Classes
    homes: Homes
    roles: Roles
    full_links: int
    """Links that a whole GPU has through its switches; 0 in a mesh."""


def complete(facts: NodeFacts, match: Match, model: Gpu) -> Completed:
    """The node's design: PCIe tree, NUMA nodes and GPU links as read, the rest from the preset."""
    words, base = match.words, match.design
    classes = nested_classes(facts.devices, facts.distance, _suggested(facts, words))
    homes = numa_homes(facts, classes, words)
    roles = compute_nics(facts, classes, match)
    links = _links(facts, match, model)
    coherent = base.host_link.kind != "none" and bool(model.c2c)
    trees = _groups(facts, classes, homes, words)
    if coherent:
        trees = _without_gpus(trees)
    nics = _nics(facts, roles, base)
    design = msgspec.structs.replace(
        base,
        name=facts.label,
        gpu=model.key,
        gpus=len(facts.gpus),
        nvlink=links,
        cpu=cpu_of(homes, base.cpu),
        host_link=_host_link(facts, homes, base) if coherent else HostLink(),
        pcie=_with_slots(trees, facts),
        nics=nics,
        nodes_per_unit=base.nodes_per_unit if links.style == "switch" else 1,
    )
    full = sum(links.links_to(s) for s in range(links.switches)) if links.switches else 0
    return Completed(design, facts, match, classes, homes, roles, full)


def _suggested(facts: NodeFacts, words: DesignWords) -> dict[Pair, SmiWord]:
    """What pairs without a word may share: as in the preset, else their NUMA node."""
    same_nics = len(facts.nics) == words.design.nic_count
    named = {name: f"gpu{at}" for at, name in enumerate(facts.gpus)}
    if same_nics:
        named |= {name: f"nic{at}" for at, name in enumerate(facts.nics)}
    suggested = near_by_peers(facts, words)
    for a, b in combinations(facts.devices, 2):
        if (a, b) in facts.distance or (a, b) in suggested:
            continue
        homes = facts.numa_of(a), facts.numa_of(b)
        if None not in homes and homes[0] != homes[1]:
            continue
        word = words.word(named[a], named[b]) if a in named and b in named else None
        if word is not None and word < SmiWord.SYS:
            suggested[a, b] = word
        elif None not in homes:
            suggested[a, b] = SmiWord.NODE
    return suggested


def _groups(
    facts: NodeFacts, classes: Classes, homes: Homes, words: DesignWords
) -> list[tuple[PcieGroup, list[str]]]:
    """PCIe groups with the devices in each."""
    groups: list[tuple[PcieGroup, list[str]]] = []
    uppers = 0
    for root, bridge in enumerate(classes.members(SmiWord.PHB)):
        for tree in classes.members(SmiWord.PXB, bridge):
            leaves = classes.members(SmiWord.PIX, tree)
            upper = -1
            if len(leaves) == 1:
                shapes = [(_levels_of_one(tree, facts, words), tree)]
            elif all(len(leaf) == 1 for leaf in leaves):
                shapes = [(2, tree)]
            else:
                shapes = [(1, leaf) for leaf in leaves]
                upper, uppers = uppers, uppers + 1
            for levels, devices in shapes:
                template = _template(devices, facts, words)
                group = msgspec.structs.replace(
                    template,
                    numa=homes.cpu[devices[0]],
                    root=root,
                    levels=levels,
                    upper=upper,
                    gpus=tuple(facts.gpus.index(d) for d in devices if d in facts.gpus),
                    nics=tuple(facts.nics.index(d) for d in devices if d in facts.nics),
                )
                groups.append((group, devices))
    return groups


def _levels_of_one(devices: list[str], facts: NodeFacts, words: DesignWords) -> int:
    """Switches above devices that meet in one: 1; above a lone one, as the preset has it."""
    if len(devices) > 1:
        return 1
    group = words.group(_preset_name(devices[0], facts))
    alone = group is not None and len(group.gpus) + len(group.nics) == 1 and group.upper < 0
    return group.levels if alone and group is not None else 0


def _preset_name(device: str, facts: NodeFacts) -> str:
    own = facts.gpus if device in facts.gpus else facts.nics
    return f"{device[:3]}{own.index(device)}"


def _template(devices: list[str], facts: NodeFacts, words: DesignWords) -> PcieGroup:
    """The preset's group of the first of these devices, else its first: slots and switches."""
    for device in devices:
        if group := words.group(_preset_name(device, facts)):
            return group
    return words.design.pcie[0] if words.design.pcie else PcieGroup()


def _without_gpus(
    trees: list[tuple[PcieGroup, list[str]]],
) -> list[tuple[PcieGroup, list[str]]]:
    """The PCIe tree where GPUs hang from the CPU: only those beside a NIC stand in it too."""
    return [(group, devices) for group, devices in trees if group.nics]


def _with_slots(
    trees: list[tuple[PcieGroup, list[str]]], facts: NodeFacts
) -> tuple[PcieGroup, ...]:
    """Groups with the PCIe generation that their GPUs report as their most."""
    groups = []
    for group, devices in trees:
        found = [facts.merged.number(device, "pcie_gen_max") for device in devices]
        told = [generation for generation in found if generation]
        if told:
            group = msgspec.structs.replace(group, generation=max(told))
        groups.append(group)
    return tuple(groups)


def _host_link(facts: NodeFacts, homes: Homes, base: NodeDesign) -> HostLink:
    return msgspec.structs.replace(
        base.host_link, numa=tuple(homes.cpu[name] for name in facts.gpus)
    )


def _nics(facts: NodeFacts, roles: Roles, base: NodeDesign) -> tuple[NicGroup, ...]:
    """A group for each run of equal NICs, so that numbers stay as they are."""
    compute = next((g for g in base.nics if g.role == "compute"), _DEFAULT_NIC)
    other = next((g for g in base.nics if g.role != "compute"), compute)
    groups: list[NicGroup] = []
    for nic in facts.nics:
        like = compute if nic in roles.compute else other
        role = "compute" if nic in roles.compute else "storage"
        if other.role != "compute" and role != "compute":
            role = other.role
        rate = facts.merged.get(nic, "rate_Gbps")
        group = msgspec.structs.replace(
            like,
            count=1,
            role=role,
            model=facts.merged.text(nic, "model") or like.model,
            rate_Gbps=float(rate) if isinstance(rate, int | float) else like.rate_Gbps,
        )
        if groups and msgspec.structs.replace(groups[-1], count=1) == group:
            groups[-1] = msgspec.structs.replace(groups[-1], count=groups[-1].count + 1)
        else:
            groups.append(group)
    return tuple(groups)


def _links(facts: NodeFacts, match: Match, model: Gpu) -> GpuLinks:
    """NVLink as read: the preset's switches, or edges with their links."""
    if not facts.links and not match.same_links:
        return GpuLinks()
    base = match.design.nvlink if match.same_links else GpuLinks()
    if base.style == "switch":
        return base
    if not facts.links and _says_nothing(facts) and len(facts.gpus) == match.design.gpus:
        return base
    edges = tuple(
        (facts.gpus.index(a), facts.gpus.index(b), count)
        for (a, b), count in sorted(facts.links.items(), key=lambda item: _order(facts, item[0]))
        if facts.gpus.index(a) < facts.gpus.index(b)
    )
    if not edges:
        return GpuLinks()
    if _needs_switches(facts, model):
        # Which chips stand between is not known; one that carries all is as fast.
        most = max(count for _, _, count in edges)
        return GpuLinks(style="switch", switches=1, links_per_switch=(most,), switch_generation=1)
    return GpuLinks(style="mesh", edges=edges, link_GBps=base.link_GBps, trunk=Trunk())


def _says_nothing(facts: NodeFacts) -> bool:
    """Whether there is no word between any two GPUs: a matrix would show their links."""
    return not any(pair in facts.distance for pair in combinations(facts.gpus, 2))


def _order(facts: NodeFacts, pair: Pair) -> tuple[int, int]:
    return facts.gpus.index(pair[0]), facts.gpus.index(pair[1])


def _needs_switches(facts: NodeFacts, model: Gpu) -> bool:
    """Whether the busiest row shows more links than the GPU has: they end on switches."""
    rows = Counter[str]()
    for (a, _), count in facts.links.items():
        rows[a] += count
    return bool(model.nvlink_links) and max(rows.values()) > model.nvlink_links
