"""What a call puts on every link: bytes that add up, and a bottleneck that is the forecast's."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from collectives.bound_cases import many, preset_cluster, switched
from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.loads import LoadReport, load_report, loads_of
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, build_cluster, changed, everyone
from wirespeed.topology.fabrics.generic import FAT_TREE, SINGLE

SIZE = 2**30
EVERY = list(Operation)


def forced(cluster: Cluster, *settings: str) -> Cluster:
    return changed(cluster, map(parse_change, settings))


def test_a_ring_puts_the_same_on_every_nic_of_one_switch() -> None:
    cluster = forced(many(switched(1, nvlink=0), 8, SINGLE), "algo=Ring", "proto=Simple")
    report = load_report(Collective(Operation.ALL_REDUCE), cluster, everyone(cluster), SIZE)
    rows = {row.name: row for row in report.rows}
    for name in ("node0/nic0>leaf0", "leaf0>node0/nic0"):
        assert rows[name].count == 8
        assert rows[name].bytes == pytest.approx(2 * 7 / 8 * SIZE)
        assert rows[name].bandwidth_GBps == 50


@pytest.mark.parametrize("operation", EVERY)
@pytest.mark.parametrize(
    ("name", "nodes"),
    [("dgx-h100", 1), ("dgx-h100", 4), ("dgx-1v", 1), ("pcie-8x-a100-dual-root", 1)],
)
def test_the_busiest_resource_is_the_bottleneck_of_the_forecast(
    name: str, nodes: int, operation: Operation
) -> None:
    cluster = preset_cluster(name, nodes)
    group, collective = everyone(cluster), Collective(operation)
    (row,) = forecast(collective, cluster, [SIZE]).rows
    loads = loads_of(collective, cluster, group, SIZE)
    assert loads.time * 1e6 == pytest.approx(row.time_us)
    worst = loads.candidate.bottleneck
    assert loads.busy.max() <= loads.time * (1 + 1e-9)
    assert loads.share(cluster.topology).max() <= 1 + 1e-9
    if worst < 0:
        # A few channels for each peer are slower than any link.
        assert row.bottleneck == "channels"
        return
    assert loads.busy[worst] == pytest.approx(loads.busy.max())
    assert loads.share(cluster.topology)[worst] == pytest.approx(row.wire_share)


def test_in_an_alltoall_each_gpu_sends_all_but_its_own_part() -> None:
    cluster = build_cluster(switched(8))
    loads = loads_of(Collective(Operation.ALLTOALL), cluster, everyone(cluster), SIZE)
    topology = cluster.topology
    for gpu in everyone(cluster).gpus:
        for mine in (topology.source == gpu, topology.target == gpu):
            assert loads.payload[: topology.links][mine].sum() == pytest.approx(7 / 8 * SIZE)


def test_what_enters_a_switch_leaves_it() -> None:
    cluster = many(switched(8), 16, FAT_TREE)
    loads = loads_of(Collective(Operation.ALLTOALL), cluster, everyone(cluster), SIZE)
    topology = cluster.topology
    into = np.bincount(topology.target, loads.payload[: topology.links], topology.components)
    out = np.bincount(topology.source, loads.payload[: topology.links], topology.components)
    switches = topology.node < 0
    assert into[switches] == pytest.approx(out[switches])


def test_alike_links_are_one_row_and_a_slow_one_has_a_row_of_its_own() -> None:
    cluster = forced(many(switched(8), 8, FAT_TREE), "algo=Ring", "proto=Simple")
    collective, group = Collective(Operation.ALL_REDUCE), everyone(cluster)
    top = load_report(collective, cluster, group, SIZE, top=1).rows[0]
    assert top.count == 64
    assert top.kind == "network"
    slow = forced(cluster, "node3/nic2>leaf2=0.5")
    first = load_report(collective, slow, group, SIZE, top=1).rows[0]
    assert (first.name, first.count) == ("node3/nic2>leaf2", 1)
    assert first.busy_us == pytest.approx(2 * top.busy_us)


def test_a_drawing_finds_shares_by_address() -> None:
    cluster = build_cluster(switched(8))
    loads = loads_of(Collective(Operation.ALL_REDUCE), cluster, everyone(cluster), SIZE)
    shares = loads.share_by_address(cluster.topology)
    assert set(shares) >= {"node0/gpu0>node0/nvswitch0", "node0/nvswitch0>node0/gpu0"}
    assert all(0 < share <= 1 for share in shares.values())


def test_a_report_goes_to_json_and_back() -> None:
    cluster = build_cluster(switched(8))
    report = load_report(Collective(Operation.ALL_REDUCE), cluster, everyone(cluster), SIZE)
    assert msgspec.json.decode(msgspec.json.encode(report), type=LoadReport) == report
