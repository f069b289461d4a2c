import numpy as np
import pytest

from wirespeed.errors import UsageError
from wirespeed.network import Uses

pytestmark = pytest.mark.fast


def as_lists(uses):
    return [
        list(zip(uses.resource[a:b].tolist(), uses.weight[a:b].tolist(), strict=True))
        for a, b in zip(uses.first[:-1], uses.first[1:], strict=True)
    ]


def test_a_resource_moves_the_payload_times_its_weight():
    uses = Uses.from_lists([[0, 1], [1], []], [[1, 2], [3], []])
    assert uses.loads([10, 100, 1000], 3).tolist() == [10, 320, 0]
    assert uses.loads(10, 3).tolist() == [10, 50, 0]


def test_a_resource_named_twice_is_loaded_twice():
    uses = Uses.from_lists([[4, 0, 4]])
    assert uses.loads(1.0, 5).tolist() == [1, 0, 0, 0, 2]
    assert as_lists(uses.merge_duplicates()) == [[(0, 1.0), (4, 2.0)]]


def test_merging_changes_no_load():
    uses = Uses.from_lists([[2, 2], [], [1, 0, 1]], [[1, 2], [], [1, 5, 3]])
    merged = uses.merge_duplicates()
    assert merged.counts.tolist() == [1, 0, 2]
    assert np.array_equal(merged.loads([3, 5, 7], 3), uses.loads([3, 5, 7], 3))
    assert merged.merge_duplicates() is merged


def test_selected_transfers_keep_their_uses_in_the_order_asked_for():
    uses = Uses.from_lists([[0], [1, 2], [], [3]])
    assert as_lists(uses.select([3, 1])) == [[(3, 1.0)], [(1, 1.0), (2, 1.0)]]
    assert as_lists(uses.select(np.array([True, False, True, False]))) == [[(0, 1.0)], []]


def test_a_mask_must_cover_all_transfers():
    with pytest.raises(UsageError, match="mask"):
        Uses.from_lists([[0], [1]]).select(np.array([True]))
    assert Uses.from_lists([[0]]).select([]).transfers == 0


def test_parts_stand_one_after_the_other():
    whole = Uses.concatenate(
        [Uses.from_lists([[0], [1]]), Uses.from_lists([]), Uses.uniform([[2, 3]])]
    )
    assert as_lists(whole) == [[(0, 1.0)], [(1, 1.0)], [(2, 1.0), (3, 1.0)]]
    assert Uses.concatenate([]).transfers == 0


@pytest.mark.parametrize(
    ("first", "resource", "weight"),
    [
        ([0, 2], [0], [1.0]),
        ([1, 1], [0], [1.0]),
        ([0, 2, 1, 2], [0, 1], [1.0, 1.0]),
        ([0, 1], [-1], [1.0]),
        ([0, 1], [0], [0.0]),
        ([0, 1], [0], [np.nan]),
        ([0, 1], [0], [1.0, 2.0]),
    ],
)
def test_arrays_that_do_not_fit_are_refused(first, resource, weight):
    with pytest.raises(UsageError):
        Uses(np.array(first), np.array(resource), np.array(weight))


def test_a_resource_beyond_the_known_ones_is_refused():
    with pytest.raises(UsageError, match="resource 7"):
        Uses.from_lists([[7]]).loads(1.0, 7)
