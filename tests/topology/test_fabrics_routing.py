from __future__ import annotations

from dataclasses import replace
from functools import cache

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabric_cases import cluster, is_walk, network_of, pairs_of, shortest_walks, split_flow
from wirespeed.errors import Infeasible
from wirespeed.topology.fabrics.dragonfly import DragonflyDesign
from wirespeed.topology.fabrics.generic import (
    DUAL_PLANE,
    FAT_TREE,
    LEAF_SPINE,
    RAIL_OPTIMISED,
    SINGLE,
    THREE_TIER,
)
from wirespeed.topology.fabrics.placement import Placement
from wirespeed.topology.fabrics.sizing import Tier
from wirespeed.topology.fabrics.wiring import Routing
from wirespeed.topology.kinds import ComponentKind, LinkKind

pytestmark = pytest.mark.fast

K4 = (replace(THREE_TIER, leaf=Tier(4), spine=Tier(4), core_ports=4), 16, 1)
K8_FAT = (replace(THREE_TIER, leaf=Tier(8), spine=Tier(4), core_ports=16), 16, 1)
TWO = (replace(LEAF_SPINE, leaf=Tier(8), spine=Tier(8)), 6, 2)
PARALLEL = (replace(LEAF_SPINE, leaf=Tier(16), spine=Tier(8)), 4, 4)
PLANES = (replace(DUAL_PLANE, leaf=Tier(4), spine=Tier(8)), 4, 4)
RAILS = (replace(RAIL_OPTIMISED, leaf=Tier(4), spine=Tier(4), core_ports=8, tiers=(3, 3)), 4, 4)
DRAGONFLY = (
    DragonflyDesign(
        "df", Placement.NODE, ports=2, switches=4, global_ports=3, groups=5, pair_links=3
    ),
    20,
    2,
)
CLOS = {"two": TWO, "parallel": PARALLEL, "k4": K4, "k8": K8_FAT, "planes": PLANES, "rails": RAILS}
ALL = CLOS | {"dragonfly": DRAGONFLY}


@cache
def _built(case):
    return cluster(*ALL[case])


def load(topology, paths):
    """Transfers on each link."""
    return np.bincount(paths.resource, paths.share, minlength=topology.links)


@pytest.mark.parametrize(
    ("design", "nodes", "nics"),
    [
        (replace(LEAF_SPINE, leaf=Tier(8), spine=Tier(8)), 32, 1),
        (replace(LEAF_SPINE, leaf=Tier(16), spine=Tier(8)), 32, 1),
        (K4[0], 16, 1),
        (replace(THREE_TIER, leaf=Tier(8), spine=Tier(8), core_ports=8), 128, 1),
        (replace(FAT_TREE, leaf=Tier(8), spine=Tier(8), core_ports=8), 128, 2),
        (replace(RAIL_OPTIMISED, leaf=Tier(8), spine=Tier(16)), 16, 4),
        (replace(DUAL_PLANE, leaf=Tier(8), spine=Tier(16)), 16, 4),
    ],
)
def test_no_two_transfers_of_a_shift_share_a_link_under_static_routing(design, nodes, nics):
    topology = cluster(design, nodes, nics)
    ports = topology.of_kind(ComponentKind.NIC)
    for shift in range(1, nodes):
        paths = topology.wiring.paths(ports, np.roll(ports, -shift * nics))
        assert load(topology, paths).max() <= 1


def test_hashed_flows_collide_and_the_seed_decides_which():
    topology = cluster(replace(LEAF_SPINE, leaf=Tier(16), spine=Tier(16)), 128, 1)
    ports = topology.of_kind(ComponentKind.NIC)
    target = np.roll(ports, -8)
    loads = [
        load(topology, topology.wiring.paths(ports, target, routing=Routing.ECMP, seed=seed))
        for seed in (1, 1, 2)
    ]
    assert loads[0].max() > 1
    assert np.array_equal(loads[0], loads[1])
    assert not np.array_equal(loads[0], loads[2])


@pytest.mark.parametrize("case", ["k4", "k8", "parallel", "rails", "dragonfly"])
def test_hashing_reaches_every_path_about_equally(case):
    topology = cluster(*ALL[case])
    nics = topology.of_kind(ComponentKind.NIC)
    a, b = int(nics[0]), int(nics[-1])
    wiring = topology.wiring
    walks = [
        tuple(wiring.paths(a, b, routing=Routing.ECMP, seed=seed).of(0)[0]) for seed in range(2000)
    ]
    seen = {walk: walks.count(walk) for walk in set(walks)}
    assert len(seen) == wiring.equal_cost(a, b)[0]
    expected = 2000 / len(seen)
    assert max(seen.values()) < expected + 5 * expected**0.5


@pytest.mark.parametrize("case", ALL)
@pytest.mark.parametrize("routing", list(Routing))
@given(seed=st.integers(0, 10**6), dead=st.integers(1, 4))
def test_paths_go_round_dead_links_while_one_of_equal_cost_is_left(case, routing, seed, dead):
    topology = _built(case)
    rng = np.random.default_rng(seed)
    wiring = topology.wiring
    switches = topology.kind >= ComponentKind.LEAF
    inner = np.flatnonzero(switches[topology.source] & switches[topology.target])
    capacity = topology.capacity.copy()
    capacity[rng.choice(inner, dead, replace=False)] = 0
    source, target = pairs_of(topology)
    some = rng.choice(len(source), 3)
    for a, b in zip(source[some].tolist(), target[some].tolist(), strict=True):
        left = [w for w in wiring.all_paths(a, b) if (capacity[list(w)] > 0).all()]
        if not left:
            with pytest.raises(Infeasible, match="has no path"):
                wiring.paths(a, b, routing=routing, seed=seed, capacity=capacity)
            continue
        links, share = wiring.paths(a, b, routing=routing, seed=seed, capacity=capacity).of(0)
        assert set(links.tolist()) <= {link for walk in left for link in walk}
        net = split_flow(topology, links, share)
        assert net[a] == pytest.approx(1)
        assert net[b] == pytest.approx(-1)
        assert sum(abs(v) for v in net.values()) == pytest.approx(2)


def test_transfers_that_meet_no_dead_link_stay_where_they_were():
    topology = cluster(*K4)
    source, target = pairs_of(topology)
    before = topology.wiring.paths(source, target)
    capacity = topology.capacity.copy()
    spine = int(topology.of_kind(ComponentKind.SPINE)[0])
    core = int(topology.of_kind(ComponentKind.CORE)[0])
    dead = topology.link_between(spine, core)
    capacity[dead] = 0
    after = topology.wiring.paths(source, target, capacity=capacity)
    for t in range(len(source)):
        if not np.isin(dead, before.of(t)[0]).any():
            assert np.array_equal(before.of(t)[0], after.of(t)[0])
        else:
            assert is_walk(topology, after.of(t)[0], source[t], target[t])


def test_static_routing_deals_the_flows_of_a_dead_spine_out_over_the_others():
    topology = cluster(replace(LEAF_SPINE, leaf=Tier(16), spine=Tier(16)), 128, 1)
    spine = int(topology.of_kind(ComponentKind.SPINE)[0])
    capacity = topology.capacity.copy()
    capacity[np.flatnonzero((topology.source == spine) | (topology.target == spine))] = 0
    source, target = pairs_of(topology)
    links = load(topology, topology.wiring.paths(source, target, capacity=capacity))
    leaf = int(topology.of_kind(ComponentKind.LEAF)[0])
    loads = links[
        (topology.source == leaf) & (topology.kind[topology.target] == ComponentKind.SPINE)
    ]
    assert loads[0] == 0
    assert loads[1:].max() <= 1.25 * loads[1:].mean()


def test_spraying_gives_a_half_link_half_of_what_the_others_get():
    topology = cluster(replace(LEAF_SPINE, leaf=Tier(8), spine=Tier(8)), 8, 1)
    nics = topology.of_kind(ComponentKind.NIC)
    leaf = int(topology.of_kind(ComponentKind.LEAF)[0])
    up = np.flatnonzero(
        (topology.source == leaf) & (topology.kind[topology.target] == ComponentKind.SPINE)
    )
    capacity = topology.capacity.copy()
    capacity[up[0]] /= 2
    paths = topology.wiring.paths(nics[0], nics[-1], routing=Routing.SPRAY, capacity=capacity)
    share = load(topology, paths)[up]
    assert share == pytest.approx([0.5 / 3.5, *[1 / 3.5] * 3])


def test_spraying_heeds_what_lies_beyond_the_next_switch():
    topology = cluster(*K4)
    nics = topology.of_kind(ComponentKind.NIC)
    spine = int(topology.of_kind(ComponentKind.SPINE)[0])
    capacity = topology.capacity.copy()
    up = (topology.source == spine) & (topology.kind[topology.target] == ComponentKind.CORE)
    capacity[np.flatnonzero(up)] = 0
    paths = topology.wiring.paths(nics[0], nics[-1], routing=Routing.SPRAY, capacity=capacity)
    assert not np.isin(topology.source[paths.resource], spine).any()


def test_a_dead_nic_cable_is_said_with_the_pair():
    topology = cluster(*TWO)
    nics = topology.of_kind(ComponentKind.NIC)
    capacity = topology.capacity.copy()
    capacity[np.flatnonzero(topology.source == nics[3])] = 0
    for routing in Routing:
        with pytest.raises(Infeasible, match="node1's NIC on rail 1 to node0's NIC on rail 0"):
            topology.wiring.paths(nics[[0, 3]], nics[[1, 0]], routing=routing, capacity=capacity)


def test_planes_share_no_switch_and_carry_half_each():
    topology = cluster(*PLANES)
    source, target = pairs_of(topology)
    leaves = topology.of_kind(ComponentKind.LEAF)
    graph = network_of(topology).to_undirected()
    graph.remove_nodes_from(topology.of_kind(ComponentKind.NIC).tolist())
    assert nx.number_connected_components(graph) == 2
    paths = topology.wiring.paths(source, target)
    crossed = np.isin(topology.target[paths.resource], leaves[: len(leaves) // 2])
    first = np.bincount(paths.owner()[crossed], paths.share[crossed])
    assert (first[first > 0] % 0.5 == 0).all()
    assert np.allclose(paths.share, 0.5)


def test_a_dead_port_leaves_the_other_plane_to_carry_all():
    topology = cluster(*PLANES)
    nics = topology.of_kind(ComponentKind.NIC)
    cables = np.flatnonzero((topology.source == nics[0]) & (topology.link_kind == LinkKind.NETWORK))
    capacity = topology.capacity.copy()
    capacity[cables[0]] = 0
    for routing in Routing:
        links, share = topology.wiring.paths(
            nics[0], nics[5], routing=routing, capacity=capacity
        ).of(0)
        assert cables[0] not in links
        assert share[links == cables[1]] == pytest.approx([1.0])


def test_transfers_inside_a_switch_cross_two_links_whatever_the_routing():
    topology = cluster(SINGLE, 4)
    source, target = pairs_of(topology)
    for routing in Routing:
        paths = topology.wiring.paths(source, target, routing=routing, capacity=topology.capacity)
        assert (np.diff(paths.first) == 2).all()


def test_no_transfers_make_no_paths():
    topology = cluster(*K4)
    none = np.empty(0, np.int32)
    for routing in Routing:
        assert len(topology.wiring.paths(none, none, routing=routing)) == 0


def test_a_dragonfly_takes_one_global_cable_and_at_most_one_local_on_either_side():
    topology = cluster(*DRAGONFLY)
    source, target = pairs_of(topology)
    graph = network_of(topology)
    wiring = topology.wiring
    first = int(topology.of_kind(ComponentKind.LEAF)[0])
    group = (np.arange(topology.components) - first) // 4
    for t in range(0, len(source), 13):
        a, b = int(source[t]), int(target[t])
        walks = wiring.all_paths(a, b)
        assert len(set(walks)) == len(walks) == wiring.equal_cost(a, b)[0]
        # Leaving out third groups, which no minimal route passes, the shortest are among them.
        near = np.isin(group, group[[wiring.leaf_of(n)[0] + first for n in (a, b)]])
        direct = graph.subgraph([v for v in graph if v < first or near[v]])
        assert shortest_walks(direct, a, b) <= set(walks)
        for walk in walks:
            assert is_walk(topology, walk, a, b)
            assert len(walk) - 2 <= 3
            inner = np.array(walk[1:-1], int)
            crossings = group[topology.source[inner]] != group[topology.target[inner]]
            assert crossings.sum() == (wiring.pod_of(a)[0] != wiring.pod_of(b)[0])


def test_a_dragonflys_groups_are_whole_meshes_and_its_global_cables_are_dealt_out_evenly():
    topology = cluster(*DRAGONFLY)
    switches = topology.of_kind(ComponentKind.LEAF)
    first = int(switches[0])
    ends = (
        np.stack([topology.source, topology.target], axis=1)[
            (topology.source >= first) & (topology.target >= first)
        ]
        - first
    )
    same = ends[:, 0] // 4 == ends[:, 1] // 4
    assert same.sum() == 5 * 4 * 3
    pairs, counts = np.unique(ends[~same] // 4, axis=0, return_counts=True)
    assert len(pairs) == 20
    assert (counts == 3).all()
    assert np.bincount(ends[~same][:, 0]).tolist() == [3] * 20


def test_a_dragonfly_says_how_many_nodes_it_holds():
    with pytest.raises(Infeasible, match="20 nodes of 2 NICs"):
        cluster(DRAGONFLY[0], 21, 2)
