"""What a job's collectives take: the slowest group counts, wherever it is."""

from __future__ import annotations

import numpy as np
import pytest

import wirespeed as ws
from training.jobs import gpt, job
from wirespeed.collectives.operation import Operation
from wirespeed.topology.cluster import everyone
from wirespeed.training.communication import Wires, differing
from wirespeed.training.forecast import simulate_step
from wirespeed.training.layout import Layout


def wires(nodes: int, *changes: str, **layout) -> Wires:
    return Wires(ws.cluster("dgx-h100", nodes=nodes, changes=changes), Layout(**layout))


def tensor(nodes: int, *changes: str) -> float:
    found = wires(nodes, *changes, dp=nodes, tp=8)
    return found.call("tp", Operation.ALL_REDUCE, 2.0**26).seconds


@pytest.mark.slow
@pytest.mark.parametrize("node", [0, 63, 70, 79])
def test_a_slow_link_is_felt_on_whichever_of_80_nodes_it_is(node):
    slow = tensor(80, f"node{node}/gpu3=0.1")
    assert slow > 2 * tensor(80)
    assert slow == pytest.approx(tensor(80, "node5/gpu3=0.1"))


def test_a_pipeline_waits_for_its_slowest_pair_and_not_for_its_first():
    """Stage 1 on GPUs 4 to 7 sends to stage 2 on the next node's GPUs 0 to 3."""
    plain = wires(2, tp=4, pp=4).send(1, 2.0**24).seconds
    for nic in range(4):
        slow = wires(2, f"node1/nic{nic}=0.1", tp=4, pp=4).send(1, 2.0**24).seconds
        assert slow > 2 * plain


def test_few_groups_are_looked_at_and_those_that_differ_always():
    cluster = ws.cluster("dgx-h100", nodes=40, changes=["node3/nic0=0.5", "node9/nic0=0.5"])
    groups = everyone(cluster).gpus.reshape(-1, 8)
    # One of the 38 that nothing touched, and one of the two that are slow in the same way.
    assert differing(cluster, groups) == [0, 3]
    worse = ws.cluster("dgx-h100", nodes=40, changes=["node3/nic0=0.5", "node9/nic0=0.4"])
    assert differing(worse, groups) == [0, 3, 9]
    assert differing(ws.cluster("dgx-h100", nodes=40), groups) == [0]


def test_layouts_share_what_was_laid_out_for_the_same_gpus():
    cluster, shared = ws.cluster("dgx-h100", nodes=4), {}
    one = Wires(cluster, Layout(dp=4, tp=8), shared)
    other = Wires(cluster, Layout(dp=2, tp=8, pp=2), shared)
    first = one.call("tp", Operation.ALL_REDUCE, 1e7)
    laid = len(shared)
    assert other.call("tp", Operation.ALL_REDUCE, 1e7) == first
    assert len(shared) == laid


def seconds(*changes: str, **layout) -> float:
    cluster = ws.cluster("dgx-h100", nodes=2, changes=changes)
    filled = {"micro_batch": 1, "recompute": "full", **layout}
    return simulate_step(job(gpt(), batch=16, seq=2048, **filled), cluster).seconds


@pytest.mark.slow
@pytest.mark.parametrize("layout", [{"dp": 16}, {"dp": 2, "tp": 8}, {"dp": 4, "tp": 2, "pp": 2}])
def test_a_slower_part_never_makes_a_step_faster(layout):
    plain = seconds(**layout)
    for change in ("node1/nic0=0.2", "node0/gpu0=0.5", "node1/gpu7:compute=0.5"):
        assert seconds(change, **layout) >= plain * (1 - 1e-9)
    assert seconds("node1/gpu7:compute=0.5", **layout) > plain


@pytest.mark.parametrize("layout", [{"dp": 16}, {"dp": 2, "tp": 8}, {"dp": 4, "tp": 2, "pp": 2}])
def test_what_a_step_is_spent_on_sums_to_the_step_and_nothing_is_negative(layout):
    cluster = ws.cluster("dgx-h100", nodes=2)
    asked = job(gpt(), batch=16, seq=2048, micro_batch=1, recompute="none", **layout)
    step = simulate_step(asked, cluster)
    assert sum(step.spent.values()) == pytest.approx(max(span.end for span in step.spans))
    assert min(step.spent.values()) >= 0
    assert np.isfinite(step.seconds)
