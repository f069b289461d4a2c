"""utilisation: how full one call keeps the parts of a machine, for drawings."""

from __future__ import annotations

import numpy as np

from wirespeed._api.asked import Ranks, Siblings, Sizes, asked_for, group_of, siblings_of, sizes_of
from wirespeed.collectives.forecast import at_median_seed
from wirespeed.collectives.loads import loads_of
from wirespeed.topology.address import name_of, resource_name
from wirespeed.topology.cluster import Cluster, everyone
from wirespeed.topology.describe import different_nodes
from wirespeed.topology.kinds import ComponentKind


def utilisation(
    op: str, on: Cluster, sizes: Sizes, *, ranks: Ranks = None, siblings: Siblings = False
) -> dict[str, float]:
    """By address, the share of its wire rate that the largest of the sizes moves, 0 to 1.

    For links and parts of the nodes that `topo` lists; a NIC is as full as its cable.
    """
    topology, asked = on.topology, asked_for(op, "float", "process")
    group = group_of(ranks, on) or everyone(on)
    alike, size = siblings_of(siblings, group, on), max(sizes_of(sizes))
    seeded = at_median_seed(asked, on, group, size, alike)
    share = loads_of(asked, seeded, group, size, alike).share(topology)
    first = topology.first_node
    units = np.unique(np.searchsorted(first, different_nodes(topology), side="right") - 1)
    listed = np.isin(topology.unit_of(np.arange(topology.components)), units)
    inside = listed[topology.source] & listed[topology.target]
    shown = np.flatnonzero((share > 0) & np.concatenate([inside, listed]))
    found = {resource_name(topology, r): float(share[r]) for r in shown.tolist()}
    cables = np.flatnonzero(listed[topology.source] ^ listed[topology.target])
    for link in cables[share[cables] > 0].tolist():
        ends = int(topology.source[link]), int(topology.target[link])
        for end in ends:
            if topology.kind[end] == ComponentKind.NIC and listed[end]:
                name = name_of(topology, end)
                found[name] = max(found.get(name, 0.0), float(share[link]))
    return found
