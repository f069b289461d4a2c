"""Trunks: cables from leaves up, which are missing among equals, and what they carry."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from wirespeed.inventory.fabric_graph import Cable, FabricGraph, usual

_MOST_LACKING = 0.2
"""Share of pairs of leaf and spine that may lack cables for the rest to be the rule."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A leaf with fewer cables to a spine than the usual number."""

    leaf: str
    spine: str
    cables: tuple[Cable, ...]
    usual: int


@dataclass(frozen=True, slots=True)
class Trunks:
    """What leads up from each leaf.

    Attributes:
        up: cables to switches of the level above.
        capacity, down: rates [Gb/s] upwards and to hosts.
        usual_capacity: what most leaves have upwards.
        few: leaves with fewer cables upwards than most.
        lacking: pairs of leaf and spine with too few cables.
    """

    up: dict[str, list[Cable]]
    capacity: dict[str, float]
    down: dict[str, float]
    usual_capacity: float | None
    few: tuple[str, ...]
    lacking: tuple[Lack, ...]


def trunks_of(graph: FabricGraph) -> Trunks:
    """The trunks of all leaves; leaves without any are left out, as in a fabric of leaves alone."""
    up: dict[str, list[Cable]] = {}
    down: defaultdict[str, float] = defaultdict(float)
    for leaf, level in graph.level.items():
        if level:
            continue
        for cable in graph.at[leaf]:
            other = cable.other(leaf)
            if graph.is_adapter(other):
                down[leaf] += cable.rate or 0.0
            elif graph.level.get(other) == 1:
                up.setdefault(leaf, []).append(cable)
    capacity = {leaf: sum(cable.rate or 0.0 for cable in cables) for leaf, cables in up.items()}
    most = usual(len(cables) for cables in up.values()) or 0
    few = tuple(leaf for leaf, cables in up.items() if len(cables) < most)
    usual_capacity = usual(capacity.values())
    return Trunks(up, capacity, dict(down), usual_capacity, few, tuple(_lacking(up)))


def _lacking(up: dict[str, list[Cable]]) -> list[Lack]:
    """Pairs below the usual number, among leaves that share their spines (one pod)."""
    found: list[Lack] = []
    for leaves in _pods(up):
        pairs = {leaf: Counter(cable.other(leaf) for cable in up[leaf]) for leaf in leaves}
        spines = {spine for counts in pairs.values() for spine in counts}
        counts = [counts[spine] for counts in pairs.values() for spine in spines]
        number = usual(counts)
        if len(leaves) < 3 or not number:
            continue
        short = [
            Lack(
                leaf,
                spine,
                tuple(c for c in up[leaf] if c.other(leaf) == spine),
                int(number),
            )
            for leaf, own in pairs.items()
            for spine in sorted(spines)
            if own[spine] < number
        ]
        if len(short) <= max(1, _MOST_LACKING * len(counts)):
            found += short
    return found


def _pods(up: dict[str, list[Cable]]) -> list[list[str]]:
    """Leaves that share most of their spines with one another."""
    pods: list[tuple[set[str], list[str]]] = []
    for leaf, cables in up.items():
        spines = {cable.other(leaf) for cable in cables}
        for known, members in pods:
            if 2 * len(known & spines) > min(len(known), len(spines)):
                known |= spines
                members.append(leaf)
                break
        else:
            pods.append((spines, [leaf]))
    return [members for _, members in pods]
