"""SwitchTree: which switches nodes share, as Slurm's topology.conf has it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence
from wirespeed.readers import slurm_topology
from wirespeed.readers.hostlist import MOST_HOSTS, count_hosts, expand_hosts


@dataclass(frozen=True, slots=True)
class SwitchTree:
    """Switches by name: `parent` of each but roots, and the `leaf` of each node."""

    parent: dict[str, str] = field(default_factory=dict)
    leaf: dict[str, str] = field(default_factory=dict)
    level: dict[str, int] = field(default_factory=dict)

    def above(self, node: str) -> list[str]:
        """The switches above a node, from its leaf up; empty for a node that is nowhere."""
        path: list[str] = []
        switch = self.leaf.get(node)
        while switch is not None and switch not in path:
            path.append(switch)
            switch = self.parent.get(switch)
        return path

    def distance(self, a: str, b: str) -> int | None:
        """Cables between two nodes: 2 below one leaf, 4 below one spine; None without a common one.

        Branches of different depth count as deep as the longer side.
        """
        if a == b:
            return 0
        up, down = self.above(a), self.above(b)
        shared = next((switch for switch in up if switch in down), None)
        if shared is None:
            return None
        return up.index(shared) + down.index(shared) + 2


def switch_tree(evidence: Iterable[Evidence]) -> SwitchTree:
    """The tree that the evidence states; of several topologies in one file all are in it.

    Raises InputError where it names more nodes than any cluster has.
    """
    tree = SwitchTree()
    total = 0
    for part in evidence:
        if slurm_topology.NAME not in part.format.split("+"):
            continue
        for fact in part.facts:
            kind, _, name = fact.subject.partition(" ")
            if kind not in ("switch", "block"):
                continue
            if fact.attribute == "parent":
                tree.parent.setdefault(name, str(fact.value))
            elif fact.attribute == "level" and isinstance(fact.value, int):
                tree.level.setdefault(name, fact.value)
            elif fact.attribute == "nodes":
                total += count_hosts(str(fact.value))
                if total > MOST_HOSTS:
                    raise InputError(
                        "these are too many nodes",
                        where=f"{part.file}:{fact.line}",
                        why=f"up to {MOST_HOSTS} are placed",
                        remedy="give the part of the cluster that matters",
                    )
                for node in expand_hosts(str(fact.value)):
                    tree.leaf.setdefault(node, name)
    return tree
