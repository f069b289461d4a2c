"""with_slots_as_read: PCIe links of GPUs on the lanes that `nvidia-smi` reports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wirespeed.inventory.merged import Merged
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.unit import Unit


def with_slots_as_read(unit: Unit, merged: Merged) -> Unit:
    """The unit whose GPUs have no more PCIe lanes than a query says, at the same rate a lane."""
    lanes, bandwidth = unit.lanes.copy(), unit.bandwidth.copy()
    is_pcie = unit.link_kind == LinkKind.PCIE
    for gpu in unit.of_kind(ComponentKind.GPU).tolist():
        most = _lanes(merged, f"gpu{unit.index[gpu]}")
        ours = is_pcie & ((unit.source == gpu) | (unit.target == gpu))
        narrowed = np.flatnonzero(ours & (lanes > most)) if most else ()
        for link in narrowed:
            bandwidth[link] *= most / lanes[link]
            lanes[link] = most
    return replace(unit, lanes=lanes, bandwidth=bandwidth)


def _lanes(merged: Merged, gpu: str) -> int:
    """Lanes that a GPU runs on, else those that its slot has; 0 where nothing is said."""
    return merged.number(gpu, "pcie_width_current") or merged.number(gpu, "pcie_width_max") or 0
