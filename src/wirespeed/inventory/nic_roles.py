"""compute_nics: which NICs carry traffic between nodes, told by how near they are to the GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from wirespeed.inventory.design_words import DesignWords
from wirespeed.inventory.node_facts import NodeFacts
from wirespeed.topology.kinds import SmiWord


@dataclass(frozen=True, slots=True)
class Roles:
    """`compute` NICs; `basis` is how they were told: near, all, or preset."""

    compute: frozenset[str]
    basis: str

    def others(self, facts: NodeFacts) -> tuple[str, ...]:
        """The NICs for storage, management or the front end."""
        return tuple(nic for nic in facts.nics if nic not in self.compute)


def compute_nics(facts: NodeFacts, words: DesignWords) -> Roles:
    """NICs that share a PCIe switch with a GPU, where any does.

    Else those of the preset's compute NICs where it has as many NICs, at the same words; else all.
    """
    near = frozenset(nic for nic in facts.nics if _nearest(facts, nic) <= SmiWord.PXB)
    if near:
        return Roles(near, "near")
    design = words.design
    if len(facts.nics) == design.nic_count:
        chosen = [nic for at, nic in enumerate(facts.nics) if design.nic(at).role == "compute"]
        return Roles(frozenset(chosen), "preset" if len(chosen) < len(facts.nics) else "all")
    return Roles(frozenset(facts.nics), "all")


def _nearest(facts: NodeFacts, nic: str) -> SmiWord:
    """The nearest word that any GPU has to a NIC."""
    words = (facts.distance.get((gpu, nic), SmiWord.SYS) for gpu in facts.gpus)
    return min(words, default=SmiWord.SYS)
