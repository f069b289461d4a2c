import numpy as np
import pytest
from hypothesis import given

from network.oracles import networks
from wirespeed.errors import UsageError
from wirespeed.network import (
    Partition,
    Uses,
    bottleneck_time,
    fair_rates,
    is_equitable,
    partition,
    quotient,
    simulate,
)

pytestmark = pytest.mark.fast


def ring(n):
    return Uses.uniform(np.stack([np.arange(n), n + (np.arange(n) + 1) % n], 1))


def test_all_ranks_of_a_ring_are_alike():
    classes = partition(ring(64), np.full(128, 50e9))
    assert classes.transfers == 1
    # Links up and links down cannot be told apart from what crosses them.
    assert classes.resources == 1


def test_one_slow_link_breaks_the_symmetry_of_a_line_through_it():
    # Transfer i crosses links i and i + 1, so that the difference spreads along the ring.
    n = 9
    uses = Uses.uniform(np.stack([np.arange(n), (np.arange(n) + 1) % n], 1))
    capacity = np.full(n, 10.0)
    assert partition(uses, capacity).transfers == 1
    capacity[4] = 5.0
    broken = partition(uses, capacity)
    assert broken.transfer[3] == broken.transfer[4]
    assert broken.transfer[3] != broken.transfer[5]
    assert (broken.transfers, broken.resources) == (5, 5)  # what is left is the mirror


def test_bytes_tell_transfers_apart():
    classes = partition(ring(4), np.ones(8), [1, 2, 1, 2])
    assert classes.transfers == 2
    assert classes.transfer[0] == classes.transfer[2] != classes.transfer[1]


def test_a_heavier_use_tells_transfers_apart():
    uses = Uses.from_lists([[0], [1], [2]], [[1], [1], [2]])
    classes = partition(uses, np.ones(3))
    assert classes.transfer[0] == classes.transfer[1] != classes.transfer[2]
    merged = partition(Uses.from_lists([[0, 0], [1]], [[1, 1], [2]]), np.ones(2))
    assert merged.transfers == 1


def test_a_partition_that_hides_a_difference_is_not_equitable():
    uses = Uses.from_lists([[0], [0], [1]])
    assert not is_equitable(uses, Partition(np.array([0, 0, 0]), np.array([0, 0])))
    assert not is_equitable(uses, Partition(np.array([0, 0, 0]), np.array([0, 1])))
    assert is_equitable(uses, Partition(np.array([0, 0, 1]), np.array([0, 1])))


def test_nothing_has_no_classes():
    classes = partition(Uses.from_lists([]), [])
    assert (classes.transfers, classes.resources) == (0, 0)
    small, capacity = quotient(Uses.from_lists([]), [], classes)
    assert (small.transfers, capacity.size) == (0, 0)


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match="bytes"):
        partition(ring(4), np.ones(8), [1.0, 2.0])
    with pytest.raises(UsageError, match="resource 7"):
        partition(ring(4), np.ones(4))


@given(networks(most_transfers=9))
def test_the_network_of_classes_has_the_rates_of_the_whole(network):
    uses, capacity = network
    classes = partition(uses, capacity)
    assert is_equitable(uses.merge_duplicates(), classes)
    small, small_capacity = quotient(uses, capacity, classes)
    assert fair_rates(small, small_capacity)[classes.transfer] == pytest.approx(
        fair_rates(uses, capacity)
    )


@given(networks(most_transfers=5))
def test_a_doubled_network_is_found_out_and_finishes_as_one(network):
    uses, capacity = network
    shifted = Uses(uses.first, uses.resource + capacity.size, uses.weight)
    twice, both = Uses.concatenate([uses, shifted]), np.tile(capacity, 2)
    sizes = np.tile(np.arange(uses.transfers) % 2 + 1.0, 2)
    classes = partition(twice, both, sizes)
    assert classes.transfers <= uses.transfers
    assert (classes.transfer[: uses.transfers] == classes.transfer[uses.transfers :]).all()
    small, small_capacity = quotient(twice, both, classes)
    size = np.zeros(classes.transfers)
    size[classes.transfer] = sizes
    assert simulate(small, size, small_capacity).times[classes.transfer] == pytest.approx(
        simulate(twice, sizes, both).times
    )
    assert bottleneck_time(small, size, small_capacity).time == pytest.approx(
        bottleneck_time(twice, sizes, both).time
    )
