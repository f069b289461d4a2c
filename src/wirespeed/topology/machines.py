"""Machines out of designs: what a preset or a cluster TOML becomes."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.catalog import gpu
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


def preset_machine(name: str) -> Machine:
    """The machine of a preset; UnknownName with the nearest names otherwise."""
    return machine_of(preset(name))


def vendor_of(model: str) -> str:
    """Who makes a processor of that name: Intel, AMD …; empty where the name does not tell."""
    words = {"xeon": "Intel", "epyc": "AMD", "grace": "NVIDIA", "vera": "NVIDIA", "power": "IBM"}
    return next((vendor for word, vendor in words.items() if word in model.lower()), "")
