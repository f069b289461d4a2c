"""compute_nics: which NICs carry traffic between nodes, told by how near they are to the GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from wirespeed.inventory.match import Match
from wirespeed.inventory.node_facts import NodeFacts
from wirespeed.inventory.pcie_classes import Classes
from wirespeed.topology.kinds import SmiWord


@dataclass(frozen=True, slots=True)
class Roles:
    """`compute` NICs; `basis` is how they were told: near, preset, or all."""

    compute: frozenset[str]
    basis: str

    def others(self, facts: NodeFacts) -> tuple[str, ...]:
        """The NICs for storage, management or the front end."""
        return tuple(nic for nic in facts.nics if nic not in self.compute)

    def are_bonds(self, facts: NodeFacts) -> bool:
        """Whether all are link aggregations, such as mlx5_bond_0, which only Ethernet has."""
        return bool(self.compute) and all(
            "bond" in facts.merged.text(nic, "label") for nic in self.compute
        )


def compute_nics(facts: NodeFacts, classes: Classes, match: Match) -> Roles:
    """NICs that share a PCIe switch with a GPU, where any does.

    Else the preset's compute NICs, where it has as many NICs, or is exactly this; else all.
    """
    near = frozenset(
        nic
        for nic in facts.nics
        if any(classes.word(gpu, nic) <= SmiWord.PXB for gpu in facts.gpus)
    )
    if near:
        return Roles(near, "near")
    design = match.design
    if len(facts.nics) == design.nic_count:
        chosen = [nic for at, nic in enumerate(facts.nics) if design.nic(at).role == "compute"]
        if len(chosen) < len(facts.nics) and (chosen or match.distance == 0):
            return Roles(frozenset(chosen), "preset")
    return Roles(frozenset(facts.nics), "all")
