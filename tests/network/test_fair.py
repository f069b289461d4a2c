import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from network.oracles import filled, networks
from wirespeed.errors import UsageError
from wirespeed.network import Uses, bottleneck_time, fair_rates, utilisation

pytestmark = pytest.mark.fast


def test_transfers_on_one_link_share_it_equally():
    assert fair_rates(Uses.from_lists([[0]] * 4), [100.0]).tolist() == [25.0] * 4


def test_what_a_slow_transfer_leaves_goes_to_the_others():
    # Two cross link 0 (10), of which one is held to 2 by link 1.
    assert fair_rates(Uses.from_lists([[0], [0, 1]]), [10.0, 2.0]).tolist() == [8.0, 2.0]


def test_a_line_of_links_gives_the_long_flow_the_fair_share_of_the_tightest():
    uses = Uses.from_lists([[0, 1, 2], [0], [1], [2]])
    assert fair_rates(uses, [12.0, 6.0, 9.0]).tolist() == [3.0, 9.0, 3.0, 6.0]


def test_a_transfer_that_weighs_twice_fills_the_link_twice_as_fast():
    uses = Uses.from_lists([[0], [0]], [[2.0], [1.0]])
    assert fair_rates(uses, [9.0]).tolist() == [3.0, 3.0]
    assert fair_rates(Uses.from_lists([[0, 0]]), [9.0]).tolist() == [4.5]


def test_a_limit_holds_one_transfer_and_frees_the_rest():
    assert fair_rates(
        Uses.from_lists([[0]] * 3), [12.0], limits=[1.0, np.inf, np.inf]
    ).tolist() == [
        1.0,
        5.5,
        5.5,
    ]


def test_nothing_moves_over_a_resource_that_is_down():
    assert fair_rates(Uses.from_lists([[0, 1], [1]]), [0.0, 6.0]).tolist() == [0.0, 6.0]


def test_only_a_transfer_that_nothing_finite_holds_is_unlimited():
    uses = Uses.from_lists([[], [0], [0, 1], []])
    assert fair_rates(uses, [np.inf, 6.0], limits=[np.inf, np.inf, np.inf, 5.0]).tolist() == [
        np.inf,
        np.inf,
        6.0,
        5.0,
    ]


def test_no_transfers_have_no_rates():
    assert fair_rates(Uses.from_lists([]), []).size == 0


def test_a_resource_beyond_the_known_ones_is_refused():
    with pytest.raises(UsageError, match="resource 3"):
        fair_rates(Uses.from_lists([[3]]), [1.0])
    with pytest.raises(UsageError, match="limits"):
        fair_rates(Uses.from_lists([[0]]), [1.0], limits=[-1.0])


@given(networks(most_transfers=9, least_capacity=0), st.data())
def test_rates_are_those_of_an_exact_water_level(network, data):
    uses, capacity = network
    limits = data.draw(
        st.none() | st.lists(st.integers(0, 6), min_size=uses.transfers, max_size=uses.transfers)
    )
    exact = filled(uses, capacity.astype(int).tolist(), limits)
    assert fair_rates(uses, capacity, limits=limits) == pytest.approx(
        [float(rate) for rate in exact], rel=1e-9, abs=1e-12
    )


@given(networks())
def test_no_resource_runs_above_its_capacity_and_each_transfer_has_a_full_one(network):
    uses, capacity = network
    rates = fair_rates(uses, capacity)
    share = utilisation(uses, rates, capacity)
    assert (share <= 1 + 1e-9).all()
    for transfer in range(uses.transfers):
        mine = uses.select([transfer]).resource
        assert share[mine].max() == pytest.approx(1)


@given(networks(), st.randoms(use_true_random=False))
def test_order_and_labels_do_not_matter(network, random):
    uses, capacity = network
    order = random.sample(range(uses.transfers), uses.transfers)
    label = np.array(random.sample(range(capacity.size), capacity.size))
    shuffled = uses.select(order)
    renamed = Uses(shuffled.first, label[shuffled.resource], shuffled.weight)
    renamed_capacity = np.empty_like(capacity)
    renamed_capacity[label] = capacity
    assert fair_rates(renamed, renamed_capacity) == pytest.approx(
        fair_rates(uses, capacity)[order], rel=1e-12
    )


@given(networks(), st.sampled_from([1e-6, 3.0, 50e9]))
def test_rates_scale_with_the_capacities(network, scale):
    uses, capacity = network
    assert fair_rates(uses, capacity * scale) == pytest.approx(
        scale * fair_rates(uses, capacity), rel=1e-9
    )


@given(networks())
def test_the_slowest_rate_is_that_of_the_bottleneck(network):
    uses, capacity = network
    slowest = bottleneck_time(uses, 1.0, capacity).time
    assert 1 / fair_rates(uses, capacity).min() == pytest.approx(slowest)


@given(networks())
def test_halving_the_only_bottleneck_halves_the_slowest_rate(network):
    uses, capacity = network
    found = bottleneck_time(uses, 1.0, capacity)
    halved = capacity.copy()
    halved[found.resource] /= 2
    assert fair_rates(uses, halved).min() == pytest.approx(fair_rates(uses, capacity).min() / 2)


@given(st.integers(2, 6), st.integers(0, 10**6))
def test_one_transfer_a_path_reaches_the_maximum_flow_of_disjoint_paths(width, seed):
    random = np.random.default_rng(seed)
    capacity = random.integers(1, 20, size=2 * width).astype(float)
    graph = nx.DiGraph()
    for i in range(width):
        graph.add_edge("s", i, capacity=capacity[2 * i])
        graph.add_edge(i, "t", capacity=capacity[2 * i + 1])
    rates = fair_rates(Uses.uniform(np.arange(2 * width).reshape(width, 2)), capacity)
    assert rates.sum() == pytest.approx(nx.maximum_flow_value(graph, "s", "t"))


def test_a_symmetric_ring_of_channels_is_exactly_symmetric():
    start = np.arange(4096)[:, None] * 7
    uses = Uses.uniform((start + np.arange(4) * 31) % 512, weight=1 / 3)
    rates = fair_rates(uses, np.full(512, 50e9))
    assert rates.min() == rates.max() == pytest.approx(50e9 * 3 / 32)
