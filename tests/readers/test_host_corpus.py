"""Outputs that people published: each is read by its own reader and says what people conclude."""

from __future__ import annotations

import functools
from collections import Counter

import pytest

from support import shared
from wirespeed.evidence import Evidence, Measurement
from wirespeed.inventory.from_lstopo import as_topology
from wirespeed.inventory.from_xml import machines_of_xml
from wirespeed.readers import FORMATS, decode, read_text
from wirespeed.topology.kinds import ComponentKind

pytestmark = pytest.mark.corpus

FOLDERS = {
    "astra-sim": "astra-sim",
    "dmesg": "dmesg",
    "ibnetdiscover": "ibnetdiscover",
    "ibstat-ibdev2netdev": "ibstat",
    "ibswinfo": "ibswinfo",
    "lspci": "lspci",
    "lstopo-xml": "lstopo",
    "nccl-graph-xml": "nccl-graph",
    "nccl-tests": "nccl-tests",
    "nccl-topo-xml": "nccl-xml",
    "nvbandwidth": "nvbandwidth",
    "nvidia-smi-nvlink": "nvlink",
    "nvidia-smi-query": "nvidia-smi-query",
    "nvidia-smi-topo-m": "topo-m",
    "nvidia-smi-topo-p2p": "topo-p2p",
    "p2pBandwidthLatencyTest": "p2p-bandwidth",
    "perfquery": "perfquery",
    "perftest": "perftest",
    "rocm-smi-topo": "rocm-topo",
    "slurm-topology-conf": "slurm-topology",
}
TREES = ("lspci/06-tv-tree-v100-vf.txt", "lspci/07-t-tree-trx.txt")


@functools.cache
def content(name: str) -> bytes:
    return shared("samples", *name.split("/")).read_bytes()


@functools.cache
def evidence(name: str) -> Evidence:
    return read_text(content(name), file=name)


def values(name: str, attribute: str) -> dict[str, object]:
    return {f.subject: f.value for f in evidence(name).facts if f.attribute == attribute}


def codes(name: str) -> set[str]:
    return {remark.code for remark in evidence(name).remarks}


def rates(name: str, operation: str, *, both: bool = False) -> list[float]:
    """[GB/s] of all copies of one kind."""
    return [
        row.algbw / 1e9
        for measured in evidence(name).measurements
        if (measured.operation, measured.bidirectional) == (operation, both)
        for row in measured.rows
        if row.algbw
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_sample_is_recognised_by_its_own_reader_alone(folder: str) -> None:
    for path in sorted(shared("samples", folder).iterdir()):
        name = f"{folder}/{path.name}"
        text = decode(path.read_bytes(), file=name)
        sure = {form.name: form.sniff(text) for form in FORMATS}
        expected = "lspci-tree" if name in TREES else FOLDERS[folder]
        found = {form for form, certain in sure.items() if certain}
        # nccl-tests prints the library's log where it is asked for.
        assert found - {"nccl-log"} == {expected}, name
        if expected != "nccl-tests":
            assert found == {expected}, name
            assert evidence(name).format == expected


@pytest.mark.parametrize("folder", ["nccl-info-log", "nccl-graph-xml"])
def test_logs_of_the_library_are_no_output_of_a_host_tool(folder: str) -> None:
    library = {"nccl-tests", "nccl-log", "nccl-graph", "nccl-xml"}
    for path in sorted(shared("samples", folder).iterdir()):
        text = decode(path.read_bytes(), file=path.name)
        assert {form.name for form in FORMATS if form.sniff(text)} <= library, path.name


# NVLinks


def test_two_of_eighteen_links_are_shown_so_that_nothing_is_counted() -> None:
    name = "nvidia-smi-nvlink/01-status-ellipsis.txt"
    assert set(values(name, "rate_GBps").values()) == {26.562}
    assert set(values(name, "state")) == {"gpu0 link0", "gpu0 link17"}
    assert not values(name, "nvlinks")
    assert codes(name) == {"lines-left-out"}


def test_six_links_of_each_v100_are_up_and_the_last_gpu_is_cut() -> None:
    name = "nvidia-smi-nvlink/02-v100-six-links.txt"
    assert values(name, "nvlinks") == values(name, "nvlinks_active") == {"gpu0": 6, "gpu1": 6}
    assert codes(name) == {"links-cut"}


def test_gpu3_has_four_of_six_links() -> None:
    name = "nvidia-smi-nvlink/03-inactive.txt"
    assert values(name, "nvlinks") == {"gpu3": 6}
    assert values(name, "nvlinks_active") == {"gpu3": 4}
    down = {subject for subject, state in values(name, "state").items() if state == "inactive"}
    assert down == {"gpu3 link3", "gpu3 link5"}


# AMD


def test_four_apus_are_fully_joined_and_have_a_numa_node_each() -> None:
    name = "rocm-smi-topo/01-mi250-4xgmi-numa4.txt"
    assert Counter(values(name, "rocm_link").values()) == {"XGMI": 12}
    assert set(values(name, "weight").values()) == {15}
    assert values(name, "numa") == {f"gpu{k}": k for k in range(4)}


def test_two_hives_of_four_meet_over_pcie() -> None:
    links = values("rocm-smi-topo/03-two-hives-pcie.txt", "rocm_link")
    for pair, word in links.items():
        a, b = (int(end[3:]) for end in pair.split(">"))
        assert word == ("XGMI" if a // 4 == b // 4 else "PCIE")


def test_each_mi300x_has_seven_xgmi_links() -> None:
    links = values("rocm-smi-topo/04-mi300x-8-full.txt", "rocm_link")
    assert Counter(pair.split(">")[0] for pair in links) == {f"gpu{k}": 7 for k in range(8)}
    assert set(links.values()) == {"XGMI"}


def test_one_gpu_of_a_virtual_machine_has_no_pair() -> None:
    name = "rocm-smi-topo/06-sglang-1gpu.txt"
    assert values(name, "index") == {"gpu0": 0}
    assert not values(name, "rocm_link")


def test_numa_nodes_without_a_matrix() -> None:
    numa = values("rocm-smi-topo/07-showtoponuma.txt", "numa")
    assert numa == {f"gpu{k}": k // 4 for k in range(8)}


# Copies


def test_a_gh200_copies_over_c2c_and_waives_what_needs_two_gpus() -> None:
    name = "nvbandwidth/01-gh200-waived.txt"
    assert values(name, "model") == {"gpu0": "NVIDIA GH200 480GB"}
    assert rates(name, "h2d")[0] == pytest.approx(369.36)
    assert rates(name, "h2d")[-1] == pytest.approx(372.33)
    both = values(name, "host_to_device_bidirectional_memcpy_ce_GBps")
    assert both == {"host>gpu0": 176.92}
    back = values(name, "device_to_host_bidirectional_memcpy_ce_GBps")
    assert back == {"gpu0>host": 187.26}
    assert not rates(name, "p2p_copy")
    assert codes(name) == {"waived", "devices-differ", "size-usual"}
    assert values(name, "host_device_latency_sm_ns") == {"host>gpu0": 772.58}


def test_eight_a100_give_276_in_each_pair() -> None:
    name = "nvbandwidth/02-a100x8-readme.txt"
    pairs = rates(name, "p2p_copy")
    assert len(pairs) == 49
    assert min(pairs) > 274
    assert max(pairs) < 277
    # The arrow of a write points to the row.
    written = values(name, "device_to_device_memcpy_write_ce_GBps")
    assert written["gpu0>gpu6"] == 274.89


def test_a_gb300_station_gives_359_and_377_over_c2c() -> None:
    name = "nvbandwidth/03-gb300-station-h2d.txt"
    assert rates(name, "h2d") == [pytest.approx(359.05)]
    assert rates(name, "d2h") == [pytest.approx(377.15)]
    assert set(values(name, "device_to_host_bidirectional_memcpy_ce_GBps").values()) == {171.76}


def test_json_gives_394_in_both_directions() -> None:
    name = "nvbandwidth/04-json-shape.json"
    assert rates(name, "p2p_copy") == [pytest.approx(394.21), pytest.approx(394.36)]
    assert values(name, "bus_id") == {"gpu0": "0000:1b:00.0", "gpu1": "0000:43:00.0"}
    assert values(name, "status")["test host_to_device_memcpy_sm"] == "waived"


def test_two_4090_cannot_reach_each_other() -> None:
    name = "p2pBandwidthLatencyTest/01-4090-cannot-access.txt"
    assert set(values(name, "p2p_access").values()) == {False}
    assert values(name, "bus_id") == {"gpu0": "0000:81:00.0", "gpu1": "0000:c1:00.0"}
    assert rates(name, "p2p_copy") == [pytest.approx(20.91), pytest.approx(22.36)]
    assert values(name, "p2p_on_us")["gpu0>gpu1"] == 13.10
    assert values(name, "local_GBps")["gpu0"] == 909.49


def test_bridges_join_gpus_0_1_and_2_3_only() -> None:
    name = "p2pBandwidthLatencyTest/02-a100-nvlink-pairs.txt"
    reached = {pair for pair, can in values(name, "p2p_access").items() if can}
    assert reached == {"gpu0>gpu1", "gpu1>gpu0", "gpu2>gpu3", "gpu3>gpu2"}
    fast = {pair for pair, rate in values(name, "p2p_on_GBps").items() if float(str(rate)) > 200}
    assert fast == reached
    assert values(name, "local_GBps")["gpu3"] == 1511.12


def test_gpu0_is_slower_to_every_peer_by_the_same_share() -> None:
    name = "p2pBandwidthLatencyTest/03-8gpu-one-slower-pair.txt"
    both = {pair: float(str(v)) for pair, v in values(name, "p2p_on_both_GBps").items()}
    assert len(both) == 56
    slow = {pair for pair, rate in both.items() if rate < 450}
    assert slow == {pair for pair in both if "gpu0" in pair.split(">")}
    share = max(both[pair] for pair in slow) / min(
        rate for p, rate in both.items() if p not in slow
    )
    assert share == pytest.approx(10 / 12, abs=0.02)
    # Rows whose title is cut off are those that come before.
    cut = [f for f in evidence(name).facts if f.attribute == "p2p_off_both_GBps"]
    assert cut
    assert all(fact.inferred for fact in cut)


def test_twelve_gpus_of_a_dgx2_give_270_in_both_directions() -> None:
    name = "p2pBandwidthLatencyTest/04-12gpu-bidir.txt"
    both = rates(name, "p2p_copy", both=True)
    assert len(both) == 33
    assert min(both) > 269
    assert max(both) < 274
    ends = {end for pair in values(name, "p2p_on_both_GBps") for end in pair.split(">")}
    assert len(ends) == 12


# PCIe


def test_only_bridges_that_redirect_stand_in_the_way() -> None:
    name = "lspci/03-acs-enabled.txt"
    assert list(values(name, "acs_redirect").values()) == [True, False, False]
    assert list(values(name, "acs_validate").values()) == [True, False, True]


def test_an_idle_4090_lowers_its_speed_and_keeps_its_lanes() -> None:
    name = "lspci/04-lnksta-idle-downgraded.txt"
    assert list(values(name, "link_max_GTps").values()) == [16.0]
    assert list(values(name, "link_GTps").values()) == [2.5]
    assert list(values(name, "speed_downgraded").values()) == [True]
    assert list(values(name, "width_downgraded").values()) == [False]


def test_nothing_is_plugged_into_an_unused_port() -> None:
    name = "lspci/05-lnksta-bridge.txt"
    assert list(values(name, "link_active").values()) == [False]
    assert list(values(name, "link_max_lanes").values()) == [1]


def test_a_nic_and_two_gpus_hang_below_one_switch() -> None:
    name = "lspci/06-tv-tree-v100-vf.txt"
    parents = values(name, "parent")
    ports = {parents[f"pci 0000:{bus}:00.0"] for bus in ("5c", "60")}
    switch = {parents[str(port)] for port in ports}
    assert len(switch) == 1
    function = next(subject for subject in parents if subject.startswith("pci ?:03.4"))
    assert parents[str(parents[function])] in switch
    assert codes(name) == {"tree-cut"}


def test_two_gpus_hang_below_two_root_ports_of_one_host_bridge() -> None:
    name = "lspci/07-t-tree-trx.txt"
    parents = values(name, "parent")
    roots = [parents[f"pci 0000:{bus}:00.0"] for bus in ("01", "02")]
    assert roots == ["pci 0000:00:01.1", "pci 0000:00:03.1"]
    assert {parents[str(root)] for root in roots} == {"host 0000:00"}
    assert parents["pci 0000:63:00.0"] == "pci 0000:62:00.0"


def test_a_gen4_switch_halves_what_two_gen5_gpus_get() -> None:
    name = "dmesg/01-pcie-limited-by.txt"
    assert values(name, "pcie_limit_GTps") == {"pci 0000:04:00.0": 16.0, "pci 0000:8b:00.0": 16.0}
    assert values(name, "pcie_limit_at")["pci 0000:04:00.0"] == "pci 0000:01:00.0"
    rate, most = values(name, "pcie_Gbps"), values(name, "pcie_max_Gbps")
    shares = [float(str(rate[device])) / float(str(most[device])) for device in rate]
    assert shares == [pytest.approx(0.5, rel=1e-3)] * 2


# hwloc


def test_a_dgx2_has_sixteen_gpus_with_six_links_each() -> None:
    name = "lstopo-xml/01-dgx2.xml"
    assert set(values(name, "model").values()) >= {"Tesla V100-SXM3-32GB-H"}
    parents, buses = values(name, "parent"), values(name, "bus_id")
    assert len(buses) == 16
    place = {gpu: str(parents[f"pci {bus}"]) for gpu, bus in buses.items()}
    switch = {gpu: parents[port] for gpu, port in place.items()}
    assert switch["gpu0"] == switch["gpu1"] != switch["gpu2"]
    links = Counter(pair.split(">")[0] for pair in values(name, "nvlink_MBps"))
    assert links == {f"gpu{k}": 6 for k in range(16)}
    (machine,) = machines_of_xml(as_topology(evidence(name)))
    assert machine.gpu == "v100-sxm3"
    assert len(machine.unit.of_kind(ComponentKind.GPU)) == 16
    assert len(machine.unit.of_kind(ComponentKind.NVSWITCH)) == 12


def test_a_minsky_has_nvlink_inside_the_socket_and_to_the_processor_only() -> None:
    name = "lstopo-xml/02-power8-p100.xml"
    links = values(name, "nvlink_MBps")
    between = {pair for pair in links if ">gpu" in pair}
    assert between == {"gpu0>gpu1", "gpu1>gpu0", "gpu2>gpu3", "gpu3>gpu2"}
    to_cpu = {pair for pair in links if ">cpu" in pair}
    assert to_cpu == {"gpu0>cpu0", "gpu1>cpu0", "gpu2>cpu1", "gpu3>cpu1"}
    assert set(links.values()) == {40000}


def test_a_dgx_spark_shows_its_processor_only() -> None:
    name = "lstopo-xml/03-dgx-spark-gb10.xml"
    assert not values(name, "bus_id")
    assert codes(name) == {"no-gpu"}


# InfiniBand


def test_of_three_adapters_one_is_usable_at_200() -> None:
    name = "ibstat-ibdev2netdev/02-ibstat-mixed-hcas.txt"
    assert values(name, "rate_Gbps") == {"port mlx5_0/1": 200.0}
    assert values(name, "up") == {
        "port mlx5_0/1": True,
        "port mlx5_1/1": False,
        "port mlx5_2/1": True,
    }
    assert values(name, "lid") == {"port mlx5_0/1": 569}
    assert values(name, "model")["hca mlx5_2"] == "ConnectX-4 Lx"


def test_two_ports_of_one_card_share_its_image() -> None:
    name = "ibstat-ibdev2netdev/04-ibstat-roce-dual-port.txt"
    images = values(name, "image_guid")
    assert images["hca mlx5_0"] == images["hca mlx5_1"]
    assert values(name, "link_layer") == {
        "port mlx5_0/1": "ethernet",
        "port mlx5_1/1": "ethernet",
    }
    assert values(name, "rate_Gbps") == {"port mlx5_0/1": 200.0, "port mlx5_1/1": 200.0}
    assert values(name, "physical")["port mlx5_10/1"] == "disabled"


def test_an_adapter_is_gone_from_the_bus() -> None:
    name = "ibstat-ibdev2netdev/05-ibstat-ibpanic.txt"
    assert values(name, "missing") == {"hca mlx5_8": True}
    assert codes(name) == {"hca-missing"}
    assert values(name, "rate_Gbps") == {"port mlx5_7/1": 200.0}


def test_a_port_trains_and_gets_no_link() -> None:
    name = "ibstat-ibdev2netdev/06-ibstat-down-polling.txt"
    assert values(name, "physical") == {"port ?/1": "polling"}
    assert values(name, "up") == {"port ?/1": False}


def test_a_port_of_ibv_devinfo_is_down_and_states_no_lid() -> None:
    name = "ibstat-ibdev2netdev/07-ibv_devinfo-portdown.txt"
    assert values(name, "up") == {"port mlx5_0/1": False}
    assert values(name, "node_guid") == {"hca mlx5_0": "0x0200000000000001"}
    assert not values(name, "lid")


def test_an_adapter_that_sees_no_fabric() -> None:
    name = "ibnetdiscover/02-topograph-single-ca.txt"
    assert values(name, "name") == {"ca 0x0200000000000001": "dgx-gb200-n01-c1 HCA-1"}
    assert codes(name) == {"no-links"}


def test_guids_are_one_number_however_they_are_written() -> None:
    name = "ibnetdiscover/03-superbench-faked.txt"
    links = values(name, "link")
    assert set(links.values()) == {"4xHDR"}
    assert set(values(name, "rate_Gbps").values()) == {200.0}
    # Each host's cable is seen from both of its ends.
    hosts = {node for node in values(name, "ports") if node.startswith("ca ")}
    assert len(hosts) == 10
    for host in hosts:
        assert sum(pair.startswith(f"{host}/") for pair in links) == 1
        assert sum(f">{host}/" in pair for pair in links) == 1
    assert values(name, "aggregation") == {"ca 0x0200000000000005": True}


def test_unconnected_ports_are_down_and_not_slow() -> None:
    name = "ibnetdiscover/04-exporter-p-format.txt"
    assert set(values(name, "rate_Gbps").values()) == {100.0}
    assert values(name, "state") == {
        "switch 0x0200000000000005/37": "unknown",
        "switch 0x0200000000000007/80": "down",
    }


def test_names_lose_their_blanks() -> None:
    name = "ibnetdiscover/05-exporter-p-format-quirks.txt"
    names = set(values(name, "name").values())
    assert {"leaf-IB01", "spine-IB02", "worker20 mlx5_3"} <= names
    assert set(values(name, "link").values()) == {"4xHDR"}
    assert values(name, "aggregation") == {"ca 0x0200000000000001": True}


def test_counters_of_a_healthy_port() -> None:
    name = "perfquery/01-port-counters.txt"
    found = evidence(name)
    assert found.value("lid 134/1", "xmit_B") == 4 * 9049592493976
    errors = ("Error", "Recovery", "Downed", "Discards", "Overrun", "Dropped")
    counters = {f.attribute: f.value for f in found.facts}
    assert not any(value for key, value in counters.items() if any(e in key for e in errors))


def test_a_loopback_fills_an_hdr_port_and_counts_once() -> None:
    (measured,) = measurements("perftest/01-loopback-both-sides-one-log.txt")
    (row,) = measured.rows
    assert measured.operation == "rdma_write"
    assert (row.algbw or 0) * 8 / 1e9 == pytest.approx(201.8, abs=0.05)
    assert codes("perftest/01-loopback-both-sides-one-log.txt") == {"row-twice"}


def test_an_interleaved_sweep_is_one() -> None:
    (measured,) = measurements("perftest/02-loopback-interleaved.txt")
    assert [row.size for row in measured.rows] == [2**k for k in range(1, 24)]
    assert (measured.rows[-1].algbw or 0) / 2**20 == pytest.approx(23240.68)


def test_both_directions_of_two_roce_ports_sum_to_204() -> None:
    name = "perftest/03-bidir-rocm-gbits.txt"
    (measured,) = measurements(name)
    assert measured.bidirectional
    assert (measured.rows[-1].algbw or 0) * 8 / 1e9 == pytest.approx(204.59)
    assert evidence(name).value("perftest", "memory") == "rocm"
    assert evidence(name).value("perftest", "link_layer") == "ethernet"
    assert codes(name) == set()


def measurements(name: str) -> tuple[Measurement, ...]:
    return evidence(name).measurements


def test_the_fan_of_an_unmanaged_switch_has_failed() -> None:
    found = evidence("ibswinfo/01-switch.txt")
    switch = "switch 0x0200000000000001"
    assert found.value(switch, "fan_status") == "ERROR"
    assert found.value(switch, "psu0_status") == found.value(switch, "psu0_fan_status") == "OK"
    assert found.value(switch, "ports") == 36


# Slurm and simulators


def test_a_tree_of_four_levels() -> None:
    found = evidence("slurm-topology-conf/01-tree-tc1.conf")
    assert found.value("topology", "roots") == 1
    assert found.value("topology", "levels") == 4
    levels = Counter(values(found.file, "level").values())
    assert levels == {3: 1, 2: 2, 1: 26, 0: 500}
    assert found.value("topology", "node_count") == 10000


def test_an_unbalanced_tree_has_leaves_at_two_depths() -> None:
    name = "slurm-topology-conf/02-tree-tc2.conf"
    parents = values(name, "parent")

    def depth(switch: str) -> int:
        above = parents.get(f"switch {switch}")
        return 0 if above is None else 1 + depth(str(above))

    leaves = [subject.removeprefix("switch ") for subject in values(name, "nodes")]
    assert {depth(leaf) for leaf in leaves} == {2, 3}


def test_nodes_below_three_roots_share_no_switch() -> None:
    name = "slurm-topology-conf/03-tree-tc6.conf"
    assert evidence(name).value("topology", "roots") == 3
    assert codes(name) == {"no-common-root"}


def test_comments_give_the_real_names_of_switches() -> None:
    name = "slurm-topology-conf/05-topograph-tree.conf"
    assert evidence(name).value("topology", "levels") == 3
    assert evidence(name).value("switch switch.1.1", "real_name") == "leaf-1-1"
    assert evidence(name).value("switch switch.1.1", "parent") == "switch.2.1"


def test_the_sizes_of_all_dimensions_multiply() -> None:
    counts = {
        name: evidence(f"astra-sim/{name}").value("network", "npus")
        for name in ("01-hgx_h100_16gpu.yml", "03-HGX-H100-validated.yml")
    }
    assert list(counts.values()) == [16, 8]
    assert evidence("astra-sim/04-tpu_v3_32_2dtorus.yml").value("network", "npus") == 32
    first = values("astra-sim/01-hgx_h100_16gpu.yml", "bandwidth_GBps")
    assert first == {"dimension 0": 400.0, "dimension 1": 50.0}


def test_a_placeholder_is_no_bandwidth() -> None:
    name = "astra-sim/02-dgx_v100_8gpu.yml"
    assert codes(name) == {"placeholder"}
    assert not values(name, "bandwidth_GBps")
