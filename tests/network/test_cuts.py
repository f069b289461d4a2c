"""The least cut for each number of senders is what trying all of them finds."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wirespeed.network import Arcs, least_cuts, simplify


def all_cuts(arcs: list[tuple[int, int, float]], terminals: list[int], k: int) -> float:
    """The least of the maximum flows from k terminals to all others."""
    best = np.inf
    for senders in combinations(terminals, k):
        graph = nx.DiGraph()
        for a, b, capacity in arcs:
            known = graph.get_edge_data(a, b, {"capacity": 0.0})["capacity"]
            graph.add_edge(a, b, capacity=known + capacity)
        for t in terminals:
            graph.add_edge(*(("s", t) if t in senders else (t, "t")))
        best = min(best, nx.maximum_flow_value(graph, "s", "t"))
    return best


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[int, int, float]], list[int]]:
    terminals, others = draw(st.integers(2, 5)), draw(st.integers(0, 5))
    vertex = st.integers(0, terminals + others - 1)
    arc = st.tuples(vertex, vertex, st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.5]))
    return draw(st.lists(arc, max_size=24)), list(range(terminals))


@settings(max_examples=150)
@given(graphs())
def test_every_count_has_the_cut_that_trying_all_finds(
    case: tuple[list[tuple[int, int, float]], list[int]],
) -> None:
    arcs, terminals = case
    arcs = [(a, b, c) for a, b, c in arcs if a != b]
    table = least_cuts(
        simplify(Arcs.of(*zip(*arcs, strict=True)) if arcs else Arcs(), terminals), terminals
    )
    assert table is not None
    expected = [all_cuts(arcs, terminals, k) for k in range(1, len(terminals))]
    assert table.capacity[1:-1] == pytest.approx(expected)
    assert table.capacity[[0, -1]] == pytest.approx([0, 0])


@settings(max_examples=100)
@given(graphs(), st.integers(1, 4))
def test_the_senders_that_it_names_have_that_cut(
    case: tuple[list[tuple[int, int, float]], list[int]], k: int
) -> None:
    arcs, terminals = case
    arcs = [(a, b, c) for a, b, c in arcs if a != b]
    k = min(k, len(terminals) - 1)
    table = least_cuts(
        simplify(Arcs.of(*zip(*arcs, strict=True)) if arcs else Arcs(), terminals), terminals
    )
    assert table is not None
    senders = table.senders(k)
    assert len(senders) == k
    graph = nx.DiGraph()
    graph.add_nodes_from(["s", "t"])
    for a, b, capacity in arcs:
        known = graph.get_edge_data(a, b, {"capacity": 0.0})["capacity"]
        graph.add_edge(a, b, capacity=known + capacity)
    for t in terminals:
        graph.add_edge(*(("s", t) if t in senders else (t, "t")))
    assert nx.maximum_flow_value(graph, "s", "t") == pytest.approx(table.capacity[k])


@st.composite
def cliques(draw: st.DrawFn) -> tuple[list[tuple[int, int, float]], list[int]]:
    """Terminals on some of the switches that all are joined with each other, most of them alike."""
    terminals, hubs = draw(st.integers(2, 4)), draw(st.integers(3, 6))
    switches = range(terminals, terminals + hubs)
    width = draw(st.sampled_from([0.5, 1.0, 2.0]))
    arcs = [(a, b, width) for a in switches for b in switches if a != b]
    for terminal in range(terminals):
        hub, rate = draw(st.sampled_from(switches)), draw(st.sampled_from([1.0, 2.0, 3.0]))
        arcs += [(terminal, hub, rate), (hub, terminal, draw(st.sampled_from([rate, 1.0])))]
    cable = draw(st.integers(0, len(arcs) - 1))
    slow = draw(st.sampled_from([1.0, 0.5]))
    arcs[cable] = (*arcs[cable][:2], arcs[cable][2] * slow)
    return arcs, list(range(terminals))


@settings(max_examples=100)
@given(cliques())
def test_switches_of_a_clique_that_are_alike_are_one(
    case: tuple[list[tuple[int, int, float]], list[int]],
) -> None:
    arcs, terminals = case
    simple = simplify(Arcs.of(*zip(*arcs, strict=True)), terminals)
    table = least_cuts(simple, terminals)
    assert table is not None
    expected = [all_cuts(arcs, terminals, k) for k in range(1, len(terminals))]
    assert table.capacity[1:-1] == pytest.approx(expected)


def test_a_clique_without_terminals_of_its_own_all_but_falls_away() -> None:
    hubs = range(2, 34)
    arcs = [(a, b, 1.0) for a in hubs for b in hubs if a != b]
    arcs += [(0, 2, 9.0), (2, 0, 9.0), (1, 3, 9.0), (3, 1, 9.0)]
    assert len(simplify(Arcs.of(*zip(*arcs, strict=True)), [0, 1]).vertices) <= 8


def star(ends: int, capacity: float) -> list[tuple[int, int, float]]:
    hub = ends
    return [(e, hub, capacity) for e in range(ends)] + [(hub, e, capacity) for e in range(ends)]


def test_on_a_switch_a_side_sends_what_its_smaller_part_can_take() -> None:
    table = least_cuts(Arcs.of(*zip(*star(6, 2.0), strict=True)), range(6))
    assert table is not None
    assert table.capacity.tolist() == [0, 2, 4, 6, 4, 2, 0]


def test_equal_switches_count_as_one() -> None:
    arcs = [(e, hub, 1.0) for hub in (10, 11, 12) for e in range(4)]
    arcs += [(b, a, c) for a, b, c in arcs]
    assert len(simplify(Arcs.of(*zip(*arcs, strict=True)), range(4)).vertices) == 5


def test_a_slow_link_in_a_chain_is_all_that_is_left_of_it() -> None:
    arcs = Arcs.of([0, 2, 3], [2, 3, 1], [5.0, 1.0, 7.0])
    assert list(simplify(arcs, [0, 1])) == [(0, 1, 1.0)]


def test_a_free_vertex_tells_both_of_its_sides_apart() -> None:
    # The world beyond hangs on the hub by one unit, which may come in or go out.
    arcs = [*star(3, 2.0), (3, 9, 1.0), (9, 3, 1.0)]
    table = least_cuts(Arcs.of(*zip(*arcs, strict=True)), range(3), free=[9])
    assert table is not None
    assert table.capacity[:, 0].tolist() == [0, 2, 3, 1]
    assert table.capacity[:, 1].tolist() == [1, 3, 2, 0]
    assert len(table.senders(2, {9: 0})) == 2


def test_a_fixed_root_sends_whatever_the_count() -> None:
    table = least_cuts(Arcs.of(*zip(*star(3, 2.0), strict=True)), range(3), fixed={1: 1})
    assert table is not None
    assert table.capacity[0] == np.inf
    assert table.senders(1) == {1}
