from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fabric_cases import (
    bare_ports,
    cluster,
    count_of,
    is_walk,
    network_of,
    pairs_of,
    shortest_walks,
    split_flow,
)
from wirespeed.errors import Infeasible
from wirespeed.topology.fabrics.generic import (
    DUAL_PLANE,
    FAT_TREE,
    GENERIC,
    LEAF_SPINE,
    RAIL_ONLY,
    RAIL_OPTIMISED,
    SINGLE,
    THREE_TIER,
)
from wirespeed.topology.fabrics.sizing import Tier
from wirespeed.topology.fabrics.wiring import Routing, Wiring
from wirespeed.topology.kinds import ComponentKind, LinkKind

pytestmark = pytest.mark.fast

# Small enough that networkx can list every path, large enough that every tier is there.
SMALL = {
    "single": (SINGLE, 3, 4),
    "leaf-spine": (replace(LEAF_SPINE, leaf=Tier(8), spine=Tier(8)), 5, 2),
    "leaf-spine 2:1": (replace(LEAF_SPINE, leaf=Tier(6, 2.0), spine=Tier(6)), 5, 2),
    "parallel cables": (replace(LEAF_SPINE, leaf=Tier(16), spine=Tier(8)), 4, 4),
    "rail-optimised": (replace(RAIL_OPTIMISED, leaf=Tier(4), spine=Tier(8)), 4, 4),
    "rails met in cores": (
        replace(RAIL_OPTIMISED, leaf=Tier(4), spine=Tier(4), core_ports=8, tiers=(3, 3)),
        4,
        4,
    ),
    "rail-only": (replace(RAIL_ONLY, leaf=Tier(4), spine=Tier(4), tiers=(2, 2)), 6, 2),
    "three-tier k=4": (replace(THREE_TIER, leaf=Tier(4), spine=Tier(4), core_ports=4), 16, 1),
    "three-tier, parallel": (
        replace(THREE_TIER, leaf=Tier(8), spine=Tier(4), core_ports=16),
        16,
        1,
    ),
    "fat-tree": (replace(FAT_TREE, leaf=Tier(4), spine=Tier(4), core_ports=4), 12, 2),
    "dual-plane": (replace(DUAL_PLANE, leaf=Tier(4), spine=Tier(8)), 4, 4),
}
CASES = pytest.mark.parametrize("case", SMALL)


@CASES
def test_paths_are_walks_of_shortest_length_between_the_nics(case):
    topology = cluster(*SMALL[case])
    graph = network_of(topology)
    source, target = pairs_of(topology)
    wiring = topology.wiring
    reached = wiring.reachable(source, target)
    source, target = source[reached], target[reached]
    for routing in (Routing.STATIC, Routing.ECMP):
        paths = wiring.paths(source, target, routing=routing, seed=3)
        for t in range(0, len(source), 7):
            links, share = paths.of(t)
            expected = shortest_walks(graph, int(source[t]), int(target[t]))
            planes = np.split(links, wiring.planes)
            assert all(is_walk(topology, walk, source[t], target[t]) for walk in planes)
            assert all(tuple(walk.tolist()) in expected for walk in planes)
            assert np.allclose(share, 1 / wiring.planes)


@CASES
def test_equal_cost_paths_are_those_that_networkx_finds(case):
    topology = cluster(*SMALL[case])
    graph = network_of(topology)
    source, target = pairs_of(topology)
    for t in range(0, len(source), 11):
        a, b = int(source[t]), int(target[t])
        expected = shortest_walks(graph, a, b)
        found = topology.wiring.all_paths(a, b)
        assert set(found) == expected
        assert len(found) == len(expected) == topology.wiring.equal_cost(a, b)[0]
        assert topology.wiring.reachable(a, b)[0] == bool(expected)


@CASES
def test_spraying_uses_every_path_alike_and_loses_nothing(case):
    topology = cluster(*SMALL[case])
    source, target = pairs_of(topology)
    reached = topology.wiring.reachable(source, target)
    source, target = source[reached], target[reached]
    for capacity in (None, topology.capacity):
        paths = topology.wiring.paths(source, target, routing=Routing.SPRAY, capacity=capacity)
        for t in range(0, len(source), 11):
            links, share = paths.of(t)
            net = split_flow(topology, links, share)
            assert net.pop(int(source[t])) == pytest.approx(1)
            assert net.pop(int(target[t])) == pytest.approx(-1)
            assert all(abs(rest) < 1e-12 for rest in net.values())
            walks = topology.wiring.all_paths(int(source[t]), int(target[t]))
            expected = np.bincount(np.concatenate(walks)) / len(walks)
            assert np.allclose(expected[links], share)
            assert len(links) == np.count_nonzero(expected)


@CASES
def test_cables_join_what_the_tiers_say_at_one_rate_and_no_port_is_used_twice(case):
    design, nodes, nics = SMALL[case]
    topology = cluster(design, nodes, nics)
    cables = np.flatnonzero(topology.link_kind == LinkKind.NETWORK)[::2]
    ranks = topology.kind[topology.target[cables]].astype(int) - topology.kind[
        topology.source[cables]
    ].astype(int)
    assert (ranks == 1).all()
    assert np.allclose(topology.bandwidth[cables], 50e9 / design.planes)
    ends = np.concatenate([topology.source[cables], topology.target[cables]])
    used = np.bincount(ends, minlength=topology.components)
    for kind, ports in (
        (ComponentKind.LEAF, design.leaf.radix),
        (ComponentKind.SPINE, design.spine.radix),
        (ComponentKind.CORE, design.core_ports),
    ):
        assert (used[topology.of_kind(kind)] <= ports).all()


@CASES
def test_the_order_of_transfers_does_not_matter_and_routes_repeat(case):
    topology = cluster(*SMALL[case])
    source, target = pairs_of(topology)
    reached = topology.wiring.reachable(source, target)
    source, target = source[reached], target[reached]
    order = np.random.default_rng(1).permutation(len(source))
    for routing in Routing:
        first = topology.wiring.paths(source, target, routing=routing, seed=5)
        again = topology.wiring.paths(source[order], target[order], routing=routing, seed=5)
        for t in range(0, len(order), 17):
            assert np.array_equal(again.of(t)[0], first.of(order[t])[0])


def test_one_switch_joins_all_nics_with_two_links_between_any_two():
    topology = cluster(replace(SINGLE, link_latency=500e-9), 128)
    assert count_of(topology, ComponentKind.LEAF) == 1
    assert count_of(topology, ComponentKind.SPINE) == 0
    source, target = topology.of_kind(ComponentKind.NIC)[:2]
    links, _ = topology.wiring.paths(source, target).of(0)
    assert topology.latency[links].sum() == pytest.approx(1e-6)


def test_a_switch_with_too_few_ports_says_how_many_nodes_it_holds():
    with pytest.raises(Infeasible, match="8 nodes of 8 NICs") as raised:
        cluster(replace(SINGLE, leaf=Tier(64, up=0)), 9)
    assert "cannot hold 9 nodes" in raised.value.what


def test_plain_leaf_spine_keeps_a_node_on_one_leaf():
    topology = cluster(LEAF_SPINE, 10)
    nics = topology.of_kind(ComponentKind.NIC)
    leaf = topology.wiring.leaf_of(nics)
    assert [set(leaf[topology.node[nics] == n]) for n in (0, 3, 4, 9)] == [{0}, {0}, {1}, {2}]


def test_rail_optimised_puts_a_rail_of_a_group_of_nodes_on_a_leaf():
    topology = cluster(RAIL_OPTIMISED, 40)
    nics = topology.of_kind(ComponentKind.NIC)
    leaf = topology.wiring.leaf_of(nics)
    node, rail = topology.node[nics], topology.rail[nics]
    assert np.array_equal(leaf, node // 32 * 8 + rail)


def test_a_node_with_more_nics_than_leaf_ports_spans_leaves():
    topology = cluster(replace(LEAF_SPINE, leaf=Tier(8), spine=Tier(16)), 2, nics=6)
    nics = topology.of_kind(ComponentKind.NIC)
    assert topology.wiring.leaf_of(nics).tolist() == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize(
    ("nodes", "tiers"),
    [(1, 1), (64, 1), (65, 2), (2048, 2), (2049, 3), (65536, 3)],
)
def test_the_default_fat_tree_grows_a_tier_at_its_limits(nodes, tiers):
    ports = bare_ports(nodes, rails=1)
    laid = FAT_TREE.lay(ports, first_switch=nodes, first_link=0)
    assert laid.wiring.shape.tiers == tiers
    assert laid.wiring.description.startswith(f"{tiers} tier")
    switch = np.bincount(np.concatenate([laid.source, laid.target]))[nodes:]
    assert switch.max() <= 64


def test_the_default_fat_tree_is_full_at_65536_ports_a_rail():
    with pytest.raises(Infeasible, match="65,536 nodes"):
        FAT_TREE.lay(bare_ports(65537, rails=1), first_switch=65537, first_link=0)


def test_the_full_three_tier_tree_of_radix_64_takes_5120_switches():
    laid = FAT_TREE.lay(bare_ports(65536, rails=1), first_switch=65536, first_link=0)
    kinds = np.bincount(laid.kind)
    assert kinds[ComponentKind.LEAF] == kinds[ComponentKind.SPINE] == 2048
    assert kinds[ComponentKind.CORE] == 1024
    assert len(laid.source) == 3 * 65536


def test_a_k_ary_fat_tree_has_its_textbook_counts():
    design = replace(THREE_TIER, leaf=Tier(16), spine=Tier(16), core_ports=16)
    topology = cluster(design, 1024, nics=1)
    assert count_of(topology, ComponentKind.LEAF) == 128
    assert count_of(topology, ComponentKind.SPINE) == 128
    assert count_of(topology, ComponentKind.CORE) == 64
    with pytest.raises(Infeasible, match="1,024"):
        cluster(design, 1025, nics=1)


@pytest.mark.parametrize("design", [FAT_TREE, RAIL_ONLY])
def test_rails_on_trees_of_their_own_do_not_reach_each_other(design):
    topology = cluster(design, 2)
    nics = topology.of_kind(ComponentKind.NIC)
    source, target = pairs_of(topology)
    same = topology.rail[source] == topology.rail[target]
    assert np.array_equal(topology.wiring.reachable(source, target), same)
    with pytest.raises(Infeasible, match="rail 0 to node1's NIC on rail 3") as raised:
        topology.wiring.paths(nics[:1], nics[11:12])
    assert "PXN" in raised.value.remedy


@pytest.mark.parametrize("ratio", [1.0, 2.0, 3.0, 7.0, 0.5])
def test_oversubscription_is_what_a_cut_around_a_leaf_shows(ratio):
    design = replace(LEAF_SPINE, leaf=Tier(64, ratio), spine=Tier(64))
    topology = cluster(design, 120, nics=1)
    leaf = int(topology.of_kind(ComponentKind.LEAF)[0])
    into = topology.capacity[np.flatnonzero(topology.target == leaf)]
    down = np.isin(topology.source[topology.target == leaf], topology.of_kind(ComponentKind.NIC))
    assert into[down].sum() / into[~down].sum() == pytest.approx(ratio)


def test_each_tier_may_be_oversubscribed_by_itself():
    design = replace(THREE_TIER, leaf=Tier(12, 2.0), spine=Tier(12, 3.0), core_ports=12)
    topology = cluster(design, 288, nics=1)
    kind = topology.kind
    used = {
        pair: np.count_nonzero(
            (kind[topology.source] == pair[0]) & (kind[topology.target] == pair[1])
        )
        for pair in (
            (ComponentKind.NIC, ComponentKind.LEAF),
            (ComponentKind.LEAF, ComponentKind.SPINE),
            (ComponentKind.SPINE, ComponentKind.CORE),
        )
    }
    nic, spine, core = used.values()
    assert nic / spine == pytest.approx(2.0)
    assert spine / core == pytest.approx(3.0)


@pytest.mark.parametrize("design", list(GENERIC.values()), ids=list(GENERIC))
def test_every_kind_is_a_wiring_with_a_name_and_a_description(design):
    wiring = cluster(design, 3).wiring
    assert isinstance(wiring, Wiring)
    assert wiring.name == design.name
    assert " leaf" in wiring.description


def test_latency_adds_up_to_switches_and_cables():
    topology = cluster(replace(LEAF_SPINE, switch_latency=300e-9), 10)
    nics = topology.of_kind(ComponentKind.NIC)
    paths = topology.wiring.paths(nics[[0, 0]], nics[[8, 79]])
    near, far = (topology.latency[paths.of(t)[0]].sum() for t in range(2))
    assert near == pytest.approx(300e-9 + 2 * 5 * 5e-9)
    assert far == pytest.approx(3 * 300e-9 + 2 * (5 + 20) * 5e-9)


@pytest.mark.parametrize(
    ("rate", "expected"), [(12.5e9, 90), (25e9, 130), (50e9, 250), (100e9, 250)]
)
def test_infiniband_switches_are_of_the_nics_generation(rate, expected):
    topology = cluster(SINGLE, 2, rate=rate)
    links = np.flatnonzero(topology.link_kind == LinkKind.NETWORK)
    assert topology.latency[links[:2]].sum() == pytest.approx(expected * 1e-9 + 2 * 25e-9)
