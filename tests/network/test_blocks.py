import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.errors import UsageError
from wirespeed.network import Side, Uses, bottleneck_of, product_loads

pytestmark = pytest.mark.fast


def test_an_alltoall_on_one_switch_takes_the_closed_form():
    n, size, bandwidth = 1024, 256 * 2**20, 50e9
    up, down = Uses.uniform(np.arange(n)[:, None]), Uses.uniform(n + np.arange(n)[:, None])
    loads = product_loads(Side(up), Side(down), size / n, 2 * n)
    found = bottleneck_of(loads, np.full(2 * n, bandwidth))
    assert found.time == pytest.approx((n - 1) / n * size / bandwidth)
    assert found.time == pytest.approx(5.3635e-3, rel=1e-5)


def test_with_itself_included_an_end_sends_once_more():
    up, down = Uses.from_lists([[0], [1]]), Uses.from_lists([[2], [3]])
    assert product_loads(Side(up), Side(down), 5, 4).tolist() == [5, 5, 5, 5]
    assert product_loads(Side(up), Side(down), 5, 4, exclude_same=False).tolist() == [10] * 4


def test_two_pods_add_up_from_pairs_inside_a_node_inside_a_pod_and_between_pods():
    # 8 ends, 2 a node, 2 nodes a pod. Inside a node: link `node`; inside a pod: also `pod` links.
    ends = np.arange(8)
    node, pod = ends // 2, ends // 4
    near = Uses.uniform(ends[:, None])
    far = Uses.uniform(np.stack([ends, 8 + node], 1))
    spine = Uses.from_lists([[], [12], [13], []])
    loads = (
        product_loads(Side(near, node), Side(near, node), 1, 14)
        + product_loads(Side(far, pod, node), Side(far, pod, node), 1, 14)
        + product_loads(
            Side(far, apart=pod, gate=pod), Side(far, apart=pod, gate=pod), 1, 14, middle=spine
        )
    )
    assert loads[:8].tolist() == [14] * 8  # 7 sent and 7 received by each
    assert loads[8:12].tolist() == [24] * 4  # 2 ends of a node, 6 outside of it, both ways
    assert loads[12:].tolist() == [16, 16]  # 4 ends a pod, one way each


def labels(size):
    return st.none() | st.lists(st.integers(-1, 2), min_size=size, max_size=size).map(np.array)


@st.composite
def sides(draw):
    size = draw(st.integers(1, 5))
    rows = st.lists(st.integers(0, 3), max_size=3)
    gates = st.lists(st.integers(0, 1), min_size=size, max_size=size).map(np.array)
    uses = Uses.from_lists(draw(st.lists(rows, min_size=size, max_size=size)))
    return Side(uses, draw(labels(size)), draw(labels(size)), draw(gates))


@given(sides(), sides(), st.booleans(), st.booleans())
def test_counted_loads_are_those_of_all_pairs_written_down(sources, destinations, exclude, through):
    middle = Uses.from_lists([[0], [1, 1, 2], [], [3, 0]]) if through else None
    expected = np.zeros(4)
    n, m = sources.uses.transfers, destinations.uses.transfers
    for i in range(n):
        for j in range(m):
            ours = [
                s.labels("together", np.zeros(5, int))[k]
                for s, k in ((sources, i), (destinations, j))
            ]
            apart = [
                sources.labels("apart", np.arange(n))[i],
                destinations.labels("apart", np.arange(m))[j],
            ]
            if ours[0] != ours[1] or (exclude and apart[0] == apart[1]):
                continue
            expected += sources.uses.select([i]).loads(2.0, 4)
            expected += destinations.uses.select([j]).loads(2.0, 4)
            if middle:
                row = sources.gate[i] * 2 + destinations.gate[j]
                expected += middle.select([row]).loads(2.0, 4)
    loads = product_loads(sources, destinations, 2.0, 4, middle=middle, exclude_same=exclude)
    assert loads.tolist() == expected.tolist()


def test_labels_and_gates_that_do_not_fit_are_refused():
    one = Uses.from_lists([[0]])
    with pytest.raises(UsageError, match="together"):
        product_loads(Side(one, np.array([1, 2])), Side(one), 1, 1)
    with pytest.raises(UsageError, match="middle"):
        product_loads(Side(one), Side(one), 1, 1, middle=Uses.from_lists([[0], [0]]))
    with pytest.raises(UsageError, match="gates"):
        product_loads(Side(one, gate=np.array([4])), Side(one), 1, 1, middle=one)
