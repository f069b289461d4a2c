"""pairs: from runs on two nodes at a time, which node is slow, and what they cannot decide.

A run on two nodes is as fast as the slower of them. So a node is at least as fast as the best of
its runs; it is slow for certain where none of its runs is good although a partner of each, or of
one, is known to be: then it can only be the node itself. Where two nodes have met nobody who is
good, either may be the slow one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

GOOD = 0.9
"""Share of the best pair's bandwidth from which a pair is good; repeated runs differ by 4 %."""


@dataclass(frozen=True, slots=True)
class PairVerdict:
    """What pairs say of nodes.

    Attributes:
        slow: nodes that are slow for certain, with the share of the best that they reach.
        good: nodes that are good for certain.
        open: groups of nodes of which at least one is slow, and no pair says which.
        ask: the pairs to run next, which would decide.
    """

    slow: Mapping[str, float]
    good: tuple[str, ...]
    open: tuple[tuple[str, ...], ...]
    ask: tuple[tuple[str, str], ...]


def slow_nodes(bandwidth: Mapping[tuple[str, str], float], good: float = GOOD) -> PairVerdict:
    """The verdict on pairs of nodes and the bandwidth [any unit] that each reached."""
    best = max(bandwidth.values(), default=0.0)
    reach: dict[str, float] = {}
    for pair, value in bandwidth.items():
        for node in pair:
            reach[node] = max(reach.get(node, 0.0), value / best if best else 0.0)
    fine = {node for node, share in reach.items() if share >= good}
    slow, unclear = {}, set[str]()
    for node, share in reach.items():
        if node in fine:
            continue
        partners = {other for pair in bandwidth if node in pair for other in pair} - {node}
        if partners & fine:
            slow[node] = share
        else:
            unclear.add(node)
    groups = _groups(unclear, bandwidth)
    witness = min(fine, default=None)
    ask = tuple((group[0], witness) for group in groups if witness is not None)
    return PairVerdict(slow, tuple(sorted(fine)), groups, ask)


def _groups(
    nodes: set[str], bandwidth: Mapping[tuple[str, str], float]
) -> tuple[tuple[str, ...], ...]:
    """Nodes that met each other, directly or by others."""
    found: list[set[str]] = []
    for a, b in bandwidth:
        if a in nodes and b in nodes:
            joined = {a, b}
            for group in [g for g in found if g & joined]:
                joined |= group
                found.remove(group)
            found.append(joined)
    return tuple(sorted(tuple(sorted(group)) for group in found))
