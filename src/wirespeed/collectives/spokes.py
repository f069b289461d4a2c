"""What spokes put on links: those between a GPU and its NVSwitches, or a NIC and its leaf."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.schedule import Spokes
from wirespeed.errors import Infeasible
from wirespeed.topology.cluster import Group
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.model import Topology

Floats = npt.NDArray[np.float64]


def spoke_loads(topology: Topology, group: Group, spokes: Spokes) -> tuple[Floats, Floats]:
    """[resources] payload on links to NVSwitches, and on links of NICs to the fabric.

    A GPU's bytes are split over its NVSwitches by the width of the links that are up, both ways:
    what a switch adds up comes in by one and leaves by the other. Raises Infeasible where a GPU has
    no such link left.
    """
    up = np.repeat((topology.capacity[: topology.links].reshape(-1, 2) > 0).all(axis=1), 2)
    nvlink = (topology.link_kind == LinkKind.NVLINK) & up
    network = (topology.link_kind == LinkKind.NETWORK) & up
    inner, outer = np.zeros(topology.resources), np.zeros(topology.resources)
    by_switch = spokes.nic < 0
    gpus = group.gpus[spokes.rank[by_switch]]
    _split(topology, nvlink, gpus, spokes.out[by_switch], spokes.into[by_switch], inner)
    nics = spokes.nic[~by_switch]
    _split(topology, network, nics, spokes.out[~by_switch], spokes.into[~by_switch], outer)
    return inner, outer


def _split(
    topology: Topology,
    usable: npt.NDArray[np.bool_],
    ends: npt.NDArray[np.int64],
    out: Floats,
    into: Floats,
    loads: Floats,
) -> None:
    amount_out = np.bincount(ends, out, minlength=topology.components)
    amount_in = np.bincount(ends, into, minlength=topology.components)
    takes_part = np.zeros(topology.components, bool)
    takes_part[ends] = True
    is_gpu = topology.kind[topology.target] == ComponentKind.GPU
    leaving = np.flatnonzero(usable & takes_part[topology.source] & ~is_gpu)
    source, width = topology.source[leaving], topology.bandwidth[leaving]
    total = np.bincount(source, width, minlength=topology.components)
    if len(ends) and (total[ends] == 0).any():
        raise Infeasible(
            "a GPU or NIC has no link to a switch that reduces",
            why="its links are down or were never there",
            remedy="leave it out, or switch NVLS or SHARP off",
        )
    part = width / total[source]
    loads[leaving] += amount_out[source] * part
    loads[leaving ^ 1] += amount_in[source] * part
