"""graph_words: the matrix that nvidia-smi would print of a unit's first node."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations_with_replacement

import numpy as np

from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.path_types import smi_word
from wirespeed.topology.unit import Unit
from wirespeed.topology.unit_routes import UnitRoutes


def graph_words(
    unit: Unit, pairs: Iterable[tuple[str, str]] | None = None
) -> dict[tuple[str, str], str]:
    """nvidia-smi's word by pair of addresses (gpu0, nic3), both ways; of some `pairs`, or all."""
    routes = UnitRoutes(unit, np.concatenate([unit.bandwidth, unit.throughput]))
    devices = {
        f"{kind.word}{unit.index[component]}": component
        for kind in (ComponentKind.GPU, ComponentKind.NIC)
        for component in unit.of_kind(kind).tolist()
        if unit.node[component] == 0
    }
    words: dict[tuple[str, str], str] = {}
    for a, b in combinations_with_replacement(devices, 2) if pairs is None else pairs:
        words[a, b] = words[b, a] = smi_word(routes, devices[a], devices[b])
    return words
