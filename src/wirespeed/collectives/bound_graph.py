"""The graph that bounds are taken on: capacities as they are now, of one unit or of several.

Every link counts, whatever the library would use: NVLink and PCIe, the way through the CPUs and
through other GPUs. A component with a throughput of its own is a vertex that is entered and left by
two, with an arc between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from wirespeed.network import Arcs
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.model import Topology

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

OUTSIDE = -1
"""The vertex that stands for all that a unit's NICs lead to."""

_LIMITED = (ComponentKind.ROOT, ComponentKind.PCIE, ComponentKind.NVSWITCH)
_MOST_LINKS = 20_000
"""Links of a graph that is still searched as a whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Cables:
    """[components of units] B/s of the fabric's links that leave and enter each NIC."""

    out: Floats
    into: Floats


def cables_of(topology: Topology) -> Cables:
    """The NICs' links to the fabric."""
    inside, first = int(topology.first_component[-1]), int(topology.first_link[-1])
    source, target = topology.source[first:], topology.target[first:]
    rate = topology.capacity[first : topology.links]
    up, down = source < inside, target < inside
    return Cables(
        np.bincount(source[up], rate[up], minlength=inside).astype(np.float64),
        np.bincount(target[down], rate[down], minlength=inside).astype(np.float64),
    )


def unit_arcs(topology: Topology, unit: int, cables: Cables | None, *, shared: bool) -> Arcs:
    """One unit, with `OUTSIDE` where its cables are given.

    `shared`: both directions at once, as halves of what they have together. A limited component
    serves both, and then has half of its throughput for each.
    """
    links = np.arange(topology.first_link[unit], topology.first_link[unit + 1])
    first, last = (int(topology.first_component[unit + k]) for k in (0, 1))
    arcs = _arcs(topology, links, np.arange(first, last), shared=shared)
    if cables is not None:
        for nic in (
            first + np.flatnonzero(topology.kind[first:last] == ComponentKind.NIC)
        ).tolist():
            out, into = float(cables.out[nic]), float(cables.into[nic])
            if shared:
                out = into = (out + into) / 2
            arcs.add(nic, OUTSIDE, out)
            arcs.add(OUTSIDE, nic, into)
    return arcs


def whole_arcs(topology: Topology, units: Ids, *, shared: bool) -> Arcs | None:
    """Several units and the fabric between them; None where that is too much to search."""
    inside, first = int(topology.first_component[-1]), int(topology.first_link[-1])
    count = int((topology.first_link[units + 1] - topology.first_link[units]).sum())
    if count + topology.links - first > _MOST_LINKS:
        return None
    chosen = np.zeros(topology.components, bool)
    chosen[inside:] = True
    for unit in units.tolist():
        chosen[topology.first_component[unit] : topology.first_component[unit + 1]] = True
    links = np.flatnonzero(chosen[topology.source] & chosen[topology.target])
    return _arcs(topology, links, np.flatnonzero(chosen), shared=shared)


def is_limited(topology: Topology, units: Ids) -> bool:
    """Whether these units have components with a throughput of their own."""
    return any(
        bool(_limited(topology, np.arange(*topology.first_component[[u, u + 1]])).any())
        for u in units.tolist()
    )


def _arcs(topology: Topology, links: Ids, components: Ids, *, shared: bool) -> Arcs:
    rate = topology.capacity[links]
    if shared:
        rate = (rate + topology.capacity[links ^ 1]) / 2
    limited = np.zeros(topology.components, bool)
    limited[components] = _limited(topology, components)
    source = topology.source[links].astype(np.int64)
    arcs = Arcs.of(np.where(limited[source], _exit(source), source), topology.target[links], rate)
    for part in np.flatnonzero(limited).tolist():
        through = float(topology.capacity[topology.links + part])
        arcs.add(part, _exit(part), through / 2 if shared else through)
    return arcs


def _limited(topology: Topology, components: Ids) -> npt.NDArray[np.bool_]:
    through = topology.capacity[topology.links + components]
    return np.isin(topology.kind[components], _LIMITED) & np.isfinite(through)


def _exit(component: Any) -> Any:
    """The vertex by which a limited component is left."""
    return -2 - component
