"""On a mesh of direct links, rings share no lane, and there are as many as can be."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectives.collective_cases import cluster, group
from wirespeed.collectives.layout import layout_of
from wirespeed.collectives.local_order import local_orders
from wirespeed.collectives.mesh_rings import disjoint_rings
from wirespeed.collectives.rings import find_rings


def complete(gpus: int, lanes: int = 1) -> np.ndarray:
    return lanes * (1 - np.eye(gpus, dtype=np.int64))


def filled(rings: list[tuple[tuple[int, ...], int]], gpus: int) -> np.ndarray:
    """[gpu, gpu] lanes that the rings take."""
    taken = np.zeros((gpus, gpus), int)
    for ring, count in rings:
        for a, b in zip(ring, [*ring[1:], ring[0]], strict=True):
            taken[a, b] += count
    return taken


def most_rings(lanes: np.ndarray) -> int:
    """The largest packing, by trying all of them."""
    gpus = len(lanes)
    every = [(0, *rest) for rest in permutations(range(1, gpus))]

    @cache
    def best(left: tuple[int, ...], first: int) -> int:
        free = np.array(left).reshape(gpus, gpus)
        found = 0
        for k in range(first, len(every)):
            after = free - filled([(every[k], 1)], gpus)
            if (after >= 0).all():
                found = max(found, 1 + best(tuple(after.ravel().tolist()), k))
        return found

    return best(tuple(lanes.ravel().tolist()), 0)


@pytest.mark.parametrize(
    ("gpus", "rings"), [(2, 1), (3, 2), (4, 4), (5, 2), (6, 2), (7, 4), (8, 6)]
)
def test_the_cube_mesh_of_a_dgx_1_has_these_rings(gpus, rings):
    """As NCCL finds them; two GPUs are one ring over all their lanes.

    The fifth of five hangs on the first alone: rings come to it and go on through that one.
    """
    on = cluster("dgx-1v")
    orders = local_orders(on, group(on, list(range(gpus))).gpus)
    assert sum(lanes for _, lanes in orders) == rings


@pytest.mark.parametrize(
    ("gpus", "lanes", "rings"),
    [(8, 1, 7), (4, 4, 12), (4, 6, 18), (3, 1, 2), (5, 1, 4), (7, 1, 6), (4, 1, 2), (6, 1, 4)],
)
def test_full_meshes_split_into_rings(gpus, lanes, rings):
    """All lanes are used; but four or six GPUs with one lane a pair leave one ring over.

    T. W. Tillson, A Hamiltonian decomposition of the complete directed graph, 1980.
    """
    found = disjoint_rings(complete(gpus, lanes))
    assert sum(count for _, count in found) == rings
    assert (filled(found, gpus) <= complete(gpus, lanes)).all()


@given(st.integers(3, 5), st.data())
@settings(max_examples=60)
def test_no_packing_of_a_small_mesh_is_larger(gpus, data):
    lanes = np.zeros((gpus, gpus), np.int64)
    for a, b in combinations(range(gpus), 2):
        lanes[a, b] = lanes[b, a] = data.draw(st.integers(0, 2 if gpus < 5 else 1))
    found = disjoint_rings(lanes)
    assert (filled(found, gpus) <= lanes).all()
    assert sum(count for _, count in found) == most_rings(lanes)


@given(st.integers(2, 7), st.data())
@settings(max_examples=40)
def test_rings_visit_each_gpu_once_and_share_no_lane(gpus, data):
    draw = st.integers(0, 3)
    lanes = np.array([[0 if a == b else data.draw(draw) for a in range(gpus)] for b in range(gpus)])
    found = disjoint_rings(lanes)
    assert all(sorted(ring) == list(range(gpus)) for ring, _ in found)
    assert (filled(found, gpus) <= lanes).all()
    assert sum(c for _, c in found) <= min(lanes.sum(axis=0).min(), lanes.sum(axis=1).min())


def test_a_lane_that_is_down_costs_the_rings_that_need_it():
    whole, broken = cluster("dgx-1v"), cluster("dgx-1v", 1, "gpu0-gpu3=down")
    lanes = [sum(local_lanes(on)) for on in (whole, broken)]
    assert lanes == [6, 4]


def local_lanes(on) -> list[float]:
    return [lanes for _, lanes in local_orders(on, on.topology.gpus().astype(np.int64))]


def test_a_gpu_that_keeps_one_neighbour_is_reached_through_it():
    cut = [f"gpu0-gpu{g}=down" for g in (1, 2, 3)]
    orders = local_orders(on := cluster("dgx-1v", 1, *cut), on.topology.gpus().astype(np.int64))
    assert sum(lanes for _, lanes in orders) == 2
    assert sorted(orders[0][0].tolist()) == list(range(8))


def test_a_gpu_without_neighbours_leaves_the_pcie_tree():
    cut = [f"gpu0-gpu{g}=down" for g in (1, 2, 3, 4)]
    orders = local_orders(on := cluster("dgx-1v", 1, *cut), on.topology.gpus().astype(np.int64))
    assert len(orders) == 1
    assert sorted(orders[0][0].tolist()) == list(range(8))


@pytest.mark.parametrize("name", ["mi300x-8", "hgx-a100-4", "dgx-1v", "gh200-4", "mi250x-8"])
def test_walks_between_doors_of_a_mesh_share_no_lane(name):
    """Over two nodes each NIC has one channel in and one out, and no lane carries two."""
    on = cluster(name, 2)
    topology = on.topology
    rings = find_rings(layout_of(on, group(on, list(range(len(topology.gpus()))))))
    gpus = topology.gpus()
    used: dict[tuple[int, int], int] = {}
    for order, out in zip(rings.order, rings.nic_out, strict=True):
        for k in np.flatnonzero(out < 0):
            edge = int(gpus[order[k]]), int(gpus[np.roll(order, -1)[k]])
            used[edge] = used.get(edge, 0) + 1
    for (a, b), count in used.items():
        lanes = topology.lanes[topology.link_between(a, b)].sum()
        assert count <= lanes, f"{count} channels on {lanes} lanes"
