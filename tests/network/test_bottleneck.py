import numpy as np
import pytest

from wirespeed.errors import UsageError
from wirespeed.network import Uses, bottleneck_of, bottleneck_time, utilisation

pytestmark = pytest.mark.fast


def test_a_ring_on_one_switch_ends_when_a_link_has_moved_its_share():
    n, size, bandwidth = 64, 2**30, 50e9
    up, down = np.arange(n), n + (np.arange(n) + 1) % n
    step = bottleneck_time(
        Uses.uniform(np.stack([up, down], 1)), size / n, np.full(2 * n, bandwidth)
    )
    assert 2 * (n - 1) * (step.time + 1e-6) == pytest.approx(42.4046e-3, rel=1e-6)


def test_the_slowest_resource_is_named():
    uses = Uses.from_lists([[0, 1], [1, 2]])
    found = bottleneck_time(uses, [100, 300], [10, 100, 50])
    assert (found.time, found.resource) == (10.0, 0)
    assert found.loads.tolist() == [100, 400, 300]


def test_bytes_on_a_resource_that_is_down_never_arrive():
    found = bottleneck_time(Uses.from_lists([[0, 1]]), 8, [0, 1])
    assert (found.time, found.resource) == (np.inf, 0)


def test_a_down_resource_without_load_costs_nothing():
    assert bottleneck_of([0, 8], [0, 2]).time == 4


def test_unlimited_resources_never_bound():
    found = bottleneck_time(Uses.from_lists([[0]]), 8, [np.inf])
    assert (found.time, found.resource) == (0.0, -1)


def test_nothing_to_do_takes_no_time():
    found = bottleneck_time(Uses.from_lists([]), 1.0, [1.0])
    assert (found.time, found.resource) == (0.0, -1)


def test_a_resource_at_its_capacity_is_used_wholly():
    uses = Uses.from_lists([[0, 1], [1]], [[1, 2], [1]])
    assert utilisation(uses, [2, 4], [4, 8]).tolist() == [0.5, 1.0]


def test_negative_and_missing_capacities_are_refused():
    for wrong in ([-1.0], [np.nan], 3.0):
        with pytest.raises(UsageError, match="capacities"):
            bottleneck_of([1.0], wrong)
