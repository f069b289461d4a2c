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
def test_what_products_hide_is_all_but_one_part(tp):
    apart, beside = exposed(tp, False), exposed(tp, True)
    # The table's sum has no product to hide behind.
    assert beside.compute == pytest.approx(apart.compute, rel=0.01)
    assert beside.exposed_tp == pytest.approx(apart.exposed_tp / tp, rel=0.08)


def test_what_is_longer_than_its_products_stays_exposed():
    slow = ["net=socket", "nvls=off", "p2p=off"]
    apart, beside = (exposed(8, overlap, changes=slow) for overlap in (False, True))
    assert apart.exposed_tp > apart.compute
    assert 0.3 * apart.exposed_tp < beside.exposed_tp < apart.exposed_tp


def test_it_takes_tensor_and_sequence_parallelism():
    with pytest.raises(Infeasible, match="sequence parallelism"):
        ws.train("llama3-8b", "dgx-h100", {"tp": 1, "dp": 8}, tp_overlap=True)
