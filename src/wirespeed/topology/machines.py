"""Machines out of designs: what a preset or a cluster TOML becomes."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from wirespeed.catalog import gpu
from wirespeed.errors import Infeasible
from wirespeed.topology.machine import Basis, Machine
from wirespeed.topology.node_builder import unit_of
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.presets import preset
from wirespeed.topology.software import Abilities, Notice


def machine_of(design: NodeDesign, *, name: str = "") -> Machine:
    """The machine that a design describes."""
    rccl = gpu(design.gpu).vendor == "AMD"
    kind = design.network.kind
    socket = kind in ("none", "ethernet") and not design.network.rdma
    return Machine(
        name=name or design.name,
        unit=unit_of(design),
        gpu=design.gpu,
        platform=design.name,
        library="rccl" if rccl else "nccl",
        network="ethernet" if kind == "none" else kind,
        network_generation=design.network.generation,
        cpu_vendor=vendor_of(design.cpu.model),
        peer_to_peer=None if design.p2p else False,
        basis=Basis("preset", design.name),
        abilities=Abilities(
            gdr=design.gdr, gdr_far=design.gdr_far or kind == "slingshot", socket=socket
        ),
        warnings=tuple(_notices(design)),
    )


def _notices(design: NodeDesign) -> Iterator[Notice]:
    """What to know of a machine that its graph does not show."""
    model = gpu(design.gpu)
    if "announced" in (design.status, model.status):
        text = f"{model.name} is announced: figures are the maker's, nobody has measured them"
        yield Notice("announced", text)
    if design.gpus > 1 and not (design.p2p and model.pcie_p2p):
        text = (
            f"no peer-to-peer over PCIe: the stock driver refuses it to {model.name}, the library "
            "copies through host memory"
        )
        yield Notice("p2p-refused", text)


_MOST_JOINED = 576
"""GPUs of one NVLink domain at most. Source: NVIDIA, NVLink Switch, fifth generation."""


def with_domain(design: NodeDesign, gpus: int) -> NodeDesign:
    """The design with so many GPUs in one NVLink domain: whole nodes below the same NVSwitches.

    Each GPU keeps its links, the switches get the ports that it takes. Raises Infeasible where
    nodes have no NVSwitches, would be split, or would be more than switches can join.
    """
    if gpus == design.nvlink_domain:
        return design
    nodes, rest = divmod(gpus, design.gpus)
    links, why = design.nvlink, ""
    if links.style != "switch":
        why = f"no NVSwitches join its GPUs: {design.nvlink_domain} are one domain"
    elif rest or not nodes:
        why = f"a domain holds whole nodes, of {design.gpus} GPUs each"
    elif links.trunk.group and gpus % links.trunk.group:
        why = f"its GPUs have their switches in groups of {links.trunk.group}"
    elif gpus > _MOST_JOINED:
        why = f"NVSwitches join {_MOST_JOINED} GPUs at most"
    if why:
        raise Infeasible(
            f"an NVLink domain of {gpus} GPUs on {design.name}",
            where="--change",
            why=why,
            remedy="give another number, or describe the machine in a cluster TOML",
        )
    return msgspec.structs.replace(design, nodes_per_unit=nodes)


def preset_machine(name: str) -> Machine:
    """The machine of a preset; UnknownName with the nearest names otherwise."""
    return machine_of(preset(name))


def vendor_of(model: str) -> str:
    """Who makes a processor of that name: Intel, AMD …; empty where the name does not tell."""
    words = {"xeon": "Intel", "epyc": "AMD", "grace": "NVIDIA", "vera": "NVIDIA", "power": "IBM"}
    return next((vendor for word, vendor in words.items() if word in model.lower()), "")
