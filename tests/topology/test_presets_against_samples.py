"""Presets group GPUs and NICs as files of real machines do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import numpy as np
import pytest

from support import shared
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.node_builder import unit_of
from wirespeed.topology.path_types import smi_word
from wirespeed.topology.presets import preset
from wirespeed.topology.unit import Unit, first_nodes
from wirespeed.topology.unit_routes import UnitRoutes

pytestmark = pytest.mark.corpus

GPU, NIC, PCIE = ComponentKind.GPU, ComponentKind.NIC, ComponentKind.PCIE
Group = tuple[int, tuple[int, ...], int, bool]
"""NUMA node, GPUs, number of NICs, whether a switch is above them."""


def groups_in_xml(text: str) -> list[Group]:
    """What an NCCL topology file puts below each child of a CPU; GPUs numbered by bus id."""
    root = ElementTree.fromstring(text)
    gpus = sorted(pci.get("busid") for pci in root.iter("pci") if is_gpu(pci))
    found = []
    for cpu in root.iter("cpu"):
        for top in cpu.findall("pci"):
            below = [gpus.index(pci.get("busid")) for pci in top.iter("pci") if is_gpu(pci)]
            nics = sum(is_nic(pci) for pci in top.iter("pci"))
            switched = not (is_gpu(top) or is_nic(top))
            found.append((int(cpu.get("numaid")), tuple(sorted(below)), nics, switched))
    return sorted(found)


def is_gpu(pci: ElementTree.Element) -> bool:
    return (pci.get("class") or "").startswith(("0x03", "0x12"))


def is_nic(pci: ElementTree.Element) -> bool:
    return (pci.get("class") or "").startswith("0x02")


def groups_of(unit: Unit) -> list[Group]:
    """The same of a unit's first node, compute NICs only."""
    up = {int(a): int(b) for a, b in upward(unit)}
    tops: dict[tuple[int, bool], tuple[list[int], list[int]]] = {}
    for kind, place in ((GPU, 0), (NIC, 1)):
        for device in unit.of_kind(kind).tolist():
            if kind == NIC and unit.rail[device] < 0:
                continue
            top = device
            while unit.kind[up[top]] == PCIE:
                top = up[top]
            tops.setdefault((top, top != device), ([], []))[place].append(int(unit.index[device]))
    return sorted(
        (int(unit.numa[top]), tuple(gpus), len(nics), switched)
        for (top, switched), (gpus, nics) in tops.items()
    )


def upward(unit: Unit) -> Iterator[tuple[int, int]]:
    """(component, what it hangs from): the first direction of each PCIe link leads up."""
    order = (GPU, NIC, PCIE, ComponentKind.ROOT)
    for a, b in zip(unit.source[::2], unit.target[::2], strict=True):
        if unit.kind[a] in order and unit.kind[b] in (PCIE, ComponentKind.ROOT):
            yield int(a), int(b)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("azure-ndv2", "01-azure-ndv2-v100.xml"),
        ("azure-nda100-v4", "02-azure-ndv4-a100.xml"),
        ("aws-p4de", "07-aws-p4de.xml"),
        ("oci-h100-8", "08-oci-h100.xml"),
        ("oci-gpu4-8", "10-oci-flattened-gpu4.xml"),
        ("azure-ndmi300x-v5", "13-rccl-mi300x.xml"),
    ],
)
def test_a_shape_has_the_groups_of_its_topology_file(name, file):
    text = shared("samples", "nccl-topo-xml", file).read_text()
    assert groups_of(unit_of(preset(name))) == groups_in_xml(text)


def test_nc_a100_gives_each_gpu_a_numa_node():
    text = shared("samples", "nccl-topo-xml", "04-azure-ncv4-a100-pairs.xml").read_text()
    found = [(numa, gpus) for numa, gpus, *_ in groups_in_xml(text)]
    assert [(numa, gpus) for numa, gpus, *_ in groups_of(unit_of(preset("azure-nca100-v4")))][
        -4:
    ] == found


def words(text: str, gpus: int) -> list[list[str]]:
    """The GPU part of an `nvidia-smi topo -m` matrix."""
    rows = re.findall(r"^GPU\d+\s+(.*)$", text, re.MULTILINE)
    return [row.split()[:gpus] for row in rows if row.split()[0] != "GPU1"]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("dgx-1v", "01-dgx1v-no-numa.txt"),
        ("dgx-a100", "06-a100-narrow.txt"),
        ("hgx-a800", "34-a800-9nic.txt"),
        ("hgx-a100-4", "38-a100-4gpu-2nic.txt"),
        ("pcie-8x-a100-nvlink", "39-a100pcie-nvlink-pairs-8.txt"),
        ("gb200-nvl72", "19-gb200-eks.txt"),
    ],
)
def test_a_machine_prints_the_words_of_its_matrix(name, file):
    unit = first_nodes(unit_of(preset(name)), 1)
    routes = UnitRoutes(unit, np.concatenate([unit.bandwidth, unit.throughput]))
    gpus = unit.of_kind(GPU).tolist()
    ours = [[smi_word(routes, a, b) for b in gpus] for a in gpus]
    theirs = words(shared("samples", "nvidia-smi-topo-m", file).read_text(), len(gpus))
    for row, expected in zip(ours, theirs, strict=False):
        # A cut matrix has a shorter last row.
        assert row[: len(expected)] == expected
    assert len(theirs) == len(gpus)
