"""Topology files that people published: each is what a person concludes from reading it."""

from __future__ import annotations

import contextlib
import functools
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import shared
from topology_tables import (
    GPU,
    NIC,
    links_between_gpus,
    machine_of_text,
    paths,
    port_rates,
    routes_of,
)
from wirespeed.errors import InputError, WirespeedError
from wirespeed.evidence import Evidence
from wirespeed.inventory.from_xml import XmlMachine, machines_of_xml
from wirespeed.readers import read_text
from wirespeed.topology.eligibility import p2p_eligible, p2p_level
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.nccl_speeds import link_planning, nccl_bandwidth
from wirespeed.topology.path_types import nccl_path
from wirespeed.units import GB, gbps
from wirespeed.views.export.nccl_xml import nccl_xml

pytestmark = pytest.mark.corpus

NAMES = (
    "01-azure-ndv2-v100.xml",
    "02-azure-ndv4-a100.xml",
    "04-azure-ncv4-a100-pairs.xml",
    "05-aws-g5-partial.xml",
    "07-aws-p4de.xml",
    "08-oci-h100.xml",
    "10-oci-flattened-gpu4.xml",
    "11-oci-h100-k8s.xml",
    "12-rccl-mi250x-16gcd.xml",
    "13-rccl-mi300x.xml",
    "14-rccl-mi300a-slingshot.xml",
    "16-rccl-mi100-vm.xml",
    "17-rccl-mi50-single-hive.xml",
    "21-vm-emulated-bridge-fragment.xml",
    "22-h200-vm-fragment.xml",
    "23-4090-numa-minus1-fragment.xml",
)
WITHOUT_DEVICES = "05-aws-g5-partial.xml"
DAMAGED = NAMES[-3:]


@functools.cache
def text_of(name: str) -> str:
    return shared("samples", "nccl-topo-xml", name).read_text()


@functools.cache
def evidence_of(number: str) -> Evidence:
    return read_text(text_of(name_of(number)), file=name_of(number))


@functools.cache
def machine(number: str) -> XmlMachine:
    return machine_of_text(text_of(name_of(number)), name_of(number))


def name_of(number: str) -> str:
    return next(name for name in NAMES if name.startswith(number))


def words(number: str, *, nics: bool = False) -> Counter[str]:
    """NCCL's words from each GPU to the other GPUs, or to the NICs."""
    unit = machine(number).unit
    routes = routes_of(unit)
    gpus = unit.of_kind(GPU).tolist()
    others = unit.of_kind(NIC).tolist() if nics else gpus
    return Counter(nccl_path(routes, a, b).name for a in gpus for b in others if a != b)


def to_nics(number: str, gpu: int) -> list[str]:
    unit = machine(number).unit
    routes = routes_of(unit)
    source = int(unit.of_kind(GPU)[gpu])
    return [nccl_path(routes, source, nic).name for nic in unit.of_kind(NIC).tolist()]


def codes(number: str) -> set[str]:
    found = machine(number)
    remarks = evidence_of(number).remarks
    return {entry.code for entry in (*found.notices, *found.oddities, *remarks)}


def of_kind(number: str, kind: ComponentKind) -> int:
    return len(machine(number).unit.of_kind(kind))


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_is_read_and_only_the_damaged_ones_are_mended(name: str) -> None:
    mended = "not-well-formed" in codes(name[:2])
    assert mended == (name in DAMAGED)


@pytest.mark.parametrize("name", NAMES)
def test_every_fact_stands_on_its_line(name: str) -> None:
    lines = text_of(name).splitlines()
    for fact in evidence_of(name[:2]).facts:
        if fact.attribute in ("speed_Mbps", "affinity", "guid", "link_speed"):
            assert f'"{fact.value}"' in lines[fact.line - 1]


# 01: eight V100 on two sockets, one HCA on the first; nothing about NVLink


def test_01_four_gpus_have_the_nic_on_their_socket() -> None:
    assert of_kind("01", GPU) == 8
    assert words("01", nics=True) == {"PHB": 4, "SYS": 4}
    assert words("01") == {"PHB": 24, "SYS": 32}
    assert not links_between_gpus(machine("01").unit)
    assert not machine("01").complete


# 02, 10: two GPUs and two NICs below each of four switches


@pytest.mark.parametrize("number", ["02", "10"])
def test_02_and_10_two_nics_are_equally_near_to_two_gpus(number: str) -> None:
    assert of_kind(number, NIC) == 8
    for gpu in range(8):
        assert Counter(to_nics(number, gpu)) == {"PIX": 2, "SYS": 6}
    assert words(number) == {"PIX": 8, "SYS": 48}


# 04: GPUs on four NUMA nodes, a link that names its own end


def test_04_links_to_themselves_join_nothing_and_no_speed_is_not_zero() -> None:
    unit = machine("04").unit
    assert words("04") == {"SYS": 12}
    assert not links_between_gpus(unit)
    assert {"link-to-itself", "self-link", "link-assumed", "speed-unknown"} <= codes("04")
    assert min(unit.bandwidth) > 10 * GB
    assert port_rates(unit) == [gbps(100)]
    assert machine("04").socket
    assert machine("04").gpu == "a100-pcie-80gb"


# 05: nothing but bus ids


def test_05_only_places_are_known() -> None:
    evidence = evidence_of("05")
    homes = Counter(fact.value for fact in evidence.facts if fact.attribute == "parent")
    assert homes == {"cpu0": 4, "cpu1": 5}
    assert of_kind("05", GPU) == of_kind("05", NIC) == 0
    assert {"device-unknown", "gpu-unknown", "no-arch"} <= codes("05")


# 07: two GPUs and one EFA below each of four virtual switches


def test_07_an_efa_is_near_to_two_gpus() -> None:
    found = machine("07")
    assert (found.gpu, found.network) == ("a100-sxm-80gb", "efa")
    assert words("07", nics=True) == {"PIX": 8, "PHB": 8, "SYS": 16}
    unit = found.unit
    pcie = unit.bandwidth[unit.link_kind == LinkKind.PCIE]
    assert set(pcie.round(-7).tolist()) == {15.75e9}


# 08, 11: the same H100 machine, once with a wrong line


@pytest.mark.parametrize("number", ["08", "11"])
def test_08_and_11_are_eight_h100_with_sixteen_ports(number: str) -> None:
    unit = machine(number).unit
    assert (machine(number).gpu, of_kind(number, GPU), of_kind(number, NIC)) == ("h100-sxm", 8, 16)
    assert of_kind(number, ComponentKind.NVSWITCH) == 4
    table = paths(unit)
    assert {table[i, j] for i in range(8) for j in range(8) if i != j} == {("NV18", "NVL", 370.8)}
    for gpu in range(8):
        assert Counter(to_nics(number, gpu)) == {"PXB": 2, "PXN": 14}


def test_08_has_slower_ports_and_a_slow_way_to_the_cpu_but_not_to_its_nics() -> None:
    slow, right = machine("08").unit, machine("11").unit
    # Somebody corrected the uplinks in 11.
    for unit, port, uplink in ((slow, 180, 6), (right, 200, 48)):
        routes = routes_of(unit)
        gpu, nic, cpu = (int(unit.of_kind(kind)[0]) for kind in (GPU, NIC, ComponentKind.CPU))
        assert unit.rate[nic] == gbps(port)
        assert nccl_bandwidth(routes, gpu, cpu) == pytest.approx(uplink * GB)
        assert nccl_bandwidth(routes, gpu, nic) == gbps(port)
        below = routes.pcie_links(gpu, nic)
        assert below is not None
        assert min(link_planning(unit, link) for link in below) == pytest.approx(48 * GB)
    assert "slow-uplink" in codes("08")


def test_08_two_ports_are_one_card() -> None:
    found = machine("08")
    cards = Counter(found.bus_ids[nic] for nic in found.unit.of_kind(NIC).tolist())
    assert set(cards.values()) == {2}


# 12: sixteen dies of eight MI250X


def test_12_dies_have_seven_links_to_three_or_four_others() -> None:
    unit = machine("12").unit
    assert (machine("12").library, of_kind("12", GPU), of_kind("12", NIC)) == ("rccl", 16, 8)
    for gpu in unit.of_kind(GPU).tolist():
        out = [
            int(unit.lanes[link])
            for link in range(unit.links)
            if unit.source[link] == gpu and unit.link_kind[link] == LinkKind.XGMI
        ]
        assert sum(out) == 7
        assert len(out) in (3, 4)
        assert max(out) == 4
    found = words("12")
    assert found["NVL"] == 16 * 3.5
    assert found["NVB"] > found["NVL"]


# 13: a full mesh of MI300X, each with its NIC


def test_13_every_pair_has_one_link_and_every_gpu_one_nic() -> None:
    unit = machine("13").unit
    assert links_between_gpus(unit) == {("xgmi", 1, 64_000): 56}
    assert words("13") == {"NVL": 56}
    for gpu in range(8):
        ways = to_nics("13", gpu)
        assert ways[gpu] == "PXB"
        assert set(ways[:gpu] + ways[gpu + 1 :]) == {"PXN"}


# 14: four MI300A, each with a Slingshot NIC


def test_14_a_port_of_200_terabits_is_one_of_200_gigabits() -> None:
    assert port_rates(machine("14").unit) == [gbps(200)] * 4
    assert "net-speed" in codes("14")
    assert machine("14").network == "slingshot"
    assert words("14") == {"NVL": 12}
    # CPUs are listed 2, 3, 0, 1; each GPU is beside the NIC with its number.
    for gpu in range(4):
        ways = to_nics("14", gpu)
        assert ways[gpu] == "PHB"
        assert set(ways[:gpu] + ways[gpu + 1 :]) == {"SYS"}


# 16: two hives of four MI100 in a virtual machine, TCP only


def test_16_hives_are_joined_inside_and_by_the_sockets_outside() -> None:
    table = paths(machine("16").unit)
    for i in range(8):
        for j in range(8):
            if i != j:
                assert table[i, j][1] == ("NVL" if i // 4 == j // 4 else "SYS")
    assert machine("16").socket
    assert machine("16").gdr is False


# 17: four MI50 in a ring


def test_17_the_opposite_gpu_is_two_hops_away() -> None:
    table = paths(machine("17").unit)
    # The ring is 0-1-3-2.
    assert [table[0, j][1] for j in (1, 2, 3)] == ["NVL", "NVL", "NVB"]
    assert port_rates(machine("17").unit) == [gbps(100)]


# 21, 22, 23: fragments


def test_21_an_emulated_bridge_is_said_and_not_believed() -> None:
    unit = machine("21").unit
    assert evidence_of("21").value("pci 0000:bf:00.0", "nccl_GBps") == 0.1875
    assert "emulated-bridge" in codes("21")
    assert sum(count for _, count, _ in links_between_gpus(unit)) == 18 / 2  # 4 and 5, each twice
    assert min(unit.bandwidth[unit.link_kind == LinkKind.PCIE]) > 60 * GB


def test_22_is_read_up_to_the_cut() -> None:
    found = machine("22")
    unit = found.unit
    assert found.cpu_model == "Xeon Emerald Rapids"
    assert evidence_of("22").value("cpu0", "model_id") == 207
    assert to_nics("22", 0) == ["PIX"]
    links = links_between_gpus(unit)
    assert sum(lanes * times for (_, lanes, _), times in links.items()) == 18
    assert len(unit.of_kind(ComponentKind.NVSWITCH)) == 4
    assert {"tag-cut", "not-closed"} <= codes("22")


def test_23_gpus_on_one_cpu_are_no_peers() -> None:
    unit = machine("23").unit
    assert words("23") == {"PHB": 12}
    routes = routes_of(unit)
    a, b = unit.of_kind(GPU)[:2].tolist()
    assert not p2p_eligible(routes, a, b, p2p_level({}, "AMD", 4))
    assert p2p_eligible(routes, a, b, p2p_level({}, "AMD", 2))
    assert evidence_of("23").value("cpu0", "numa") == -1


# There and back, and damage


@pytest.mark.parametrize("name", sorted(set(NAMES) - {WITHOUT_DEVICES}))
def test_every_sample_reads_back_equal(name: str) -> None:
    first = machine(name[:2])
    text = nccl_xml(first.unit, library=first.library, network=first.network, bus_ids=first.bus_ids)
    second = machine_of_text(text)
    assert paths(second.unit) == paths(first.unit)
    assert port_rates(second.unit) == port_rates(first.unit)
    assert links_between_gpus(second.unit) == links_between_gpus(first.unit)
    assert set(second.bus_ids.values()) == set(first.bus_ids.values())


@given(data=st.data())
@settings(max_examples=150)
def test_damaged_samples_end_in_evidence_or_in_our_errors(data: st.DataObject) -> None:
    text = text_of(data.draw(st.sampled_from(NAMES)))
    if data.draw(st.booleans()):
        text = text[data.draw(st.integers(0, len(text))) :]
    for _ in range(data.draw(st.integers(0, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.integers(0, 300))
        piece = data.draw(st.sampled_from(("", "<", ">", '"', "&", "/>", "</pci>", "<cpu>", "\0")))
        text = text[:at] + piece + text[at + gone :]
    begin = time.process_time()
    with contextlib.suppress(WirespeedError):
        machines_of_xml(read_text(text, file="damaged.xml"))
    assert time.process_time() - begin < 2


def test_a_sample_within_a_document_type_is_refused() -> None:
    with pytest.raises(InputError):
        read_text(f"<!DOCTYPE system [<!ENTITY a 'b'>]>{text_of(NAMES[0])}", file="bomb.xml")
