"""Every component and link has a name that leads back to it, and nothing else does."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.errors import UnknownName, UsageError, WirespeedError
from wirespeed.topology.address import find, find_links, name_of, resource_name
from wirespeed.topology.cluster import build_cluster
from wirespeed.topology.fabrics.named import fabric_named
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.model import Topology

CLUSTERS = [
    ("dgx-h100", 1, ""),
    ("dgx-1v", 1, ""),
    ("pcie-8x-rtx4090", 1, ""),
    ("mi300x-8", 2, "leaf-spine"),
    ("dgx-h100", 3, "fat-tree"),
    ("gb200-nvl72", 18, ""),
    ("gb200-nvl72", 20, "fat-tree"),
]


@cache
def topology(name: str, nodes: int, fabric: str = "") -> Topology:
    design = (fabric, fabric_named(fabric)) if fabric else None
    return build_cluster(preset_machine(name), nodes=nodes, fabric=design).topology


@pytest.mark.parametrize(("name", "nodes", "fabric"), CLUSTERS)
def test_every_component_is_found_by_its_name(name, nodes, fabric):
    on = topology(name, nodes, fabric)
    names = [name_of(on, c) for c in range(on.components)]
    assert len(set(names)) == on.components
    step = max(1, on.components // 150)
    for component in range(0, on.components, step):
        assert find(on, names[component]).tolist() == [component]


@pytest.mark.parametrize(("name", "nodes", "fabric"), CLUSTERS)
def test_every_link_is_found_by_its_name_and_so_is_its_way_back(name, nodes, fabric):
    on = topology(name, nodes, fabric)
    for link in range(0, on.links, max(1, on.links // 150)):
        one_way = resource_name(on, link)
        assert link in find_links(on, one_way)
        assert {link, link ^ 1} <= set(find_links(on, one_way.replace(">", "-")).tolist())


@pytest.mark.parametrize(("name", "nodes", "fabric"), CLUSTERS)
def test_a_resource_is_called_as_its_link_or_component(name, nodes, fabric):
    on = topology(name, nodes, fabric)
    assert resource_name(on, on.links) == name_of(on, 0)
    assert re.fullmatch(r"\S+>\S+", resource_name(on, 0))


def test_on_one_node_the_prefix_may_be_left_out():
    on = topology("dgx-h100", 1)
    assert find(on, "gpu5").tolist() == find(on, "node0/gpu5").tolist()
    assert find_links(on, "gpu5>nvswitch0").tolist() == (
        find_links(on, "node0/gpu5>node0/nvswitch0").tolist()
    )


def test_on_several_nodes_it_may_not():
    with pytest.raises(UsageError, match="does not say which node"):
        find(topology("dgx-h100", 3, "fat-tree"), "gpu5")


def test_nor_in_a_rack_but_for_what_belongs_to_the_rack():
    """gpu3 without its tray would be one of eighteen."""
    rack = topology("gb200-nvl72", 18)
    with pytest.raises(UsageError, match="does not say which node"):
        find(rack, "gpu3")
    assert find(rack, "nvswitch3").tolist() == find(rack, "rack0/nvswitch3").tolist()


def test_a_star_stands_for_every_node():
    on = topology("dgx-h100", 3, "fat-tree")
    found = find(on, "*/nic3")
    assert on.node[found].tolist() == [0, 1, 2]
    assert on.index[found].tolist() == [3, 3, 3]


def test_a_star_on_both_ends_of_a_link_is_the_same_node():
    on = topology("dgx-h100", 3, "fat-tree")
    links = find_links(on, "*/gpu0>*/nvswitch1")
    assert len(links) == 3
    assert (on.node[on.source[links]] == on.node[on.target[links]]).all()


def test_a_rack_without_all_its_trays_has_names_of_its_own():
    on = topology("gb200-nvl72", 20, "fat-tree")
    assert name_of(on, int(on.gpus()[-1])) == "node19/gpu3"
    assert len(find(on, "*/gpu0")) == 20
    assert len(find(on, "rack1/nvswitch17")) == 1


def test_fabric_switches_are_called_by_their_tier():
    on = topology("dgx-h100", 3, "fat-tree")
    leaf = find(on, "leaf0")
    assert on.kind[leaf].tolist() == [ComponentKind.LEAF]
    assert len(find_links(on, "node0/nic0-leaf0")) == 2


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("gpu8", "there is no component"),
        ("node1/gpu0", "there is no component"),
        ("node0/leaf0", "there is no component"),
        ("rack0/gpu0", "there is no component"),
        ("nic99999999999999999999", "there is no component"),
        ("node99999999999999999999/nic0", "there is no component"),
    ],
)
def test_what_is_not_there_is_unknown(address, message):
    with pytest.raises(UnknownName, match=message):
        find(topology("dgx-h100", 1), address)


@pytest.mark.parametrize("address", ["", "gpu", "0", "gpu-1", "tpu0", "node0", "node0/", "a/b/c"])
def test_what_is_no_address_is_said_to_be_none(address):
    with pytest.raises(UsageError, match="is not an address"):
        find(topology("dgx-h100", 1), address)


def test_two_components_without_a_link_are_told_their_neighbours():
    with pytest.raises(UnknownName, match="there is no link 'gpu0>gpu1'") as caught:
        find_links(topology("dgx-h100", 1), "gpu0>gpu1")
    assert "gpu0>node0/" in caught.value.remedy


@pytest.mark.parametrize("look", [find, find_links])
@given(st.text(max_size=20))
def test_any_text_is_an_address_or_an_error_for_people(look, text):
    with suppress(WirespeedError):
        assert isinstance(look(topology("dgx-1v", 1), text), np.ndarray)
