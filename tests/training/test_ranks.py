"""Rank order decides who are neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wirespeed as ws
from wirespeed.errors import Infeasible, UsageError
from wirespeed.training.layout import Layout
from wirespeed.training.ranks import groups_on, rank_groups

degrees = st.sampled_from([1, 2, 3, 4])


def test_megatrons_own_example():
    """16 GPUs, tp 2, pp 4: the groups in the docstring of Megatron's initialize_model_parallel."""
    layout = Layout(dp=2, tp=2, pp=4)
    assert rank_groups(layout, "tp").tolist() == [[2 * i, 2 * i + 1] for i in range(8)]
    assert rank_groups(layout, "dp").tolist() == [
        *([0, 2], [1, 3], [4, 6], [5, 7]),
        *([8, 10], [9, 11], [12, 14], [13, 15]),
    ]
    assert rank_groups(layout, "pp").tolist() == [
        *([0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15])
    ]
    assert rank_groups(layout, "ends").tolist() == [[0, 12], [1, 13], [2, 14], [3, 15]]


def test_hsdp_shards_among_neighbours_and_replicates_outside():
    layout = Layout(dp=16, sharding="zero3", shard_group=8)
    assert rank_groups(layout, "shard").tolist() == [list(range(8)), list(range(8, 16))]
    assert rank_groups(layout, "replicate").tolist() == [[i, i + 8] for i in range(8)]


def test_context_parallel_ranks_share_weights():
    layout = Layout(dp=2, cp=2, tp=2)
    assert rank_groups(layout, "cp").tolist() == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert sorted(map(sorted, rank_groups(layout, "gradients").tolist())) == [
        [0, 2, 4, 6],
        [1, 3, 5, 7],
    ]


@given(dp=degrees, tp=degrees, pp=degrees, cp=degrees)
def test_every_rank_is_in_one_group_of_each_kind(dp, tp, pp, cp):
    layout = Layout(dp=dp, tp=tp, pp=pp, cp=cp, sharding="zero1")
    for kind, size in {
        **{"tp": tp, "cp": cp, "dp": dp, "pp": pp},
        **{"gradients": dp * cp, "shard": dp * cp, "replicate": 1},
    }.items():
        groups = rank_groups(layout, kind)
        assert groups.shape == (layout.gpus // size, size)
        assert sorted(groups.ravel()) == list(range(layout.gpus))


@given(dp=degrees, tp=degrees, pp=degrees)
def test_two_groups_of_different_kinds_share_one_rank_at_most(dp, tp, pp):
    layout = Layout(dp=dp, tp=tp, pp=pp)
    for one, other in (("tp", "dp"), ("tp", "pp"), ("dp", "pp")):
        for a in rank_groups(layout, one):
            for b in rank_groups(layout, other):
                assert len(np.intersect1d(a, b)) <= 1


def test_another_order_makes_other_neighbours():
    layout = Layout(dp=2, tp=4, rank_order="dp-tp")
    assert rank_groups(layout, "dp").tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert rank_groups(layout, "tp")[0].tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("order", ["tp-tp-dp-pp", "tp", "rail", ""])
def test_an_order_that_is_none_is_refused(order):
    with pytest.raises(UsageError, match="no order of ranks"):
        rank_groups(Layout(dp=2, tp=2, pp=2, rank_order=order or "-"), "tp")


def test_tensor_parallelism_stays_inside_a_node():
    cluster = ws.cluster("dgx-h100", nodes=4)
    layout = Layout(dp=2, tp=8, pp=2)
    node_of = cluster.topology.node
    for group in groups_on(cluster, layout, "tp"):
        assert len(set(node_of[group.gpus])) == 1
    for group in groups_on(cluster, layout, "dp"):
        assert len(set(node_of[group.gpus])) == 2


def test_a_cluster_that_is_too_small_says_so():
    with pytest.raises(Infeasible, match="needs 16 GPUs, the cluster has 8"):
        groups_on(ws.cluster("dgx-h100"), Layout(dp=16), "dp")
