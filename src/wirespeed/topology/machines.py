"""Machines out of designs: what a preset or a cluster TOML becomes."""

from __future__ import annotations

from wirespeed.catalog import gpu
from wirespeed.topology.machine import Basis, Machine
from wirespeed.topology.node_builder import unit_of
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.presets import preset
from wirespeed.topology.software import Abilities


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
        cpu_vendor=_vendor(design.cpu.model),
        peer_to_peer=None if design.p2p else False,
        basis=Basis("preset", design.name),
        abilities=Abilities(gdr=design.gdr, gdr_far=kind == "slingshot", socket=socket),
    )


def preset_machine(name: str) -> Machine:
    """The machine of a preset; UnknownName with the nearest names otherwise."""
    return machine_of(preset(name))


def _vendor(model: str) -> str:
    words = {"xeon": "Intel", "epyc": "AMD", "grace": "NVIDIA", "vera": "NVIDIA", "power": "IBM"}
    return next((vendor for word, vendor in words.items() if word in model.lower()), "")
