"""A topology file becomes the machine that it describes."""

from __future__ import annotations

import contextlib
import re

import pytest

from topology_files import ALL, GRACE, MESH, PAIR_BEHIND_SWITCHES, TWO_PORTS
from topology_tables import GPU, NIC, links_between_gpus, machine_of_text, paths, routes_of
from wirespeed.errors import WirespeedError
from wirespeed.inventory.from_xml import machines_of_xml
from wirespeed.readers import read_text
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.path_types import bonded_links
from wirespeed.units import GB, gbps


def test_two_gpus_on_two_switches_are_joined_by_all_their_links() -> None:
    machine = machine_of_text(PAIR_BEHIND_SWITCHES)
    a, b = machine.unit.of_kind(GPU).tolist()
    assert machine.gpu == "h100-sxm"
    assert machine.gpu_read
    assert bonded_links(routes_of(machine.unit), a, b) == 18
    assert paths(machine.unit)[0, 1] == ("NV18", "NVL", 370.8)
    assert links_between_gpus(machine.unit) == {
        ("nvlink", 10, 250_000): 2,
        ("nvlink", 8, 200_000): 2,
    }


def test_names_and_places_are_the_files() -> None:
    machine = machine_of_text(PAIR_BEHIND_SWITCHES)
    unit = machine.unit
    assert [unit.labels[gpu] for gpu in unit.of_kind(GPU)] == ["0000:18:00.0", "0000:98:00.0"]
    assert [unit.labels[nic] for nic in unit.of_kind(NIC)] == ["mlx5_0", "mlx5_1"]
    assert [machine.bus_ids[nic] for nic in unit.of_kind(NIC)] == ["0000:19:00.0", "0000:99:00.0"]
    assert unit.numa[unit.of_kind(GPU)].tolist() == [0, 1]
    assert unit.rail[unit.of_kind(NIC)].tolist() == [0, 1]
    assert unit.rate[unit.of_kind(NIC)].tolist() == [gbps(400)] * 2
    assert (machine.cpu_vendor, machine.cpu_model) == ("Intel", "Xeon Sapphire Rapids")
    assert machine.network == "infiniband"
    assert machine.complete


def test_ports_of_one_card_share_its_slot() -> None:
    machine = machine_of_text(TWO_PORTS)
    unit = machine.unit
    nics = unit.of_kind(NIC).tolist()
    up = [link for link in range(unit.links) if unit.source[link] in nics]
    # Gen4 x8 is 15.75 GB/s; two ports of 12.5 GB/s want 25.
    assert sum(unit.bandwidth[up]) == pytest.approx(15.75 * GB, rel=1e-3)
    assert len({machine.bus_ids[nic] for nic in nics}) == 1


def test_direct_links_count_once_for_both_ends() -> None:
    machine = machine_of_text(MESH)
    assert machine.library == "rccl"
    assert links_between_gpus(machine.unit) == {("xgmi", 1, 64_000): 4}
    table = paths(machine.unit)
    assert table[0, 1][1] == "NVL"
    assert table[1, 2][1] == "NVB"


def test_hosts_of_a_rack_share_its_nvswitches() -> None:
    machine = machine_of_text(GRACE)
    unit = machine.unit
    assert (unit.nodes, machine.nodes) == (2, 2)
    assert unit.node[unit.of_kind(ComponentKind.NVSWITCH)].tolist() == [-1]
    assert paths(unit)[0, 1] == ("NV18", "NVL", pytest.approx(18 * 40.1))


def test_a_grace_reaches_its_nic_through_the_cpu_over_c2c() -> None:
    machine = machine_of_text(GRACE)
    assert machine.gpu == "gb200"
    assert links_between_gpus(machine.unit)["c2c", 10, 450_000] == 2
    assert paths(machine.unit)[0, 2][1] == "P2C"


def test_equal_hosts_are_one_machine_with_so_many_nodes() -> None:
    (machine,) = machines_of_xml(read_text(MESH + MESH, file="two.xml"))
    assert (machine.nodes, machine.unit.nodes) == (2, 1)


def test_different_hosts_are_several_machines() -> None:
    found = machines_of_xml(read_text(MESH + PAIR_BEHIND_SWITCHES, file="two.xml"))
    assert [machine.gpu for machine in found] == ["mi300x", "h100-sxm"]


def test_two_boards_with_switches_of_their_own_are_joined_by_trunks() -> None:
    boards = PAIR_BEHIND_SWITCHES
    at = boards.index('<gpu dev="1"')
    apart = boards[:at] + boards[at:].replace("0000:07:", "0000:17:").replace(
        "0000:08:", "0000:18:"
    )
    machine = machine_of_text(apart)
    assert paths(machine.unit)[0, 1][:2] == ("NV18", "NVL")
    assert "trunk-assumed" in {notice.code for notice in machine.notices}


def test_a_link_to_itself_is_no_link() -> None:
    text = TWO_PORTS.replace(
        'rank="0" gdr="1"/>',
        'rank="0" gdr="1"><nvlink target="0000:01:00.0" count="12" tclass="0x030200"/></gpu>',
    )
    machine = machine_of_text(text)
    assert not links_between_gpus(machine.unit)
    assert "link-to-itself" in {notice.code for notice in machine.notices}


def test_counts_that_differ_by_end_are_odd_and_the_smaller_holds() -> None:
    text = MESH.replace('target="0000:22:00.0" count="1"', 'target="0000:22:00.0" count="2"')
    machine = machine_of_text(text)
    assert links_between_gpus(machine.unit) == {("xgmi", 1, 64_000): 4}
    assert [oddity.code for oddity in machine.oddities] == ["link-counts-differ"]


def test_an_uplink_slower_than_its_devices_is_odd() -> None:
    slow = PAIR_BEHIND_SWITCHES.replace(
        'link_speed="32.0 GT/s PCIe"', 'link_speed="5.0 GT/s PCIe"', 1
    )
    machine = machine_of_text(slow)
    (oddity,) = machine.oddities
    assert oddity.code == "slow-uplink"
    assert "NCCL plans with 6 GB/s" in oddity.text


def test_the_rate_of_an_emulated_bridge_is_not_believed() -> None:
    emulated = PAIR_BEHIND_SWITCHES.replace(
        'vendor="0x1000" device="0xc030" link_speed="32.0 GT/s PCIe" link_width="16"',
        'vendor="0x104c" device="0x8232" link_speed="2.5 GT/s PCIe" link_width="1"',
        1,
    )
    machine = machine_of_text(emulated)
    unit = machine.unit
    (oddity,) = machine.oddities
    assert oddity.code == "emulated-bridge"
    assert "0.1875 GB/s" in oddity.text
    assert min(unit.bandwidth[unit.link_kind == LinkKind.PCIE]) > 60 * GB


def test_a_gpu_is_told_by_its_architecture_where_no_id_names_it() -> None:
    text = PAIR_BEHIND_SWITCHES.replace('device="0x2330"', 'device="0xffff"')
    machine = machine_of_text(text)
    assert machine.gpu == "h100-sxm"
    assert not machine.gpu_read
    assert "h200-sxm" in machine.gpu_alternatives


def test_a_skeleton_has_its_devices_and_says_what_it_lacks() -> None:
    skeleton = """<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD"
      familyid="23" modelid="49">
      <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
        <pci busid="0003:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
        <pci busid="0103:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
        <pci busid="0104:00:00.0" />
      </pci></cpu></system>"""
    machine = machine_of_text(skeleton)
    assert not machine.complete
    assert machine.gpu == ""
    assert paths(machine.unit)[0, 1][:2] == ("PIX", "PIX")
    said = {notice.code for notice in machine.notices}
    assert {"gpu-unknown", "nic-rate-assumed", "device-unknown"} <= said


def test_a_machine_can_be_had_as_it_stands() -> None:
    machine = machine_of_text(PAIR_BEHIND_SWITCHES).as_machine("pair")
    assert (machine.name, machine.gpu, machine.cpu_vendor) == ("pair", "h100-sxm", "Intel")
    assert machine.has_nvswitch
    assert machine.abilities.gdr


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_device_has_a_way_to_every_other(name: str) -> None:
    ways = paths(machine_of_text(ALL[name]).unit)
    if name != "grace":
        assert "DIS" not in {kind for _, kind, _ in ways.values()}


@pytest.mark.parametrize(
    "attribute", ["numaid", "dev", "sm", "rank", "link_width", "count", "speed"]
)
@pytest.mark.parametrize("value", ["99999999999999", "2147483647", "-2147483648", "0xffffffffff"])
def test_no_number_is_too_large_to_survive(attribute: str, value: str) -> None:
    text = re.sub(rf'\b{attribute}="[^"]*"', f'{attribute}="{value}"', PAIR_BEHIND_SWITCHES)
    assert value in text
    with contextlib.suppress(WirespeedError):
        machine_of_text(text)
