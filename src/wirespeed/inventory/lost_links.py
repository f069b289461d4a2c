"""without_lost_links: NVSwitch links that a GPU should have and its matrix does not show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wirespeed.inventory.completed import Completed
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.unit import Unit


def without_lost_links(unit: Unit, completed: Completed) -> Unit:
    """The unit with the links to NVSwitches that are left of each GPU.

    Which of a GPU's links are gone the matrix does not say: the last ones are taken out.
    """
    if not completed.full_links:
        return unit
    lanes, bandwidth = unit.lanes.copy(), unit.bandwidth.copy()
    for component in unit.of_kind(ComponentKind.GPU).tolist():
        name = completed.facts.gpus[unit.index[component]]
        missing = completed.full_links - links_left(completed, name)
        out = np.flatnonzero((unit.source == component) & (unit.link_kind == LinkKind.NVLINK))
        for link in out[::-1].tolist():
            gone = min(missing, int(lanes[link]))
            share = 1 - gone / int(lanes[link])
            for way in (link, link ^ 1):
                lanes[way] -= gone
                bandwidth[way] *= share
            missing -= gone
    kept = lanes > 0
    if kept.all():
        return replace(unit, lanes=lanes, bandwidth=bandwidth)
    columns = {name: getattr(unit, name)[kept] for name in ("source", "target", "link_kind")}
    return replace(
        unit, **columns, lanes=lanes[kept], bandwidth=bandwidth[kept], latency=unit.latency[kept]
    )


def links_left(completed: Completed, name: str) -> int:
    """Links of a GPU that are up: the most that it shows to any peer; all where no row says."""
    facts = completed.facts
    shown = [count for (a, _), count in facts.links.items() if a == name]
    others = [b for b in facts.gpus if b != name and (name, b) in facts.distance]
    if not shown and not others:
        return completed.full_links
    return max(shown, default=0)
