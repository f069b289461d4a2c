"""Inside a node, bytes take the way that hardware gives them, as graph search by others agrees."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topology.router_cases import (
    COST,
    CPU,
    GPU,
    NIC,
    cluster,
    host_graph,
    joined_gpus,
    routes_of,
    shortest,
    two_sockets,
)
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.node_builder import unit_of
from wirespeed.topology.presets import preset, preset_names
from wirespeed.topology.unit import Unit, first_nodes

SWITCHED = ["dgx-a100", "dgx-h100", "dgx-b200", "dgx-2", "gb200-nvl72", "dgx-gh200"]


def cost_of(unit: Unit, links: list[int] | None) -> float:
    """What a way counts; infinite for none."""
    if links is None:
        return float("inf")
    return sum(COST[LinkKind(unit.link_kind[link])] for link in links)


def check_pcie(unit: Unit, capacity: np.ndarray, ends: list[tuple[int, int]]) -> None:
    routes, graph = routes_of(unit), host_graph(unit, capacity)
    routes = type(routes)(unit, capacity)
    for source, target in ends:
        links = routes.pcie_links(source, target)
        assert cost_of(unit, links) == shortest(graph, unit, source, target)
        for one, after in zip(links or [], (links or [])[1:], strict=False):
            assert unit.target[one] == unit.source[after]


@pytest.mark.parametrize("name", preset_names())
def test_ways_over_pcie_are_the_shortest_that_networkx_finds(name):
    unit = first_nodes(unit_of(preset(name)), 1)
    capacity = np.concatenate([unit.bandwidth, unit.throughput])
    devices = [*unit.of_kind(GPU)[[0, -1]], unit.of_kind(NIC)[0], unit.of_kind(CPU)[-1]]
    ends = [(int(devices[0]), int(b)) for b in devices] + [
        (int(b), int(devices[0])) for b in devices
    ]
    check_pcie(unit, capacity, [(a, b) for a, b in ends if a != b])


@given(st.data())
@settings(max_examples=40)
def test_they_are_with_links_down_too(data):
    name = data.draw(st.sampled_from(["dgx-h100", "dgx-1v", "pcie-8x-a100", "gb200-nvl72"]))
    unit = first_nodes(unit_of(preset(name)), 1)
    capacity = np.concatenate([unit.bandwidth, unit.throughput])
    host = np.flatnonzero(np.isin(unit.link_kind, list(COST))).tolist()
    capacity[data.draw(st.lists(st.sampled_from(host), max_size=12))] = 0.0
    devices = st.sampled_from([*unit.of_kind(GPU).tolist(), *unit.of_kind(NIC).tolist()])
    pair = data.draw(st.lists(devices, min_size=2, max_size=2, unique=True))
    check_pcie(unit, capacity, [(pair[0], pair[1])])


def test_no_way_leads_through_a_gpu_or_a_nic():
    unit, at = two_sockets()
    routes = routes_of(unit)
    for source in at.values():
        for target in at.values():
            links = routes.pcie_links(source, target) or []
            inner = {int(unit.kind[unit.source[link]]) for link in links[1:]}
            assert not inner & {GPU, NIC}


def test_host_bridges_and_switches_with_a_limit_are_on_the_way_and_memory_is_not():
    on = cluster("pcie-8x-a100").router.routes(0)
    gpus = on.unit.of_kind(GPU)
    route = on.pcie(int(gpus[0]), int(gpus[1]))
    kinds = {int(on.unit.kind[r - on.unit.links]) for r in route.resource if r >= on.unit.links}
    assert kinds == {ComponentKind.ROOT}


def flow(unit: Unit, route, source: int, target: int) -> None:
    """A route brings the whole from one end to the other and loses nothing between."""
    net = np.zeros(unit.components)
    for resource, share in zip(route.resource, route.share, strict=True):
        if resource < unit.links:
            net[unit.source[resource]] += share
            net[unit.target[resource]] -= share
    expected = np.zeros(unit.components)
    expected[source], expected[target] = 1.0, -1.0
    assert net == pytest.approx(expected)


@pytest.mark.parametrize("name", [*SWITCHED, "dgx-1v", "mi300x-8", "mi250x-8", "hgx-a100-4"])
def test_what_enters_an_nvlink_route_comes_out(name):
    unit = unit_of(preset(name))
    routes, gpus = routes_of(unit), unit.of_kind(GPU).tolist()
    for target in {gpus[1], gpus[len(gpus) // 2], gpus[-1]}:
        if (route := routes.nvlink(gpus[0], target)) is not None:
            flow(unit, route, gpus[0], target)


@pytest.mark.parametrize("name", SWITCHED)
def test_nvswitches_share_a_message_by_their_links(name):
    unit = unit_of(preset(name))
    gpus = unit.of_kind(GPU).tolist()
    route = routes_of(unit).nvlink(gpus[0], gpus[1])
    out = {
        r: s
        for r, s in zip(route.resource, route.share, strict=True)
        if r < unit.links and unit.source[r] == gpus[0]
    }
    width = unit.bandwidth[list(out)]
    assert list(out.values()) == pytest.approx((width / width.sum()).tolist())


def test_without_one_nvswitch_the_others_share_all():
    """An H100 has 5, 4, 4 and 5 links to its four switches."""
    on = cluster("dgx-h100", 1, "nvswitch0=down").router.routes(0)
    gpus = on.unit.of_kind(GPU).tolist()
    route = on.nvlink(gpus[0], gpus[1])
    shares = sorted(
        s
        for r, s in zip(route.resource, route.share, strict=True)
        if r < on.unit.links and on.unit.source[r] == gpus[0]
    )
    assert shares == pytest.approx([4 / 13, 4 / 13, 5 / 13])


def test_a_slow_link_keeps_its_share():
    """Addresses are hashed over links by number, not by speed."""
    plain = cluster("dgx-h100").router.routes(0)
    slow = cluster("dgx-h100", 1, "gpu0-nvswitch0=0.5").router.routes(0)
    gpus = plain.unit.of_kind(GPU).tolist()
    assert slow.nvlink(gpus[0], gpus[1]) == plain.nvlink(gpus[0], gpus[1])


def test_a_gpu_without_nvlink_takes_pcie():
    down = [f"gpu0-nvswitch{k}=down" for k in range(4)]
    on = cluster("dgx-h100", 1, *down).router.routes(0)
    gpus = on.unit.of_kind(GPU).tolist()
    assert on.nvlink(gpus[0], gpus[1]) is None
    assert on.pcie(gpus[0], gpus[1]) is not None
    assert on.nvlink(gpus[1], gpus[2]) is not None


def test_two_levels_of_nvswitches_split_evenly():
    """A DGX GH200 joins 32 groups of eight by 36 upper switches."""
    unit = unit_of(preset("dgx-gh200"))
    routes, gpus = routes_of(unit), unit.of_kind(GPU).tolist()
    near, far = routes.nvlink(gpus[0], gpus[7]), routes.nvlink(gpus[0], gpus[8])
    assert len(near.resource) == 2 * 3
    trunks = [
        share
        for r, share in zip(far.resource, far.share, strict=True)
        if r < unit.links and (unit.kind[[unit.source[r], unit.target[r]]] != GPU).all()
    ]
    assert len(trunks) == 2 * 36
    assert trunks == pytest.approx([1 / 36] * 72)
    flow(unit, far, gpus[0], gpus[8])


def test_an_upper_switch_that_is_down_leaves_the_rest_to_the_others():
    unit = unit_of(preset("dgx-gh200"))
    gpus = unit.of_kind(GPU).tolist()
    upper = int(unit.of_kind(ComponentKind.NVSWITCH)[-1])
    down = np.flatnonzero((unit.source == upper) | (unit.target == upper))
    route = routes_of(unit, *down.tolist()).nvlink(gpus[0], gpus[8])
    flow(unit, route, gpus[0], gpus[8])
    assert not set(down.tolist()) & set(route.resource)
    lower = [
        s
        for r, s in zip(route.resource, route.share, strict=True)
        if r < unit.links and unit.source[r] == gpus[0]
    ]
    # The lower switch that lost an uplink gets no less: its part is what a GPU's links give it.
    assert lower == pytest.approx([1 / 3] * 3)


# Meshes of direct links.


def test_a_direct_link_is_taken_whatever_else_there_is():
    unit = joined_gpus({(0, 1): 1, (0, 2): 4, (2, 1): 4}, 3)
    routes, gpus = routes_of(unit), unit.of_kind(GPU).tolist()
    assert len(routes.nvlink(gpus[0], gpus[1]).resource) == 1
    assert not routes.is_indirect(gpus[0], gpus[1])


def test_else_the_widest_way_over_one_gpu():
    lanes = {(0, 1): 1, (1, 3): 2, (0, 2): 2, (2, 3): 2}
    unit = joined_gpus(lanes, 4)
    routes, gpus = routes_of(unit), unit.of_kind(GPU).tolist()
    route = routes.nvlink(gpus[0], gpus[3])
    assert [int(unit.target[r]) for r in route.resource] == [gpus[2], gpus[3]]
    assert routes.is_indirect(gpus[0], gpus[3])


def test_two_gpus_between_are_too_many():
    unit = joined_gpus({(0, 1): 1, (1, 2): 1, (2, 3): 1}, 4)
    routes, gpus = routes_of(unit), unit.of_kind(GPU).tolist()
    assert routes.nvlink(gpus[0], gpus[3]) is None
    assert not routes.is_indirect(gpus[0], gpus[3])


@given(st.integers(2, 7), st.data())
@settings(max_examples=60)
def test_a_mesh_route_has_one_or_two_hops_as_networkx_counts_them(gpus, data):
    pairs = [(a, b) for a in range(gpus) for b in range(a + 1, gpus)]
    chosen = data.draw(st.dictionaries(st.sampled_from(pairs), st.integers(1, 3)))
    unit = joined_gpus(chosen, gpus)
    routes, ids = routes_of(unit), unit.of_kind(GPU).tolist()
    graph = nx.Graph(list(chosen))
    graph.add_nodes_from(range(gpus))
    for a in range(gpus):
        hops = nx.single_source_shortest_path_length(graph, a)
        for b in set(range(gpus)) - {a}:
            route = routes.nvlink(ids[a], ids[b])
            assert (len(route.resource) if route else 0) == (
                hops.get(b, 9) if hops.get(b, 9) < 3 else 0
            )
            if route:
                flow(unit, route, ids[a], ids[b])
