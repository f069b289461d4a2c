"""What a unit says of its devices, as tables that tests compare: paths, rates, links."""

from __future__ import annotations

from collections import Counter

import numpy as np

from wirespeed.inventory.from_xml import XmlMachine, machines_of_xml
from wirespeed.readers import read_text
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.nccl_speeds import nccl_bandwidth
from wirespeed.topology.path_types import nccl_path, smi_word
from wirespeed.topology.unit import Unit
from wirespeed.topology.unit_routes import UnitRoutes

GPU, NIC = ComponentKind.GPU, ComponentKind.NIC


def machine_of_text(text: str, file: str = "topology.xml") -> XmlMachine:
    """The only machine of a topology file."""
    (machine,) = machines_of_xml(read_text(text, file=file))
    return machine


def routes_of(unit: Unit) -> UnitRoutes:
    """Routes with everything up."""
    return UnitRoutes(unit, np.concatenate([unit.bandwidth, unit.throughput]))


def paths(unit: Unit, most: int = 9) -> dict[tuple[int, int], tuple[str, str, float]]:
    """(nvidia-smi's word, NCCL's, NCCL's GB/s) of the first pairs; all inside a NUMA node as one.

    A topology file has no host bridges, which is all that tells PHB from NODE, and both from what
    nvidia-smi calls SYS inside a Grace.
    """
    routes = routes_of(unit)
    gpus, nics = (unit.of_kind(kind).tolist() for kind in (GPU, NIC))
    # NICs that the library does not use are numbered behind the others.
    nics.sort(key=lambda nic: (unit.rail[nic] < 0, unit.node[nic], nic))
    devices = gpus[:most] + nics[:most]
    home = {c: (int(unit.node[c]), int(unit.numa[c])) for c in devices}
    table = {}
    for i, a in enumerate(devices):
        for j, b in enumerate(devices):
            if i != j:
                smi = smi_word(routes, a, b)
                if smi in ("NODE", "SYS") and home[a] == home[b]:
                    smi = "PHB"
                rate = round(nccl_bandwidth(routes, a, b) / 1e9, 3)
                table[i, j] = (smi, nccl_path(routes, a, b).name, rate)
    return table


def port_rates(unit: Unit) -> list[float]:
    """Rates [B/s] of the NICs in rising order."""
    return sorted(unit.rate[unit.of_kind(NIC)].tolist())


def links_between_gpus(unit: Unit) -> Counter[tuple[str, int, int]]:
    """(kind, lanes, MB/s) of the links that leave GPUs for GPUs, switches and CPUs."""
    counted: Counter[tuple[str, int, int]] = Counter()
    for link in range(unit.links):
        kind = LinkKind(unit.link_kind[link])
        kinds = (LinkKind.NVLINK, LinkKind.XGMI, LinkKind.C2C)
        if kind in kinds and unit.kind[unit.source[link]] == GPU:
            rate = round(float(unit.bandwidth[link]) / 1e6)
            counted[kind.word, int(unit.lanes[link]), rate] += 1
    return counted
