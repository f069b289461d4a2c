"""What PCI and CPU identification numbers of a topology file stand for."""

from __future__ import annotations

import re

from wirespeed.catalog import Gpu, gpu, gpus
from wirespeed.errors import UnknownName
from wirespeed.topology.nccl_speeds import cpu_planning_of

_NVIDIA = "0x10de"
_AMD = "0x1002"
# Source: the PCI ID repository and drivers' device tables. Names are the catalog's where it has
# the part.
_GPUS = {
    (_NVIDIA, "0x15f9"): "p100-sxm2",
    (_NVIDIA, "0x1db1"): "v100-sxm2-16gb",
    (_NVIDIA, "0x1db5"): "v100-sxm2-32gb",
    (_NVIDIA, "0x1db8"): "v100-sxm3",
    (_NVIDIA, "0x1db4"): "v100-pcie-16gb",
    (_NVIDIA, "0x1db6"): "v100-pcie-32gb",
    (_NVIDIA, "0x1eb8"): "t4",
    (_NVIDIA, "0x20b0"): "a100-sxm-40gb",
    (_NVIDIA, "0x20b2"): "a100-sxm-80gb",
    (_NVIDIA, "0x20f1"): "a100-pcie-40gb",
    (_NVIDIA, "0x20b5"): "a100-pcie-80gb",
    (_NVIDIA, "0x20f3"): "a800-sxm-80gb",
    (_NVIDIA, "0x20b7"): "a30",
    (_NVIDIA, "0x2235"): "a40",
    (_NVIDIA, "0x2236"): "a10",
    (_NVIDIA, "0x2237"): "a10g",
    (_NVIDIA, "0x2230"): "rtx-a6000",
    (_NVIDIA, "0x2204"): "rtx-3090",
    (_NVIDIA, "0x2684"): "rtx-4090",
    (_NVIDIA, "0x2b85"): "rtx-5090",
    (_NVIDIA, "0x2bb1"): "rtx-pro-6000",
    (_NVIDIA, "0x26b1"): "rtx-6000-ada",
    (_NVIDIA, "0x26b5"): "l40",
    (_NVIDIA, "0x26b9"): "l40s",
    (_NVIDIA, "0x27b8"): "l4",
    (_NVIDIA, "0x2330"): "h100-sxm",
    (_NVIDIA, "0x2331"): "h100-pcie",
    (_NVIDIA, "0x2321"): "h100-nvl",
    (_NVIDIA, "0x2324"): "h800-sxm",
    (_NVIDIA, "0x2329"): "h20-sxm",
    (_NVIDIA, "0x2335"): "h200-sxm",
    (_NVIDIA, "0x233b"): "h200-nvl",
    (_NVIDIA, "0x2342"): "gh200-96gb",
    (_NVIDIA, "0x2901"): "b200-sxm",
    (_NVIDIA, "0x2941"): "gb200",
    (_NVIDIA, "0x3182"): "b300-sxm",
    (_NVIDIA, "0x31c2"): "gb300",
    (_AMD, "0x7408"): "mi250x",
    (_AMD, "0x740c"): "mi250x",
    (_AMD, "0x74a1"): "mi300x",
    (_AMD, "0x74a5"): "mi325x",
    (_AMD, "0x75a0"): "mi350x",
    (_AMD, "0x75a3"): "mi355x",
    (_AMD, "0x66a0"): "MI60",
    (_AMD, "0x66a1"): "MI50",
    (_AMD, "0x738c"): "MI100",
    (_AMD, "0x74a0"): "MI300A",
}
_BY_GCN = {
    "gfx906": "MI50",
    "gfx908": "MI100",
    "gfx910": "mi250x",
    "gfx90a": "mi250x",
    "gfx940": "MI300A",
    "gfx942": "mi300x",
    "gfx950": "mi355x",
}
_MELLANOX = "0x15b3"
_NICS = {
    (_MELLANOX, "0x1013"): "cx4",
    (_MELLANOX, "0x1017"): "cx5",
    (_MELLANOX, "0x1019"): "cx5",
    (_MELLANOX, "0x101b"): "cx6",
    (_MELLANOX, "0x101d"): "cx6-dx",
    (_MELLANOX, "0x1021"): "cx7",
    (_MELLANOX, "0x1023"): "cx8",
    (_MELLANOX, "0xa2dc"): "bf3",
    ("0x17db", "0x0501"): "cassini",
}
_NETWORKS = {"0x1d0f": "efa", "0x17db": "slingshot"}

EMULATED_BRIDGES = frozenset(
    (
        ("0x104c", "0x8232"),
        ("0x104c", "0x8233"),
        ("0x1b36", "0x0001"),
        ("0x1b36", "0x000c"),
        ("0x1b36", "0x000e"),
        ("0x8086", "0x244e"),
    )
)
"""Bridges that a hypervisor invents: TI XIO3130, QEMU's own, Intel 82801."""

# Source: NCCL's classes of Intel models; AMD's families as their manuals number them.
_INTEL = (
    (0xCF, "Xeon Emerald Rapids", "upi-emr"),
    (0x8F, "Xeon Sapphire Rapids", "upi-spr"),
    (0x6A, "Xeon Ice Lake", "upi-skx"),
    (0x55, "Xeon Skylake", "upi-skx"),
    (0x00, "Xeon Broadwell", "qpi"),
)


def gpu_row(name: str) -> Gpu | None:
    """The catalog's row of a name from this file; None for a part that it does not have."""
    try:
        return gpu(name) if name else None
    except UnknownName:
        return None


def gpu_by_id(vendor: str, device: str) -> str:
    """The GPU of a PCI id; empty where it is not known."""
    return _GPUS.get((vendor, device), "")


def gpus_by_architecture(sm: int | None, gcn: str, links: int) -> tuple[str, ...]:
    """GPUs with that compute capability or instruction set and so many links, likeliest first."""
    if gcn in _BY_GCN:
        return (_BY_GCN[gcn],)
    rows = [row for row in gpus() if row.cc is not None and row.cc == sm]
    fitting = [row for row in rows if links in (0, row.nvlink_links)]
    return tuple(row.key for row in fitting or rows)


def nic_by_id(vendor: str, device: str) -> str:
    """The catalog's key of an adapter; empty where it is not known."""
    return _NICS.get((vendor, device), "")


def network_of(vendor: str, class_: str, label: str) -> str:
    """What a NIC speaks: efa, slingshot, infiniband (its PCI class says so) or ethernet."""
    if vendor in _NETWORKS:
        return _NETWORKS[vendor]
    if class_.startswith("0x0207") or label.startswith("ib"):
        return "infiniband"
    return "slingshot" if label.startswith("cxi") else "ethernet"


def cpu_names(arch: str, vendor: str, family: int, model: int) -> tuple[str, str, str]:
    """(vendor, model in words, the catalog's key of its socket link) of a CPU; empty if unknown.

    NCCL writes AMD's family as 16 x extended + base (143, 175), where the two should be added.
    """
    if arch.startswith("ppc"):
        return "IBM", "POWER9", "power9"
    if arch.startswith(("arm", "aarch")):
        return "NVIDIA", "Grace", "arm"
    if vendor == "GenuineIntel":
        name, link = next((name, link) for least, name, link in _INTEL if max(model, 0) >= least)
        return "Intel", name, link
    if vendor == "AuthenticAMD":
        return "AMD", *_epyc(family if family < 0x60 else (family & 15) + (family >> 4), model)
    return "", "", ""


def _epyc(family: int, model: int) -> tuple[str, str]:
    if family >= 26:
        return "EPYC Turin", "epyc-genoa"
    if family == 25:
        return ("EPYC Genoa", "epyc-genoa") if model >= 16 else ("EPYC Milan", "epyc-milan")
    return "EPYC Rome", "epyc-rome"


def ids_of_gpu(model: str) -> tuple[str, str]:
    """(vendor, device) of a GPU; empty where this file lists none."""
    name = _name_of(model)
    return next((ids for ids, other in _GPUS.items() if name and other == name), ("", ""))


def ids_of_nic(key: str) -> tuple[str, str]:
    """(vendor, device) of an adapter of the catalog; empty where this file lists none."""
    return next((ids for ids, name in _NICS.items() if name == key), ("", ""))


def gcn_of(model: str) -> str:
    """What RCCL writes for a GPU's instruction set; empty where it is not known."""
    row, name = gpu_row(model), _name_of(model)
    if row is not None and row.gfx:
        return row.gfx
    return next((gcn for gcn, other in _BY_GCN.items() if name and other == name), "")


def _name_of(model: str) -> str:
    """How this file calls a model: by the catalog's key where that has it."""
    row = gpu_row(model)
    return row.key if row is not None else model


def cpu_ids(model: str) -> tuple[str, str, int, int]:
    """(arch, vendor, family, model) that stand for a CPU of that name; x86_64 alone if unknown."""
    text = model.lower()
    if any(word in text for word in ("grace", "vera", "arm", "graviton", "axion")):
        return "arm64", "ARM", 0, 0
    if "power" in text:
        return "ppc64", "IBM", 0, 0
    if "epyc" in text:
        number = re.search(r"\b[79][0-9a-z]{2}([1-5])", text)
        known = next((ids for word, ids in _EPYC_IDS.items() if word in text), None)
        family, at = known or _EPYC_BY_DIGIT[number[1] if number else "2"]
        return "x86_64", "AuthenticAMD", family, at
    if "xeon" in text:
        return "x86_64", "GenuineIntel", 6, _intel_model(text)
    return "x86_64", "", 0, 0


# Family and model as NCCL writes them; then by the last digit of an EPYC's number.
_EPYC_IDS = {"rome": (143, 49), "milan": (175, 1), "genoa": (175, 17), "turin": (191, 2)}
_EPYC_BY_DIGIT = {
    "1": (143, 1),
    "2": (143, 49),
    "3": (175, 1),
    "4": (175, 17),
    "5": (191, 2),
}


def _intel_model(text: str) -> int:
    """The least model number that NCCL puts in the same class as a Xeon of that name."""
    planned = cpu_planning_of(text)
    return next(
        (least for least, name, _ in _INTEL if cpu_planning_of(name) == planned), _INTEL[-1][0]
    )
