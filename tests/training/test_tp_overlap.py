"""Tensor parallelism's collectives beside their products."""

from __future__ import annotations

import pytest

import wirespeed as ws
from wirespeed.errors import Infeasible


def exposed(tp, overlap, **given):
    step = ws.train(
        "llama3-8b",
        ws.cluster("dgx-h100", **given),
        {"tp": tp, "sequence_parallel": True},
        global_batch=16,
        seq=4096,
        tp_overlap=overlap,
        explain=False,
    )
    return step.breakdown_s


@pytest.mark.parametrize("tp", [2, 4, 8])
def test_part_of_it_hides_and_at_best_all_but_one_part(tp):
    apart, beside = exposed(tp, False), exposed(tp, True)
    assert beside.compute == pytest.approx(apart.compute, rel=0.01)
    assert apart.exposed_tp / tp < beside.exposed_tp < 0.9 * apart.exposed_tp


def test_llama_70b_gains_about_a_tenth_on_256_gpus():
    """As published: 9 to 10 % for async TP of torchtitan, bf16, 70B on 256 H100."""
    on, layout = ws.cluster("dgx-h100", nodes=32), {"tp": 8, "sharding": "zero3"}
    given = {"global_batch": 256, "framework": "torchtitan", "explain": False}
    apart, beside = (
        ws.train("llama3-70b", on, layout, tp_overlap=overlap, **given).step_time_s
        for overlap in (False, True)
    )
    assert 1.06 < apart / beside < 1.14


def test_what_is_longer_than_its_products_stays_exposed():
    slow = ["net=socket", "nvls=off", "p2p=off"]
    apart, beside = (exposed(8, overlap, changes=slow) for overlap in (False, True))
    assert apart.exposed_tp > apart.compute
    assert 0.3 * apart.exposed_tp < beside.exposed_tp < apart.exposed_tp


def test_it_takes_tensor_and_sequence_parallelism():
    with pytest.raises(Infeasible, match="sequence parallelism"):
        ws.train("llama3-8b", "dgx-h100", {"tp": 1, "dp": 8}, tp_overlap=True)
