"""Every capability and setting moves a forecast the right way somewhere, or says it does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from collectives.collective_cases import PLATEAU, build, cluster, group, machine, rows
from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.comparison.bands import with_bands
from wirespeed.errors import Infeasible
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, build_cluster, changed, everyone
from wirespeed.topology.fabrics.table import fabric_from_table

LARGE = PLATEAU
HCA = "env:NCCL_IB_HCA=mlx5_0"
SHARP = "env:NCCL_COLLNET_ENABLE=1"

# operation, preset, nodes, bytes, what is given besides, the change, at least so much slower
SLOWER = [
    ("all_reduce", "dgx-a100", 2, LARGE, "", "gdr=off", 2),
    ("all_reduce", "dgx-a100", 2, LARGE, "", "acs=on", 1.5),
    ("all_reduce", "dgx-h100", 1, LARGE, "", "p2p=off", 5),
    ("all_reduce", "dgx-h100", 1, LARGE, "", "nvls=off", 1.2),
    ("all_reduce", "dgx-h100", 8, LARGE, SHARP, "sharp=off", 1.2),
    ("all_reduce", "dgx-h100", 4, LARGE, "algo=Ring pxn=off", "cross-nic=off", 1.4),
    ("alltoall", "dgx-h100", 4, LARGE, "routing=rail-only", "pxn=off", 1.2),
    ("alltoall", "dgx-h100", 4, LARGE, "pxn=off", "routing=rail-only", 1.2),
    ("all_reduce", "dgx-h100", 2, LARGE, "", "net=socket", 1.5),
    ("all_reduce", "dgx-h100", 2, LARGE, "", "env:NCCL_NET=Socket", 1.5),
    ("all_reduce", "dgx-h100", 2, LARGE, "", "env:NCCL_IB_DISABLE=1", 1.5),
    ("all_reduce", "dgx-h100", 1, LARGE, "", "algo=Ring", 1.2),
    ("all_reduce", "dgx-h100", 1, LARGE, "", "env:NCCL_ALGO=Ring", 1.2),
    ("all_reduce", "dgx-h100", 1, LARGE, "", "proto=LL", 2),
    ("all_reduce", "dgx-h100", 1, LARGE, "", "env:NCCL_PROTO=LL", 2),
    ("all_reduce", "dgx-h100", 1, LARGE, "algo=Ring", "channels=2", 2),
    ("all_reduce", "dgx-h100", 1, LARGE, "algo=Ring", "env:NCCL_MAX_NCHANNELS=2", 2),
    ("all_reduce", "dgx-h100", 1, LARGE, "", "env:NCCL_MAX_CTAS=2", 2),
    ("sendrecv", "dgx-h100", 2, LARGE, "", "env:NCCL_NCHANNELS_PER_NET_PEER=1", 1.5),
    ("all_reduce", "dgx-h100", 1, LARGE, "", "env:NCCL_NVLS_ENABLE=0", 1.2),
    ("all_reduce", "dgx-h100", 1, LARGE, "", "env:NCCL_P2P_DISABLE=1", 5),
    ("all_reduce", "dgx-h100", 1, LARGE, "", "env:NCCL_P2P_LEVEL=LOC", 5),
    ("all_reduce", "dgx-a100", 2, LARGE, "", "env:NCCL_NET_GDR_LEVEL=LOC", 2),
    ("all_reduce", "dgx-h100", 4, LARGE, "algo=Ring", HCA, 5),
    ("sendrecv", "dgx-h100", 2, LARGE, "", HCA, 1.5),
    ("all_gather", "dgx-a100", 4, LARGE, "", "env:NCCL_IB_HCA=^mlx5_0", 1.05),
    ("all_gather", "dgx-h100", 4, LARGE, "pxn=off", "env:NCCL_CROSS_NIC=0", 1.4),
    ("all_gather", "dgx-h100", 4, LARGE, "cross-nic=off", "env:NCCL_PXN_DISABLE=1", 1.4),
    ("all_reduce", "gb200-nvl72", 36, LARGE, "", "env:NCCL_MNNVL_ENABLE=0", 2),
]

NOT_MODELLED = [
    "NCCL_SHM_DISABLE=1",
    "NCCL_IB_QPS_PER_CONNECTION=4",
    "NCCL_IB_SPLIT_DATA_ON_QPS=1",
    "NCCL_BUFFSIZE=8388608",
    "NCCL_TUNER_PLUGIN=ofi",
]


# operation, preset, nodes, the change, words of the notice that says why it does nothing there
UNHEEDED = [
    ("alltoall", "dgx-h100", 1, "proto=LL", "sends and receives"),
    ("sendrecv", "dgx-h100", 2, "env:NCCL_PROTO=LL128", "sends and receives"),
    ("alltoall", "dgx-h100", 1, "env:NCCL_ALGO=Ring", "sends and receives"),
    ("all_reduce", "dgx-h100", 2, "env:NCCL_TOPO_FILE=topo.xml", "give it as the source"),
    ("all_reduce", "dgx-h100", 2, "env:NCCL_GRAPH_FILE=graph.xml", "give it as the source"),
    ("all_reduce", "mi300x-8", 1, "env:NCCL_NVLS_ENABLE=0", "RCCL has nothing"),
    ("all_reduce", "dgx-h100", 1, "env:RCCL_MSCCL_ENABLE=1", "NCCL has nothing"),
    ("all_reduce", "dgx-h100", 1, "env:NCCL_MIN_NCHANNELS=32", "32 channels are opened"),
    ("all_gather", "dgx-a100", 1, "env:NCCL_MIN_CTAS=32", "32 channels are opened"),
]

PROMISED = (
    *("NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"),
    *("NCCL_SHM_DISABLE", "NCCL_NET_GDR_LEVEL", "NCCL_IB_HCA", "NCCL_CROSS_NIC"),
    *("NCCL_PXN_DISABLE", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS"),
    *("NCCL_MAX_CTAS", "NCCL_NCHANNELS_PER_NET_PEER", "NCCL_IB_QPS_PER_CONNECTION"),
    *("NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_COLLNET_ENABLE", "NCCL_MNNVL_ENABLE"),
)


def test_every_setting_acts_somewhere_or_says_why_it_does_not():
    acting = (row[5] + row[4] for row in SLOWER)
    said = " ".join([*acting, *NOT_MODELLED, *(row[3] for row in UNHEEDED)])
    assert [name for name in PROMISED if name not in said] == []


@pytest.mark.parametrize(("operation", "name", "nodes", "change", "words"), UNHEEDED)
def test_what_is_not_heeded_is_said_with_the_reason(operation, name, nodes, change, words):
    base = cluster(name, nodes)
    after = changed(base, [parse_change(change)])
    asked = Collective(Operation(operation))
    before, told = forecast(asked, base, [LARGE]), forecast(asked, after, [LARGE])
    assert told.rows[0].time_us == before.rows[0].time_us
    new = [n for n in told.warnings if n not in before.warnings]
    assert len(new) == 1
    assert words in new[0].text


def test_a_list_of_devices_that_are_not_there_means_sockets():
    base = cluster("dgx-h100", 2)
    named, socket = (
        changed(base, [parse_change(text)])
        for text in ("env:NCCL_IB_HCA=mlx9_7", "env:NCCL_NET=Socket")
    )
    told = forecast(Collective(Operation.ALL_REDUCE), named, [LARGE])
    assert told.rows[0].time_us == seconds("all_reduce", socket, LARGE)
    (notice,) = told.warnings
    assert notice.code == "no-such-device"
    assert "mlx5_0" in notice.text


def seconds(operation: str, on: Cluster, size: int) -> float:
    """Time of a message."""
    (row,) = forecast(Collective(Operation(operation)), on, [size]).rows
    return row.time_us


@pytest.mark.parametrize(
    ("operation", "name", "nodes", "size", "given", "change", "factor"), SLOWER
)
def test_a_change_makes_it_slower(operation, name, nodes, size, given, change, factor):
    units = nodes // machine(name).unit.nodes
    base = cluster(name, units, *given.split())
    after = cluster(name, units, *given.split(), *change.split())
    assert seconds(operation, after, size) >= factor * seconds(operation, base, size)


@pytest.mark.parametrize("setting", ["NCCL_NET=IB", "NCCL_CROSS_NIC=1", "NCCL_IB_HCA=mlx5"])
def test_what_is_usual_changes_nothing(setting):
    base = cluster("dgx-h100", 2)
    after = changed(base, [parse_change(f"env:{setting}")])
    for operation in ("all_reduce", "alltoall"):
        assert seconds(operation, after, LARGE) == pytest.approx(seconds(operation, base, LARGE))


def test_flows_that_hash_onto_one_cable_are_slower_than_sprayed():
    """Every node sends to the one in the other half: all flows cross the spines."""
    design = fabric_from_table({"kind": "leaf-spine", "radix": 32}, "[fabric]")
    base = build_cluster(machine("dgx-h100"), nodes=8, fabric=("plain", design))
    base = changed(base, [parse_change("algo=Ring")])
    times = {}
    for routing in ("static", "ecmp", "spray"):
        on = changed(base, [parse_change(f"routing={routing}")])
        times[routing] = seconds("all_reduce", on, LARGE)
    assert times["ecmp"] > 1.2 * times["spray"]
    assert times["spray"] <= times["static"] * (1 + 1e-9)


@pytest.mark.parametrize("setting", NOT_MODELLED)
def test_what_does_not_act_is_said_and_widens_the_band(setting):
    base = cluster("dgx-h100", 2)
    after = changed(base, [parse_change(f"env:{setting}")])
    asked = Collective(Operation.ALL_REDUCE)
    told = forecast(asked, after, [LARGE])
    assert [n.code for n in told.warnings] == ["setting-not-modelled"]
    assert setting in told.warnings[0].text
    assert width(told, after) > width(forecast(asked, base, [LARGE]), base)


@pytest.mark.parametrize("buffers", [{"registered": True}, {"symmetric": True}])
def test_buffers_of_another_kind_widen_the_band(buffers):
    on = cluster("dgx-h100")
    usual = forecast(Collective(Operation.ALL_REDUCE), on, [LARGE])
    other = forecast(Collective(Operation.ALL_REDUCE, **buffers), on, [LARGE])
    assert [n.code for n in other.warnings] == ["buffers-not-modelled"]
    assert next(iter(buffers)) in other.warnings[0].text
    assert width(other, on) > width(usual, on)


def width(made, on: Cluster) -> float:
    """The upper end of the band over its lower end."""
    (row,) = with_bands(made, on, everyone(on)).rows
    return row.high_us / row.low_us


def test_calls_from_a_thread_and_from_a_graph_differ():
    on = cluster("dgx-h100")
    times = [
        forecast(Collective(Operation.ALL_REDUCE, launch=launch), on, [8]).rows[0].time_us
        for launch in ("process", "thread", "graph")
    ]
    assert times[1] > times[0]
    assert times[2] <= times[0] * 1.01


def test_peer_to_peer_switched_on_is_what_a_driver_with_it_reaches():
    """8x RTX 4090: 14.5 GB/s with the stock driver, 20.6 with a patched one."""
    base = cluster("pcie-8x-rtx4090")
    after = changed(base, [parse_change("p2p=on")])
    patched = build(replace(machine("pcie-8x-rtx4090"), peer_to_peer=True))
    times = [seconds("all_reduce", on, LARGE) for on in (base, after, patched)]
    assert times[1] == pytest.approx(times[2])
    assert times[0] / times[1] == pytest.approx(20.6 / 14.5, rel=0.1)
    assert "p2p-refused" in [notice.code for notice in base.warnings]
    assert "p2p-refused" not in [notice.code for notice in after.warnings]


@pytest.mark.parametrize("name", ["dgx-h100", "pcie-8x-a6000"])
def test_peer_to_peer_switched_on_where_it_is_changes_nothing(name):
    after = changed(cluster(name), [parse_change("p2p=on")])
    assert seconds("all_reduce", after, LARGE) == seconds("all_reduce", cluster(name), LARGE)


def test_the_last_word_on_peer_to_peer_counts():
    base = cluster("pcie-8x-rtx4090")
    after = changed(base, [parse_change("p2p=on"), parse_change("p2p=off")])
    assert seconds("all_reduce", after, LARGE) == seconds("all_reduce", base, LARGE)


@pytest.mark.parametrize("change", ["nic=800G", "nics=1"])
def test_a_machine_without_compute_nics_has_none_to_change(change):
    unit = machine("pcie-8x-rtx4090").unit
    without = replace(unit, rail=np.full_like(unit.rail, -1))
    bare = replace(machine("pcie-8x-rtx4090"), unit=without)
    with pytest.raises(Infeasible, match="NIC"):
        build(bare, 1, change)


def test_a_machine_without_nvlink_has_none_to_change():
    with pytest.raises(Infeasible, match="nvlink=2x on pcie-8x-rtx4090"):
        build(machine("pcie-8x-rtx4090"), 1, "nvlink=2x")


def test_both_ways_through_the_host_wait_for_its_memory():
    on = cluster("pcie-8x-rtx4090")
    one, both = (
        rows("p2p_copy", on, [2**28], group(on, [0, 1]), bidirectional=both)[0]
        for both in (False, True)
    )
    assert "cpu" not in one.bottleneck
    assert both.bottleneck.startswith("node0/cpu")
    assert 0 < both.wire_share < 1
