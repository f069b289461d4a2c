"""What is written as a topology file reads back as the same machine."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology_files import ALL
from topology_tables import GPU, links_between_gpus, machine_of_text, paths, port_rates
from wirespeed.errors import Infeasible
from wirespeed.inventory.from_xml import XmlMachine
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.presets import preset_names
from wirespeed.topology.unit import UnitBuilder
from wirespeed.units import GB, gbps
from wirespeed.views.export.nccl_xml import nccl_xml

# Its links at 36 and 50 GB/s are no PCIe rates, which are all that the format knows.
NO_PCIE_RATES = {"mi250x-8"}
LARGE = {"dgx-gh200"}
"""256 GPUs: pairs are too many to compare here."""
WITHOUT_CAPABILITY = {"vera-rubin-nvl72"}
"""Announced: neither PCI id nor compute capability of its GPU is published."""


def written(name: str) -> tuple[str, str]:
    machine = preset_machine(name)
    library = "rccl" if "mi" in machine.gpu else "nccl"
    return nccl_xml(machine.unit, library=library, network=machine.network), library


def again(machine: XmlMachine) -> XmlMachine:
    unit = machine.unit
    text = nccl_xml(unit, library=machine.library, network=machine.network, bus_ids=machine.bus_ids)
    return machine_of_text(text)


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_file_reads_back_equal(name: str) -> None:
    first = machine_of_text(ALL[name])
    second = again(first)
    assert paths(second.unit) == paths(first.unit)
    assert port_rates(second.unit) == port_rates(first.unit)
    assert links_between_gpus(second.unit) == links_between_gpus(first.unit)
    assert set(second.bus_ids.values()) == set(first.bus_ids.values())
    assert (second.gpu, second.library, second.nodes) == (first.gpu, first.library, first.nodes)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(preset_names()) - LARGE - WITHOUT_CAPABILITY))
def test_every_preset_reads_back_equal(name: str) -> None:
    unit = preset_machine(name).unit
    text, library = written(name)
    read = machine_of_text(text)
    assert port_rates(read.unit) == pytest.approx(port_rates(unit))
    assert links_between_gpus(read.unit) == links_between_gpus(unit)
    assert read.library == library
    if name not in NO_PCIE_RATES:
        assert paths(read.unit) == paths(unit)


def test_a_rack_of_256_gpus_keeps_its_links() -> None:
    unit = preset_machine("dgx-gh200").unit
    text, _ = written("dgx-gh200")
    assert links_between_gpus(machine_of_text(text).unit) == links_between_gpus(unit)


def test_elements_are_nccls_own() -> None:
    text, _ = written("dgx-h100")
    root = ET.fromstring(text)
    assert (root.tag, root.get("version")) == ("system", "1")
    assert [cpu.get("numaid") for cpu in root] == ["0", "1"]
    assert {cpu.get("modelid") for cpu in root} == {"143"}
    speeds = {pci.get("link_speed") for pci in root.iter("pci")}
    assert speeds == {"32.0 GT/s PCIe"}
    classes = {pci.get("class") for pci in root.iter("pci")}
    assert classes == {"0x060400", "0x030200", "0x020700"}
    links = list(root.iter("nvlink"))
    assert {link.get("tclass") for link in links} == {"0x068000"}
    assert sum(int(link.get("count", 0)) for link in links) == 8 * 18
    assert [gpu.get("dev") for gpu in root.iter("gpu")] == [str(n) for n in range(8)]
    assert all(len(element.attrib) <= 16 for element in root.iter())


def test_bus_ids_are_invented_alike_every_time_and_never_twice() -> None:
    one, _ = written("dgx-a100")
    other, _ = written("dgx-a100")
    ids = re.findall(r'busid="([^"]+)"', one)
    assert one == other
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("generation", "rate", "word"),
    [
        (3, 15.754, "8.0 GT/s PCIe"),
        (4, 31.508, "16.0 GT/s PCIe"),
        (5, 63.015, "32.0 GT/s PCIe"),
        (6, 121.0, "64.0 GT/s PCIe"),
    ],
)
def test_a_link_bears_the_word_that_nccl_knows(generation: int, rate: float, word: str) -> None:
    builder = UnitBuilder(f"gen{generation}")
    cpu, root = builder.add(ComponentKind.CPU, numa=0), builder.add(ComponentKind.ROOT, numa=0)
    gpu = builder.add(GPU, numa=0)
    builder.connect(gpu, root, LinkKind.PCIE, bandwidth=rate * GB, lanes=16)
    builder.connect(root, cpu, LinkKind.ROOT, bandwidth=rate * GB)
    assert f'link_speed="{word}" link_width="16"' in nccl_xml(builder.build())


def test_names_are_escaped() -> None:
    builder = UnitBuilder("odd")
    cpu, root = builder.add(ComponentKind.CPU, numa=0), builder.add(ComponentKind.ROOT, numa=0)
    nic = builder.add(ComponentKind.NIC, numa=0, rail=0, rate=gbps(100), label='a<b>&"c"')
    builder.connect(nic, root, LinkKind.PCIE, bandwidth=15.75 * GB, lanes=16)
    builder.connect(root, cpu, LinkKind.ROOT, bandwidth=15.75 * GB)
    machine = machine_of_text(nccl_xml(builder.build()))
    assert 'a<b>&"c"' in machine.unit.labels.values()


def test_a_machine_of_which_no_device_is_known_cannot_be_written() -> None:
    builder = UnitBuilder("empty")
    builder.add(ComponentKind.CPU, numa=0)
    with pytest.raises(Infeasible, match="no device"):
        nccl_xml(builder.build())


@given(
    edges=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 4)), max_size=6),
    numa=st.lists(st.integers(0, 1), min_size=4, max_size=4),
    generation=st.integers(3, 5),
    ports=st.lists(st.sampled_from([10, 100, 200, 400]), max_size=3),
)
@settings(max_examples=60)
def test_any_small_node_reads_back_equal(
    edges: list[tuple[int, int, int]], numa: list[int], generation: int, ports: list[int]
) -> None:
    rates = {3: 15.753846, 4: 31.507692, 5: 63.015385}
    builder = UnitBuilder("any")
    cpus = [builder.add(ComponentKind.CPU, numa=n, model="EPYC 7742") for n in range(2)]
    gpus = [builder.add(GPU, numa=n, model="A100 SXM4 80GB") for n in numa]
    nics = [
        builder.add(ComponentKind.NIC, numa=0, rail=r, rate=gbps(port))
        for r, port in enumerate(ports)
    ]
    builder.connect(cpus[0], cpus[1], LinkKind.CPU, bandwidth=96 * GB)
    for device, home in [*zip(gpus, numa, strict=True), *((nic, 0) for nic in nics)]:
        root = builder.add(ComponentKind.ROOT, numa=home)
        switch = builder.add(ComponentKind.PCIE, numa=home)
        width = min(rates[generation], rates[4]) * GB
        builder.connect(device, switch, LinkKind.PCIE, bandwidth=width, lanes=16)
        builder.connect(switch, root, LinkKind.PCIE, bandwidth=width, lanes=16)
        builder.connect(root, cpus[home], LinkKind.ROOT, bandwidth=width)
    for (a, b), count in {(min(a, b), max(a, b)): n for a, b, n in edges if a != b}.items():
        builder.connect(gpus[a], gpus[b], LinkKind.NVLINK, bandwidth=25 * GB * count, lanes=count)
    unit = builder.build()
    read = machine_of_text(nccl_xml(unit)).unit
    assert paths(read) == paths(unit)
    assert links_between_gpus(read) == links_between_gpus(unit)
    assert port_rates(read) == port_rates(unit)
