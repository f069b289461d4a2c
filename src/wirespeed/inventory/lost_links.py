"""without_lost_links: NVSwitch links that a GPU should have and its matrix does not show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from wirespeed.inventory.completed import Completed
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.unit import Unit


def without_lost_links(unit: Unit, completed: Completed) -> Unit:
    """The unit with those links to NVSwitches that each GPU of the first node shows."""
    if not completed.full_links:
        return unit
    lost = {
        component: completed.full_links - _left(completed, completed.facts.gpus[index])
        for component in unit.of_kind(ComponentKind.GPU).tolist()
        if unit.node[component] == 0
        for index in [unit.index[component]]
    }
    return without_links(unit, lost)


def without_links(unit: Unit, lost: Mapping[int, int]) -> Unit:
    """The unit where GPUs (component ids) have lost so many of their NVLinks.

    Which of a GPU's links are gone no matrix says: the last ones are taken out.
    """
    lanes, bandwidth = unit.lanes.copy(), unit.bandwidth.copy()
    for component, missing in lost.items():
        out = np.flatnonzero((unit.source == component) & (unit.link_kind == LinkKind.NVLINK))
        for link in out[::-1].tolist():
            gone = min(missing, int(lanes[link]))
            if not gone:
                continue
            share = 1 - gone / int(lanes[link])
            for way in (link, link ^ 1):
                lanes[way] -= gone
                bandwidth[way] *= share
            missing -= gone
    kept = lanes > 0
    return replace(
        unit,
        source=unit.source[kept],
        target=unit.target[kept],
        link_kind=unit.link_kind[kept],
        lanes=lanes[kept],
        bandwidth=bandwidth[kept],
        latency=unit.latency[kept],
    )


def _left(completed: Completed, name: str) -> int:
    """Links of a GPU that are up: the most that it shows to any peer; all where no row says."""
    facts = completed.facts
    shown = [count for (a, _), count in facts.links.items() if a == name]
    read = any((name, other) in facts.distance for other in facts.gpus)
    return max(shown, default=0 if read else completed.full_links)
