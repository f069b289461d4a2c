"""Outputs of host and fabric tools say what a person who knows the tool reads in them."""

from __future__ import annotations

import pytest

from readers import host_texts as texts
from wirespeed.errors import InputError
from wirespeed.evidence import Evidence
from wirespeed.readers import FORMATS, read_text
from wirespeed.readers.hostlist import count_hosts, expand_hosts


def read(name: str) -> Evidence:
    return read_text(texts.TEXTS[name][0], file=name)


def values(name: str, attribute: str) -> dict[str, object]:
    return {f.subject: f.value for f in read(name).facts if f.attribute == attribute}


def codes(evidence: Evidence) -> set[str]:
    return {remark.code for remark in evidence.remarks}


@pytest.mark.parametrize("name", texts.TEXTS)
def test_a_text_is_recognised_by_its_own_reader_alone(name: str) -> None:
    text, expected = texts.TEXTS[name]
    assert {form.name for form in FORMATS if form.sniff(text)} == {expected}
    assert read(name).format == expected


@pytest.mark.parametrize("name", texts.TEXTS)
def test_quoting_fences_and_windows_lines_change_nothing(name: str) -> None:
    text, _ = texts.TEXTS[name]
    plain = {(f.subject, f.attribute, f.value) for f in read(name).facts}
    for changed in (text.replace("\n", "\r\n"), f"```\n{text}```\n", f"\x1b[0m{text}"):
        found = read_text(changed, file=name)
        numbered = {(f.subject, f.attribute, f.value) for f in found.facts}
        shifted = {key for key in numbered ^ plain if "line" not in key[0] and key[1] != "lines"}
        assert not shifted


@pytest.mark.parametrize("name", texts.TEXTS)
def test_facts_point_to_lines_of_the_text(name: str) -> None:
    lines = texts.TEXTS[name][0].count("\n") + 1
    assert all(0 <= fact.line <= lines for fact in read(name).facts)


def test_one_inactive_link_of_eighteen() -> None:
    assert values("nvlink -s", "nvlinks") == {"gpu0": 18, "gpu1": 18}
    assert values("nvlink -s", "nvlinks_active") == {"gpu0": 18, "gpu1": 17}
    states = values("nvlink -s", "state")
    assert [link for link, state in states.items() if state == "inactive"] == ["gpu1 link7"]


def test_no_link_at_all_is_said_in_words() -> None:
    text = "GPU 0: NVIDIA H100 NVL (UUID: GPU-1)\n\t all links are inActive\n"
    assert read_text(text, file="x").value("gpu0", "nvlinks_active") == 0


def test_error_counters_keep_their_names() -> None:
    found = read("nvlink -e")
    assert found.value("gpu0 link1", "replay_errors") == 142
    assert found.value("gpu0 link1", "crc_errors") == 891
    assert found.value("gpu0 link0", "recovery_errors") == 0
    assert found.value("gpu0", "nvlinks") is None


def test_a_listing_beside_links_is_read_by_the_list_of_links() -> None:
    listing = "GPU 0: NVIDIA H200 (UUID: GPU-11)\nGPU 1: NVIDIA H200 (UUID: GPU-12)\n"
    links = texts.NVLINK.partition("\n")[2]
    found = read_text(listing + links, file="paste")
    assert found.format == "nvlink"
    assert found.value("gpu1", "model") == "NVIDIA H200"


def test_weights_tell_neighbours_from_farther_gpus() -> None:
    assert values("rocm-smi", "weight")["gpu0>gpu1"] == 15
    assert values("rocm-smi", "weight")["gpu0>gpu2"] == 30
    assert values("rocm-smi", "rocm_link")["gpu2>gpu3"] == "XGMI"
    assert values("rocm-smi", "numa") == {"gpu0": 0, "gpu1": 0, "gpu2": 1, "gpu3": 1}


def test_a_cut_matrix_is_completed_by_symmetry() -> None:
    cut = texts.ROCM[: texts.ROCM.index("GPU3   15")]
    found = read_text(cut, file="cut")
    facts = {f.subject: f for f in found.facts if f.attribute == "weight"}
    assert facts["gpu3>gpu0"].value == 15
    assert facts["gpu3>gpu0"].inferred
    assert not facts["gpu0>gpu3"].inferred
    assert codes(found) == {"matrix-cut"}


def test_arrows_say_where_the_bytes_go() -> None:
    found = read("nvbandwidth")
    assert found.value("gpu0>gpu1", "device_to_device_memcpy_read_ce_GBps") == 392.11
    assert found.value("gpu1>host", "device_to_host_memcpy_ce_GBps") == 55.31
    assert found.value("gpu0>gpu1", "device_to_device_latency_sm_ns") == 701.2
    kinds = {(m.operation, m.bidirectional) for m in found.measurements}
    assert kinds == {("p2p_copy", False), ("p2p_copy", True), ("d2h", False)}
    both = next(m for m in found.measurements if m.bidirectional)
    (row,) = both.rows
    assert row.algbw == pytest.approx(776.30e9)
    # 512 MiB each way.
    assert row.time == pytest.approx(2 * 2**29 / 776.30e9)
    missing = found.value("test multinode_device_to_device_memcpy_read_ce", "status")
    assert missing == "waived"


def test_peer_access_and_its_price() -> None:
    found = read("p2pBandwidthLatencyTest")
    assert found.value("gpu0>gpu1", "p2p_access") is True
    assert found.value("gpu0", "bus_id") == "0000:1a:00.0"
    assert found.value("gpu0>gpu1", "p2p_off_GBps") == 19.02
    assert found.value("gpu0>gpu1", "p2p_on_cpu_us") == 1.62
    assert {m.bidirectional for m in found.measurements} == {False, True}


def test_a_narrow_link_and_a_slow_one_are_told_apart() -> None:
    narrow = values("lspci -vv", "width_downgraded")
    slow = values("lspci -vv", "speed_downgraded")
    bridge, gpu, nic = (f"pci 0000:{bus}:00.0" for bus in ("17", "18", "1b"))
    assert narrow == {bridge: False, gpu: True, nic: False}
    assert slow == {bridge: True, gpu: False, nic: False}
    assert values("lspci -vv", "kind") == {bridge: "bridge", gpu: "gpu", nic: "nic"}
    assert values("lspci -vv", "acs_redirect") == {bridge: False}
    assert values("lspci -vv", "numa") == {bridge: 0, gpu: 0}
    assert values("lspci -vv", "slot_power_W") == {bridge: 75.0}


def test_older_pciutils_print_no_words_and_all_on_one_line() -> None:
    text = (
        "03:00.0 VGA compatible controller: NVIDIA Corporation GP102 (rev a1)\n"
        "\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM L0s L1\n"
        "\t\tLnkSta:\tSpeed 8GT/s, Width x8, TrErr- Train- SlotClk+ DLActive+ BWMgmt- ABWMgmt-\n"
    )
    found = read_text(text, file="x")
    gpu = "pci 0000:03:00.0"
    assert found.value(gpu, "width_downgraded") is True
    assert found.value(gpu, "speed_downgraded") is False
    assert found.value(gpu, "link_active") is True


def test_a_tree_places_functions_below_their_switch() -> None:
    parents = values("lspci -tv", "parent")
    assert parents["pci 0000:18:00.0"] == "pci 0000:17:00.0"
    assert parents["pci 0000:1b:00.1"] == parents["pci 0000:1b:00.0"] == "pci 0000:17:01.0"
    assert parents["pci 0000:17:01.0"] == "pci 0000:16:00.0"
    assert parents["pci 0000:16:00.0"] == "pci 0000:15:01.0"
    assert parents["pci 0000:15:01.0"] == "host 0000:15"
    assert parents["pci 0000:00:1f.0"] == "host 0000:00"
    assert not codes(read("lspci -tv"))


def test_what_a_kernel_says_of_links() -> None:
    found = read("dmesg")
    assert found.value("pci 0000:5d:00.0", "pcie_limit_lanes") == 8
    assert found.value("pci 0000:5d:00.0", "pcie_limit_at") == "pci 0000:5c:00.0"
    assert found.value("pci 0000:5d:00.0", "xid") == 74
    assert found.value("pci 0000:5e:00.0", "link_lost") is True
    assert found.value("pci 0000:07:00.0", "sxid") == 12028
    assert found.value("pci 0000:5c:00.0", "aer") == "corrected"
    assert found.value("kernel", "iommu") == "translated"
    assert found.value("net ibs0", "link") == "down"


def test_a_port_without_a_subnet_manager_has_a_link_and_no_lid() -> None:
    assert values("ibstat", "up") == {"port mlx5_0/1": True, "port mlx5_1/1": False}
    assert values("ibstat", "physical")["port mlx5_1/1"] == "linkup"
    assert values("ibstat", "lid") == {"port mlx5_0/1": 33}
    assert values("ibstat", "rate_Gbps") == {"port mlx5_0/1": 400.0}
    assert values("ibstat", "model")["hca mlx5_0"] == "ConnectX-7"


def test_interfaces_of_ports() -> None:
    assert values("ibdev2netdev", "netdev") == {
        "port mlx5_0/1": "ibp26s0",
        "port mlx5_1/1": "ibp60s0",
        "port roceP2p1s0f0/1": "enP2p1s0f0np0",
        "port mlx5_4/1": "ibs3",
    }
    assert values("ibdev2netdev", "netdev_up")["port mlx5_1/1"] is False
    assert values("ibdev2netdev", "bus_id") == {"port mlx5_4/1": "0000:9a:00.0"}


def test_counters_that_stand_at_their_maximum() -> None:
    found = read("perfquery")
    full = {r.text.split()[0] for r in found.remarks if r.code == "counter-full"}
    assert full == {"SymbolErrorCounter", "LinkDownedCounter", "PortXmitData"}
    assert found.value("lid 12/3", "PortRcvErrors") == 17
    assert found.value("lid 12/3", "PortSelect") is None


def test_a_switch_and_its_power_supply() -> None:
    found = read("ibswinfo")
    switch = "switch 0xb83fd20300112233"
    assert found.value(switch, "psu0_fan_status") == "ERROR"
    assert found.value(switch, "fan_status") == "OK"
    assert found.value(switch, "temperature_C") == 61


def test_latencies_are_typical_times() -> None:
    (measured,) = read("ib_write_lat").measurements
    assert [(row.size, row.time) for row in measured.rows] == [
        (2, pytest.approx(1.05e-6)),
        (8, pytest.approx(1.06e-6)),
    ]
    assert read("ib_write_lat").value("perftest", "link_layer") == "ethernet"


def test_a_peak_far_above_the_average_is_told() -> None:
    found = read("ib_send_bw")
    (measured,) = found.measurements
    assert (measured.operation, measured.bidirectional) == ("rdma_send", True)
    assert measured.rows[0].algbw == pytest.approx(740.95e9 / 8)
    assert codes(found) == {"row-unstable"}


def test_trees_and_blocks_of_slurm() -> None:
    tree = read("topology.conf")
    assert tree.value("topology", "node_count") == 9
    assert tree.value("switch s1", "parent") == "core"
    assert tree.value("switch s1", "nodes") == "gpu[01-04],login1"
    blocks = read("topology.conf of blocks")
    assert blocks.value("block b2", "node_count") == 18
    assert blocks.value("topology", "block_sizes") == (16, 32)
    both = read("topology.yaml")
    assert both.value("topology fabric", "levels") == 2
    assert both.value("switch s2", "parent") == "core"
    assert both.value("topology racks", "block_sizes") == (16, 32)
    assert both.value("block b1", "node_count") == 18


def test_a_tree_that_bites_its_tail_is_told() -> None:
    text = (
        "SwitchName=a Switches=b\nSwitchName=b Switches=a\nSwitchName=c Switches=d Nodes=n[1-2]\n"
    )
    assert codes(read_text(text, file="x")) == {"loop", "switch-missing"}


def test_host_lists_expand_as_slurm_does() -> None:
    assert expand_hosts("n[08-10,2],login") == ["n08", "n09", "n10", "n2", "login"]
    assert expand_hosts("r[1-2]n[1-2]") == ["r1n1", "r1n2", "r2n1", "r2n2"]
    assert count_hosts("n[1-999999999]") == 999_999_999
    for wrong in ("n[3-1]", "n[a-b]", "n[1-2"):
        with pytest.raises(InputError):
            expand_hosts(wrong)
    with pytest.raises(InputError, match="no list of hosts"):
        expand_hosts("n[1-999999999]")


def test_dimensions_of_a_simulated_network() -> None:
    found = read("astra-sim")
    assert found.value("network", "npus") == 128
    assert found.value("dimension 1", "bandwidth_GBps") == 50.0


def test_hwloc_names_devices_as_their_drivers_do() -> None:
    found = read("lstopo")
    assert found.value("gpu1", "bus_id") == "0000:98:00.0"
    assert found.value("nic0", "name") == "mlx5_0"
    assert found.value("pci 0000:18:00.0", "parent") == "pci 0000:15:01.0"
    assert found.value("pci 0000:98:00.0", "parent") == "cpu1"
    assert found.value("pci 0000:98:00.0", "link_GTps") == 16.0
    assert found.value("pci 0000:18:00.0", "link_GTps") == 32.0
    assert found.value("gpu0>gpu1", "nvlink_MBps") == 150000


def test_a_list_of_nodes_has_no_cables() -> None:
    found = read("ibnetdiscover -l")
    assert found.value("switch 0xb83fd20300112233", "ports") == 64
    assert codes(found) == {"no-links"}
    flat = read("ibnetdiscover -p")
    assert flat.value("switch 0xb83fd20300112233/9", "state") == "down"
    assert flat.value("switch 0xb83fd20300112233", "name") == "leaf 1"


def test_iblinkinfo_on_one_line_each_tells_switches_by_their_ports() -> None:
    rows = [
        f'0x1{port:03d} "node-{port} mlx5_0" {port + 10:5d} 1[  ] ==( 4X 53.125 Gbps Active/  '
        f'LinkUp)==> 0x2000 3 {port}[  ] "leaf" ( )'
        for port in (1, 2, 3)
    ]
    rows += [
        f'0x2000 "leaf" 3 {port}[  ] ==( 4X 53.125 Gbps Active/  LinkUp)==> '
        f'0x1{port:03d} {port + 10} 1[  ] "node-{port} mlx5_0" ( )'
        for port in (1, 2, 3)
    ]
    found = read_text("\n".join(rows) + "\n", file="x")
    leaf, node = "switch 0x0000000000002000", "ca 0x0000000000001001"
    assert found.value(f"{node}/1>{leaf}/1", "link") == "4xHDR"
    assert found.value(f"{leaf}/1>{node}/1", "rate_Gbps") == 200.0
