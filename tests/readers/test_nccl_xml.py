"""A topology file says what it says, with lines, whatever happened to it on the way."""

from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology_files import ALL, GRACE, MESH, PAIR_BEHIND_SWITCHES, TWO_PORTS
from wirespeed.errors import InputError, WirespeedError
from wirespeed.evidence import Evidence
from wirespeed.readers import read_text
from wirespeed.readers.nccl_xml import FORMAT
from wirespeed.readers.nccl_xml_values import nccl_pcie_GBps


def read(text: str) -> Evidence:
    return read_text(text, file="topology.xml")


def codes(evidence: Evidence) -> list[str]:
    return [remark.code for remark in evidence.remarks]


def pci(link: str) -> str:
    return below_cpu(f'<pci busid="0000:1B:00.0" {link}/>')


def net(attributes: str) -> str:
    return below_cpu(f'<nic><net name="a" {attributes}/></nic>')


def below_cpu(inside: str) -> str:
    return f'<system version="1"><cpu numaid="0" arch="x86_64">{inside}</cpu></system>'


def test_a_whole_file_is_read_without_a_remark() -> None:
    for text in ALL.values():
        assert read(text).format == "nccl-xml"
        assert read(text).remarks == ()


def test_facts_keep_their_lines_and_the_files_own_words() -> None:
    evidence = read(PAIR_BEHIND_SWITCHES)
    facts = {(fact.subject, fact.attribute): fact for fact in evidence.facts}
    assert facts["cpu1", "model_id"].value == 143
    assert facts["pci 0000:18:00.0", "parent"].value == "pci 0000:15:00.0"
    assert facts["pci 0000:18:00.0", "link_GTps"].value == 32.0
    assert facts["gpu1", "bus_id"].value == "0000:98:00.0"
    assert facts["gpu1", "sm"].line == 20
    assert facts["gpu0>pci 0000:07:00.0", "nvlink"].value == 10
    assert facts["gpu0>pci 0000:07:00.0", "target_class"].value == "0x068000"
    assert facts["nic1", "parent"].value == "pci 0000:99:00.0"
    assert facts["nic1", "rate_Gbps"].value == 400.0


def test_several_hosts_are_told_apart_by_their_hash() -> None:
    evidence = read(GRACE)
    assert evidence.value("system", "hosts") == 2
    assert evidence.value("node1/gpu0", "rank") == 1
    assert evidence.value("node1/pci 0000:03:00.0", "parent") == "node1/cpu0"
    assert evidence.value("node1/gpu0>node1/pci fffffff:ffff:ff", "nvlink") == 18


def test_two_files_in_one_text_are_two_hosts() -> None:
    assert read(MESH + MESH).value("system", "hosts") == 2


def test_rccl_writes_compute_units_where_nccl_writes_the_capability() -> None:
    evidence = read(MESH)
    assert evidence.value("system", "library") == "rccl"
    assert evidence.value("gpu0", "compute_units") == 304
    assert evidence.value("gpu0", "gcn") == "gfx942"
    assert evidence.value("gpu0", "sm") is None


# link_speed as written, GT/s of the hardware, what NCCL makes of x16 [GB/s]
@pytest.mark.parametrize(
    ("speed", "physical", "planned"),
    [
        ("2.5 GT/s", 2.5, 3),
        ("2.5 GT/s PCIe", 2.5, 3),
        ("5 GT/s", 5, 6),
        ("5.0 GT/s PCIe", 5, 6),
        ("8 GT/s", 8, 12),
        ("8.0 GT/s PCIe", 8, 12),
        ("16 GT/s", 16, 24),
        ("16.0 GT/s PCIe", 16, 24),
        ("32 GT/s", 32, 48),
        ("32.0 GT/s PCIe", 32, 48),
        ("64.0 GT/s PCIe", 64, 96),
        ("16.0 GT/s", 16, 12),
        ("5.0 GT/s", 5, 12),
        ("64 GT/s", 64, 12),
        ("Unknown", None, 12),
        ("", None, 12),
    ],
)
def test_a_link_speed_is_read_as_the_hardware_has_it_and_as_nccl_takes_it(
    speed: str, physical: float | None, planned: float
) -> None:
    evidence = read(pci(f'link_speed="{speed}" link_width="16"'))
    assert evidence.value("pci 0000:1b:00.0", "link_speed") == speed
    assert evidence.value("pci 0000:1b:00.0", "link_GTps") == physical
    assert evidence.value("pci 0000:1b:00.0", "nccl_GBps") == planned
    said = {"speed-misread", "speed-unknown"} & set(codes(evidence))
    agree = {2.5: 3, 5: 6, 8: 12, 16: 24, 32: 48, 64: 96}
    assert bool(said) == (physical is None or agree[physical] != planned)


def test_sixteen_lanes_are_assumed_where_a_device_says_zero() -> None:
    evidence = read(pci('link_speed="32.0 GT/s PCIe" link_width="0"'))
    assert evidence.value("pci 0000:1b:00.0", "lanes") == 16
    assert evidence.value("pci 0000:1b:00.0", "link_width") == 0
    assert "width-unknown" in codes(evidence)


def test_one_lane_of_the_first_generation_is_a_sixteenth_of_three() -> None:
    assert nccl_pcie_GBps("2.5 GT/s PCIe", "1") == 0.1875


@pytest.mark.parametrize(
    ("speed", "rate", "remark"),
    [
        ("100000", 100.0, False),
        ("0", 10.0, True),
        ("-1", 10.0, True),
        ("200000000", 200.0, True),
    ],
)
def test_a_port_has_a_speed_that_a_port_can_have(speed: str, rate: float, remark: bool) -> None:
    evidence = read(net(f'dev="0" speed="{speed}"'))
    assert evidence.value("nic0", "rate_Gbps") == rate
    assert evidence.value("nic0", "speed_Mbps") == int(speed)
    assert ("net-speed" in codes(evidence)) == remark


def test_what_nccl_ignores_is_there_and_said() -> None:
    evidence = read(net('speed="100000"'))
    assert evidence.value("nic0", "name") == "a"
    assert evidence.value("nic0", "dev") is None
    assert "no-dev" in codes(evidence)
    without_rank = read(TWO_PORTS.replace('rank="0" ', ""))
    assert without_rank.value("gpu0", "sm") == 80
    assert "no-rank" in codes(without_rank)
    assert "no-arch" in codes(read(TWO_PORTS.replace('arch="x86_64" ', "")))


def test_an_ampersand_that_nobody_escaped_is_survived() -> None:
    evidence = read(TWO_PORTS.replace('name="p0"', 'name="R&D"'))
    assert evidence.value("nic0", "name") == "R&D"
    assert evidence.value("nic1", "name") == "p1"
    assert "ampersand" in codes(evidence)


def test_a_file_that_breaks_off_is_read_as_far_as_it_goes() -> None:
    cut = PAIR_BEHIND_SWITCHES[: PAIR_BEHIND_SWITCHES.index("0000:98:00.0") + 7]
    evidence = read(cut)
    assert evidence.value("gpu0", "sm") == 90
    assert evidence.value("pci 0000:95:00.0", "class") == "0x060400"
    assert evidence.value("gpu1", "sm") is None
    assert {"not-well-formed", "tag-cut", "not-closed"} <= set(codes(evidence))


def test_a_piece_from_the_middle_is_read_with_what_it_hangs_from() -> None:
    begin = PAIR_BEHIND_SWITCHES.index('<pci busid="0000:95')
    evidence = read(PAIR_BEHIND_SWITCHES[begin:])
    assert evidence.value("pci 0000:95:00.0", "parent") == "cpu0"
    assert evidence.value("gpu1", "bus_id") == "0000:98:00.0"
    assert "not-opened" in codes(evidence)


def test_a_paste_with_prompt_fence_and_curly_quotes_is_read() -> None:
    text = f"$ cat topo.xml\n```xml\n{MESH}```\nthanks!\n".replace('dev="1"', "dev=“1”")
    evidence = read(text)
    assert evidence.value("gpu1", "bus_id") == "0000:22:00.0"
    facts = {(fact.subject, fact.attribute): fact.line for fact in evidence.facts}
    assert facts["gpu1", "bus_id"] == 12


@pytest.mark.parametrize(
    "bomb",
    [
        '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]>',
        '<!doctype system SYSTEM "file:///etc/hostname">',
        '<!ENTITY % a SYSTEM "http://localhost/">',
    ],
)
def test_document_types_and_entities_are_refused(bomb: str) -> None:
    with pytest.raises(InputError, match="document types and entities"):
        read(bomb + MESH)


@pytest.mark.parametrize(
    "text",
    [
        '<pci busid="a">' * 40_000,
        "<pci busid=" * 700_000,
        '<cpu numaid="0">' + "<" * 7_000_000,
        '<cpu numaid="0">' + '<pci busid="0000:01:00.0"/>' * 200_000,
        '<pci busid="' + "a" * 7_000_000,
        '<cpu numaid="0">' + "</pci>" * 50_000,
        '<cpu numaid="0">' + "</system>" * 50_000,
        '<system version="1">' + "<!--" * 50_000,
        '<cpu numaid="0" ' + "<!-- -->" * 15_000 + " &" * 100_000,
        "<cpu numaid" * 4_000 + "=" * 1_000_000,
    ],
)
def test_no_text_takes_long(text: str) -> None:
    begin = time.process_time()
    FORMAT.sniff(text)
    with contextlib.suppress(WirespeedError):
        FORMAT.read(text, "topology.xml")
    assert time.process_time() - begin < 1


def test_fifty_megabytes_are_refused_at_once() -> None:
    with pytest.raises(InputError, match="too much"):
        read('<pci busid="0000:01:00.0">' * 2_000_000)


def test_depth_has_a_limit_that_no_machine_reaches() -> None:
    deep = "".join(f'<pci busid="0000:{n:02x}:00.0">' for n in range(100)) + "</pci>" * 100
    with pytest.raises(InputError, match="nested more than 64 deep"):
        read(f'<system version="1"><cpu numaid="0">{deep}</cpu></system>')


def test_a_file_without_devices_is_no_topology() -> None:
    with pytest.raises(InputError, match="no device"):
        read('<system version="1"><cpu numaid="0"/></system>')


@pytest.mark.parametrize(
    "text",
    [
        '<graphs version="1"><graph id="0"><channel><gpu dev="0"/></channel></graph></graphs>',
        '<topology version="2.0"><object type="Machine"/></topology>',
    ],
)
def test_other_xml_is_not_taken_for_a_topology(text: str) -> None:
    assert FORMAT.sniff(text) == 0


PIECES = ("", "<", ">", '"', "&", "</pci>", "</cpu>", "\0", "é", "-1")


@given(data=st.data())
@settings(max_examples=150)
def test_damage_never_ends_in_anything_but_our_errors(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(sorted(ALL.values())))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(at, min(len(text), at + 200)))
        piece = data.draw(st.sampled_from(PIECES))
        text = text[:at] + piece + text[end:]
    try:
        evidence = read(text)
    except WirespeedError:
        return
    last = text.count("\n") + 1
    assert all(1 <= fact.line <= last for fact in evidence.facts)


@given(cut=st.integers(0, len(PAIR_BEHIND_SWITCHES)))
@settings(max_examples=80)
def test_the_beginning_of_a_file_never_says_what_the_whole_does_not(cut: int) -> None:
    whole = {(f.subject, f.attribute, f.value) for f in read(PAIR_BEHIND_SWITCHES).facts}
    try:
        part = read(PAIR_BEHIND_SWITCHES[:cut])
    except WirespeedError:
        return
    if part.format == "nccl-xml":
        assert {(f.subject, f.attribute, f.value) for f in part.facts if not f.inferred} <= whole
