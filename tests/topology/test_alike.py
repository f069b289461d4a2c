"""What is alike in a cluster, and what a change sets apart."""

from __future__ import annotations

import numpy as np
import pytest

from collectives.bound_cases import many, preset_cluster, switched
from wirespeed.topology.address import name_of
from wirespeed.topology.alike import cable_classes, colours_of, component_classes
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, changed
from wirespeed.topology.fabrics.generic import RAIL_OPTIMISED
from wirespeed.topology.kinds import ComponentKind


def counts(cluster: Cluster, kind: ComponentKind) -> list[int]:
    topology = cluster.topology
    classes = component_classes(topology, colours_of(topology), np.zeros(topology.components))
    return [c.count for c in classes if topology.kind[c.example] == kind]


def test_equal_nodes_on_an_equal_fabric_are_alike_in_every_part() -> None:
    cluster = many(switched(4), 6, RAIL_OPTIMISED)
    assert counts(cluster, ComponentKind.GPU) == [24]
    assert counts(cluster, ComponentKind.NIC) == [24]
    assert counts(cluster, ComponentKind.LEAF) == [4]


def test_nvswitches_with_four_and_with_five_links_a_gpu_differ() -> None:
    assert counts(preset_cluster("dgx-h100"), ComponentKind.NVSWITCH) == [2, 2]


def test_a_slow_link_sets_its_ends_apart_and_then_their_neighbours() -> None:
    cluster = changed(many(switched(4), 6, RAIL_OPTIMISED), [parse_change("node2/nic1=0.5")])
    # The GPU behind it, the three others of its node, and everyone else by rail.
    assert sorted(counts(cluster, ComponentKind.GPU)) == [1, 3, 5, 15]


def test_parallel_cables_of_a_pair_are_one() -> None:
    topology = many(switched(4), 6, RAIL_OPTIMISED).topology
    classes = cable_classes(topology, colours_of(topology), np.zeros(topology.links))
    pairs = {
        tuple(sorted(p))
        for p in zip(topology.source.tolist(), topology.target.tolist(), strict=True)
    }
    assert sum(c.count for c in classes) == len(pairs)


def test_the_heaviest_stands_for_its_class() -> None:
    topology = many(switched(4), 6, RAIL_OPTIMISED).topology
    weight = np.zeros(topology.components)
    weight[topology.gpus()[13]] = 1.0
    classes = component_classes(topology, colours_of(topology), weight)
    (gpu,) = (c for c in classes if topology.kind[c.example] == ComponentKind.GPU)
    assert name_of(topology, gpu.example) == "node3/gpu1"
    assert gpu.count == 24


@pytest.mark.parametrize(
    "change", ["node1/nic0-leaf0=down", "leaf0>node1/nic0=down", "node1/nic0=down"]
)
def test_a_nic_without_its_cable_is_nobodys_nearest(change: str) -> None:
    before = many(switched(4), 2, RAIL_OPTIMISED)
    after = changed(before, [parse_change(change)])
    gpu = int(after.topology.gpus(1)[0])
    own, now = before.router.nearest_nics(gpu), after.router.nearest_nics(gpu)
    assert len(own) == 1
    assert not set(own) & set(now)
    other = int(after.topology.gpus(0)[0])
    assert after.router.nearest_nics(other) == before.router.nearest_nics(other)


def test_a_change_keeps_the_routes_that_it_does_not_touch() -> None:
    before = many(switched(4), 3, RAIL_OPTIMISED)
    a, b = before.topology.gpus(0)[:2]
    first = before.router.path_type(int(a), int(b))
    after = changed(before, [parse_change("node1/gpu0-node1/nvswitch0=down")])
    assert after.router.routes(0) is before.router.routes(0)
    assert after.router.routes(1) is not before.router.routes(1)
    again = changed(after, [parse_change("node2/nic0=0.5")])
    assert again.router.routes(1) is after.router.routes(1)
    assert again.router.path_type(int(a), int(b)) == first
