"""No schedule is faster than the bound, and the cut that limits it has a name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from collectives.bound_cases import by_trying_all, many, preset_cluster, switched, two_sockets
from wirespeed.collectives import bounds as bounds_module
from wirespeed.collectives.bounds import bounds_of
from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, Group, build_cluster, changed, everyone
from wirespeed.topology.fabrics.clos import ClosDesign
from wirespeed.topology.fabrics.generic import DRAGONFLY, FAT_TREE, RAIL_OPTIMISED, SINGLE
from wirespeed.topology.fabrics.placement import Placement
from wirespeed.topology.fabrics.sizing import Tier

OPERATIONS = [
    Operation.ALL_REDUCE,
    Operation.ALL_GATHER,
    Operation.REDUCE_SCATTER,
    Operation.BROADCAST,
    Operation.REDUCE,
    Operation.ALLTOALL,
    Operation.SENDRECV,
]
SIZE = 2**30


def under(cluster: Cluster, *changes: str) -> Cluster:
    return changed(cluster, map(parse_change, changes))


def leaf_spine(nodes_per_leaf: int, down: int, up: int) -> ClosDesign:
    return ClosDesign(
        "leaf-spine",
        Placement.NODE,
        leaf=Tier(down + up, down=down, up=up),
        tiers=(2, 2),
        nodes_per_leaf=nodes_per_leaf,
    )


def cases() -> dict[str, Cluster]:
    box = build_cluster(two_sockets())
    limited = build_cluster(two_sockets(root=30e9))
    pair = many(switched(2), 2, FAT_TREE)
    tapered = many(switched(1, nvlink=0), 6, leaf_spine(2, 2, 1))
    return {
        "one switch": build_cluster(switched(5)),
        "two sockets": box,
        "host bridges that limit": limited,
        "a slow socket link one way": under(box, "cpu0>cpu1=0.3"),
        "a lane lost": under(build_cluster(switched(5)), "gpu1-nvswitch0=0.5"),
        "two nodes": pair,
        "a NIC gone": under(pair, "node1/nic0=down"),
        "half a cable": under(pair, "node0/nic0>leaf0=0.5"),
        "2:1 leaf-spine": tapered,
        "2:1 leaf-spine with a leaf at half": under(tapered, "leaf1=0.5"),
        "dragonfly": many(
            switched(1, nvlink=0),
            5,
            replace(DRAGONFLY, ports=1, switches=2, global_ports=1, groups=3, pair_links=1),
        ),
        "rails that meet": many(switched(2), 2, RAIL_OPTIMISED),
        "sockets and nodes": many(two_sockets(gpus=2, between=5e9), 3, RAIL_OPTIMISED),
        "PCIe preset": preset_cluster("hgx-a100-4"),
    }


CASES = cases()


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", CASES)
def test_it_is_what_trying_every_split_finds(
    name: str, operation: Operation, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With help from every switch, cuts are all that there is.
    monkeypatch.setattr(bounds_module, "switches_help", lambda _: frozenset({"unit", "fabric"}))
    cluster, group = whole(CASES[name])
    bounds = bounds_of(operation, cluster, group, root=1)
    assert bounds.network == pytest.approx(by_trying_all(operation, cluster, group, root=1))


def test_one_gpu_of_eight_limits_an_all_reduce_on_nvswitch() -> None:
    bounds = bounds_of(Operation.ALL_REDUCE, *whole(build_cluster(switched(8))))
    assert bounds.with_network(SIZE) == pytest.approx(SIZE / 450e9)
    assert bounds.cut == "gpu: node0/gpu0 against the rest"
    assert bounds.between_gpus(SIZE) == pytest.approx(2 * 7 / 8 * SIZE / 450e9)
    assert "each of 8" in bounds.p2p_cut


@pytest.mark.parametrize(
    ("nodes", "ms"), [(8, 37.5810), (64, 42.2786), (256, 42.7819), (1024, 42.9077), (4096, 42.9392)]
)
def test_on_one_switch_no_all_reduce_by_messages_is_faster_than_a_ring(
    nodes: int, ms: float
) -> None:
    cluster = many(switched(1, nvlink=0), nodes, SINGLE)
    bounds = bounds_of(Operation.ALL_REDUCE, *whole(cluster))
    assert bounds.between_gpus(SIZE) == pytest.approx(2 * (nodes - 1) / nodes * SIZE / 50e9)
    assert bounds.between_gpus(SIZE) * 1e3 == pytest.approx(ms, abs=1e-3)


@pytest.mark.parametrize(("nodes", "ms"), [(64, 5.2848), (256, 5.3477), (1024, 5.3635)])
def test_an_alltoall_takes_what_each_nic_has_to_send(nodes: int, ms: float) -> None:
    cluster = many(switched(1, nvlink=0), nodes, SINGLE)
    bounds = bounds_of(Operation.ALLTOALL, *whole(cluster))
    assert bounds.with_network(2**28) * 1e3 == pytest.approx(ms, abs=1e-4)


@pytest.mark.parametrize(("gpus", "ms"), [(64, 4.6976), (256, 5.2009), (1024, 5.3268)])
def test_an_alltoall_of_nodes_leaves_out_what_stays_inside(gpus: int, ms: float) -> None:
    cluster = many(switched(8), gpus // 8, FAT_TREE)
    bounds = bounds_of(Operation.ALLTOALL, *whole(cluster))
    assert bounds.with_network(2**28) * 1e3 == pytest.approx(ms, abs=1e-4)
    assert bounds.cut == "node: node0 against the rest"


def test_the_sockets_of_a_pcie_box_limit_it() -> None:
    cluster = build_cluster(two_sockets(gpus=8, between=20e9))
    for operation in (Operation.ALL_REDUCE, Operation.ALLTOALL, Operation.REDUCE_SCATTER):
        bounds = bounds_of(operation, *whole(cluster))
        assert bounds.p2p >= bounds.network > 0
    bounds = bounds_of(Operation.ALLTOALL, *whole(cluster))
    assert bounds.cut == "socket: gpus 0–3 against 4–7 of node0"
    assert bounds.with_network(SIZE) == pytest.approx(4 * 4 / 8 * SIZE / 20e9)


@pytest.mark.parametrize("operation", [Operation.ALLTOALL, Operation.ALL_REDUCE])
def test_the_inner_cut_of_a_preset_with_two_pcie_switches_is_named(operation: Operation) -> None:
    able = preset_cluster("pcie-8x-a100-dual-root")
    bounds = bounds_of(operation, *whole(able))
    # All_reduce by messages alone is held up by the GPUs' own links as a whole, or by the sockets.
    assert "socket: gpus 0–3 against 4–7" in bounds.cut or operation is Operation.ALL_REDUCE
    assert bounds.network == bounds.p2p


def test_the_leaf_is_the_limit_where_its_uplinks_are_half() -> None:
    cluster = many(switched(8), 12, leaf_spine(4, 32, 16))
    bounds = bounds_of(Operation.ALLTOALL, *whole(cluster))
    assert bounds.cut == "leaf: nodes 0–3 against the rest"
    # 32 of 96 ranks share 16 cables.
    assert bounds.with_network(SIZE) == pytest.approx(32 * 64 / 96 * SIZE / (16 * 50e9))


def test_the_pod_is_the_limit_where_spines_are_tapered() -> None:
    design = ClosDesign(
        "tapered",
        Placement.NODE,
        leaf=Tier(4, down=2, up=2),
        spine=Tier(6, down=4, up=2),
        core_ports=6,
        tiers=(3, 3),
    )
    cluster = many(switched(1, nvlink=0), 24, design)
    bounds = bounds_of(Operation.ALLTOALL, *whole(cluster))
    assert bounds.cut == "pod: nodes 0–7 against the rest"
    assert bounds.with_network(SIZE) == pytest.approx(8 * 16 / 24 * SIZE / (4 * 50e9))


def test_a_rack_is_named_after_its_nvlink_domain() -> None:
    bounds = bounds_of(Operation.ALLTOALL, *whole(preset_cluster("gb200-nvl72", 36)))
    assert bounds.cut == "NVLink domain: rack0 against the rest"


def test_rails_that_meet_in_the_spines_share_a_leaf_a_rail() -> None:
    design = replace(RAIL_OPTIMISED, leaf=Tier(6, down=4, up=2), tiers=(2, 2))
    cluster = many(switched(2), 12, design)
    bounds = bounds_of(Operation.ALLTOALL, *whole(cluster))
    assert bounds.cut == "leaf: nodes 0–3 against the rest"
    assert bounds.with_network(SIZE) == pytest.approx(8 * 16 / 24 * SIZE / (4 * 50e9))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "change",
    [
        "node0/nic0=down",
        "node1/nic1=0.5",
        "leaf0=0.5",
        "node0/gpu0-node0/nvswitch0=0.5",
        "leaf0>spine0=0.5",
    ],
)
def test_less_capacity_never_makes_it_faster(operation: Operation, change: str) -> None:
    cluster = many(switched(4), 10, RAIL_OPTIMISED)
    before = bounds_of(operation, *whole(cluster))
    after = bounds_of(operation, *whole(under(cluster, change)))
    assert after.network >= before.network * (1 - 1e-12)
    assert after.p2p >= before.p2p * (1 - 1e-12)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_twice_the_capacity_takes_half_the_time(operation: Operation) -> None:
    cluster = many(switched(4), 10, RAIL_OPTIMISED)
    topology = cluster.topology
    twice = replace(cluster, topology=replace(topology, capacity=topology.capacity * 2))
    one, other = bounds_of(operation, *whole(cluster)), bounds_of(operation, *whole(twice))
    assert (other.network * 2, other.p2p * 2) == pytest.approx((one.network, one.p2p))


@pytest.mark.parametrize("operation", [op for op in OPERATIONS if op is not Operation.SENDRECV])
def test_the_order_of_ranks_does_not_matter(operation: Operation) -> None:
    cluster = many(switched(4), 10, RAIL_OPTIMISED)
    gpus = everyone(cluster).gpus
    mixed = np.concatenate([gpus[:1], np.random.default_rng(1).permutation(gpus[1:])])
    before, after = (
        bounds_of(operation, cluster, Group(gpus)),
        bounds_of(operation, cluster, Group(mixed)),
    )
    assert (after.network, after.p2p) == pytest.approx((before.network, before.p2p))


def test_a_root_behind_a_slow_link_holds_up_a_broadcast_and_another_does_not() -> None:
    cluster = under(build_cluster(switched(4)), "gpu2>nvswitch0=0.1", "gpu2>pcie2=0.1")
    group = everyone(cluster)
    slow, fast = (bounds_of(Operation.BROADCAST, cluster, group, root=r) for r in (2, 0))
    assert slow.network == pytest.approx(10 * fast.network)


def test_a_dragonfly_too_dense_to_search_still_has_the_bounds_of_its_nodes() -> None:
    cluster = many(switched(8), 2, DRAGONFLY)
    for operation in OPERATIONS:
        bounds = bounds_of(operation, *whole(cluster))
        assert 0 < bounds.with_network(SIZE) < np.inf, operation
        assert bounds.cut


def test_without_switches_that_add_up_both_bounds_are_one() -> None:
    cluster = build_cluster(switched(8, gpu="a100"))
    bounds = bounds_of(Operation.ALL_REDUCE, *whole(cluster))
    assert bounds.network == bounds.p2p
    off = under(build_cluster(switched(8)), "nvls=off")
    assert bounds_of(Operation.ALL_REDUCE, *whole(off)) == bounds


def test_nodes_need_messages_of_their_own_without_sharp() -> None:
    cluster = many(switched(8), 16, FAT_TREE)
    able = bounds_of(Operation.ALL_REDUCE, *whole(cluster))
    unable = bounds_of(Operation.ALL_REDUCE, *whole(under(cluster, "sharp=off")))
    assert able.with_network(SIZE) == pytest.approx(SIZE / 400e9)
    assert unable.with_network(SIZE) == pytest.approx(2 * 15 / 16 * SIZE / 400e9)
    assert able.p2p == unable.p2p


def test_a_copy_may_use_every_link_between_its_ends() -> None:
    cluster = preset_cluster("dgx-h100")
    bounds = bounds_of(Operation.P2P_COPY, *whole(cluster))
    assert bounds.with_network(SIZE) == pytest.approx(SIZE / (450e9 + 63e9), rel=1e-3)
    assert bounds.cut == "copy: node0/gpu0 against node0/gpu1"


def test_an_upload_is_held_up_by_memory_or_links() -> None:
    cluster = preset_cluster("hgx-a100-4")
    assert bounds_of(Operation.H2D, *whole(cluster)).cut.startswith("memory: node0/cpu")


def test_a_group_on_some_nodes_is_not_helped_by_the_others() -> None:
    cluster = many(switched(8), 16, FAT_TREE)
    group = Group(everyone(cluster).gpus[:16])
    bounds = bounds_of(Operation.ALLTOALL, cluster, group)
    assert bounds.with_network(SIZE) == pytest.approx(8 * 8 / 16 * SIZE / 400e9)


def test_a_forecast_names_the_cut_beside_its_cluster() -> None:
    cluster = build_cluster(switched(8))
    (row,) = forecast(Collective(Operation.ALL_REDUCE), cluster, [SIZE]).clusters
    assert row.bound_cut == "gpu: node0/gpu0 against the rest"
    assert row.bound_p2p_cut.startswith("gpu: each of 8 against the rest")


def whole(cluster: Cluster) -> tuple[Cluster, Group]:
    return cluster, everyone(cluster)
