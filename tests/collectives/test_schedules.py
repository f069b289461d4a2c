"""Every algorithm moves the right bytes to the right ranks, and its schedule counts them right."""

from __future__ import annotations

import pkgutil
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wirespeed.collectives.algorithms as algorithms
from collectives.collective_cases import equal_layout, layouts, ring_of, rings
from collectives.schedule_expansions import (
    EXPANSIONS,
    alltoall,
    in_fabric,
    in_switches,
    in_switches_and_trees,
    on_rings,
    on_trees,
    sendrecv,
)
from collectives.schedule_oracle import ON_RINGS, Played, bytes_of, waits_of
from wirespeed.collectives.algorithms.tree import depth, parents
from wirespeed.collectives.operation import Operation, bus_factor

FEW = list(range(2, 9))


def check(played: Played) -> None:
    """The data arrives, and each edge carries what the schedule says."""
    assert played.is_right()
    counted, sent = bytes_of(played.schedule), played.expansion.bytes_by_edge(played.ranks)
    assert counted.keys() == sent.keys()
    assert [counted[e] for e in sent] == pytest.approx(list(sent.values()))


def test_every_algorithm_is_written_out_here():
    modules = {module.name for module in pkgutil.iter_modules(algorithms.__path__)}
    assert modules <= {name.partition(".")[0] for name in EXPANSIONS}


@pytest.mark.parametrize("operation", ON_RINGS)
def test_a_ring_in_any_order_delivers_on_up_to_five_ranks(operation):
    for ranks in (2, 3, 4, 5):
        for order in permutations(range(ranks)):
            for root in {0, ranks // 2, ranks - 1}:
                check(on_rings(operation, ring_of(list(order)), root))


@pytest.mark.parametrize("operation", ON_RINGS)
@given(rings(), st.data())
@settings(max_examples=12)
def test_rings_deliver_on_up_to_sixty_four_ranks(operation, ring, data):
    check(on_rings(operation, ring, data.draw(st.integers(0, ring.order.shape[1] - 1))))


@pytest.mark.parametrize("operation", ON_RINGS)
@pytest.mark.parametrize("ranks", [2, 3, 8, 33])
def test_data_on_a_ring_waits_for_as_many_messages_as_the_schedule_counts(operation, ranks):
    played = on_rings(operation, ring_of(list(range(ranks))), root=ranks // 2)
    assert waits_of(played.schedule) == pytest.approx(played.outcome().hops)


def test_a_ring_all_reduce_sends_2n_minus_2_pieces_of_an_nth_on_every_edge():
    played = on_rings(Operation.ALL_REDUCE, ring_of(list(range(8))))
    assert list(bytes_of(played.schedule).values()) == pytest.approx([2 * 7 / 8] * 8)


@pytest.mark.parametrize("operation", ON_RINGS)
def test_a_ring_loads_its_edges_with_just_the_bus_bandwidths_bytes(operation):
    played = on_rings(operation, ring_of(list(range(6))))
    loads = bytes_of(played.schedule).values()
    assert max(loads) == pytest.approx(bus_factor(operation, 6))


@given(layouts())
@settings(max_examples=60)
def test_trees_sum_everything_once_on_any_layout(layout):
    check(on_trees(layout))


@given(layouts())
@settings(max_examples=40)
def test_data_on_a_tree_waits_for_no_more_messages_than_the_schedule_counts(layout):
    played = on_trees(layout)
    chain = max(len(ranks) for ranks in layout.ranks) - 1
    assert waits_of(played.schedule) == pytest.approx(2 * chain + 2 * depth(len(layout)))
    assert played.outcome().hops <= waits_of(played.schedule) + 1e-9


IN_SWITCHES = (Operation.ALL_REDUCE, Operation.ALL_GATHER, Operation.REDUCE_SCATTER)
DOMAINS = [(2, 2), (2, 8), (3, 4), (5, 2), (4, 1)]


@pytest.mark.parametrize("operation", IN_SWITCHES)
@pytest.mark.parametrize("ranks", [*FEW, 16])
def test_nvswitches_add_up_and_multicast_inside_a_domain(operation, ranks):
    check(in_switches(operation, equal_layout(1, ranks)))


@pytest.mark.parametrize("operation", IN_SWITCHES)
@pytest.mark.parametrize(("domains", "ranks"), DOMAINS)
def test_nvswitches_and_a_fabric_add_up_over_domains(operation, domains, ranks):
    check(in_switches(operation, equal_layout(domains, ranks)))


@pytest.mark.parametrize(("domains", "ranks"), DOMAINS)
def test_trees_join_what_nvswitches_added_up(domains, ranks):
    check(in_switches_and_trees(equal_layout(domains, ranks)))


@pytest.mark.parametrize(("domains", "ranks"), DOMAINS)
def test_a_fabric_adds_up_what_domains_collected(domains, ranks):
    check(in_fabric(equal_layout(domains, ranks)))


def test_a_gpu_of_eight_on_nvls_moves_an_eighth_more_than_its_buffer_each_way():
    loads = bytes_of(in_switches(Operation.ALL_REDUCE, equal_layout(1, 8)).schedule)
    assert list(loads.values()) == pytest.approx([1 + 1 / 8] * 16)


@pytest.mark.parametrize("ranks", [*FEW, 16, 33])
def test_an_alltoall_brings_every_block_home(ranks):
    check(alltoall(ranks))


@pytest.mark.parametrize("ranks", [*FEW, 16, 64])
def test_a_sendrecv_shifts_every_buffer_by_one(ranks):
    check(sendrecv(ranks))


@given(st.integers(2, 64))
@settings(max_examples=20)
def test_an_alltoall_keeps_its_own_block_and_sends_the_rest(ranks):
    sent = np.zeros(ranks)
    for (source, *_), share in bytes_of(alltoall(ranks).schedule).items():
        sent[source] += share
    assert sent == pytest.approx(np.full(ranks, (ranks - 1) / ranks))


def levels(parent: np.ndarray) -> list[int]:
    """Hops of every domain to the root; fails on a cycle."""
    hops = []
    for domain in range(len(parent)):
        walked = [domain]
        while parent[walked[-1]] >= 0:
            walked.append(int(parent[walked[-1]]))
            assert len(walked) <= len(parent), "a cycle"
        hops.append(len(walked) - 1)
    return hops


@pytest.mark.parametrize("tree", [0, 1])
def test_each_tree_spans_all_domains_from_one_root(tree):
    for domains in range(1, 201):
        parent = parents(domains, tree)
        assert (parent < 0).sum() == 1
        assert max(levels(parent)) <= depth(domains)
        assert np.bincount(parent[parent >= 0], minlength=domains).max(initial=0) <= 2


def test_a_tree_of_n_domains_is_no_deeper_than_its_logarithm_and_one():
    for domains in range(1, 201):
        least = np.ceil(np.log2(domains))
        assert all(max(levels(parents(domains, t))) <= least + 1 for t in (0, 1))


def test_what_is_inside_one_tree_is_a_leaf_of_the_other():
    for domains in range(2, 201):
        children = [
            np.bincount(up[up >= 0], minlength=domains)
            for up in (parents(domains, 0), parents(domains, 1))
        ]
        both = np.flatnonzero((children[0] > 0) & (children[1] > 0)).tolist()
        # With an odd count one is left over: a root with one child, and one child in the other.
        assert both == ([0] if domains % 2 else [])


def test_no_domain_has_more_than_four_edges_in_both_trees():
    """A leaf has one and an inner domain three, so that all NICs are loaded alike."""
    for domains in range(1, 201):
        edges = np.zeros(domains, int)
        for tree in (0, 1):
            up = parents(domains, tree)
            edges += np.bincount(up[up >= 0], minlength=domains) + (up >= 0)
        assert edges.max() <= 4
