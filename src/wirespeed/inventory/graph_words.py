"""graph_words: the matrix that nvidia-smi would print of a unit's first node."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np

from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.path_types import smi_word
from wirespeed.topology.unit import Unit
from wirespeed.topology.unit_routes import UnitRoutes


def graph_words(unit: Unit) -> dict[tuple[str, str], str]:
    """nvidia-smi's word by pair of addresses (gpu0, nic3), both ways."""
    routes = UnitRoutes(unit, np.concatenate([unit.bandwidth, unit.throughput]))
    kinds = (ComponentKind.GPU, ComponentKind.NIC)
    devices = [
        (f"{kind.word}{unit.index[component]}", component)
        for kind in kinds
        for component in unit.of_kind(kind).tolist()
        if unit.node[component] == 0
    ]
    words: dict[tuple[str, str], str] = {}
    for (a, one), (b, other) in combinations_with_replacement(devices, 2):
        words[a, b] = words[b, a] = smi_word(routes, one, other)
    return words
