"""Micro-batches on their way from host memory."""

from __future__ import annotations

import pytest

import wirespeed as ws
from wirespeed.topology.change import parse_change
from wirespeed.training.upload import seconds_a_byte


def step(on, batch=1024):
    return ws.train("resnet50", on, global_batch=batch, precision="fp16", explain=False)


def test_gpus_that_share_an_uplink_share_its_rate():
    alone, shared = (seconds_a_byte(ws.cluster(name)) for name in ("dgx-h100", "dgx-1v"))
    # A GPU has an x16 Gen5 link of its own there; here two share one of Gen3.
    assert 1 / alone == pytest.approx(63e9, rel=0.35)
    assert 1 / shared == pytest.approx(15.75e9 / 2, rel=0.35)


def test_it_hides_behind_computing_where_pcie_is_whole():
    assert (
        step(ws.cluster("dgx-1v")).breakdown_s.host < 0.1 * step(ws.cluster("dgx-1v")).step_time_s
    )


def test_a_loader_that_is_slower_than_the_gpu_decides():
    """Images a second of a GPU cannot be more than its link brings."""
    narrow = ws.cluster("dgx-1v", changes=[parse_change("*/root0=0.01"), "*/root1=0.01"])
    slow = step(narrow)
    assert slow.breakdown_s.host > 0.5 * slow.step_time_s
    most = 1 / (seconds_a_byte(narrow) * 3 * 224 * 224)
    assert slow.tokens_per_s_per_gpu <= most * 1.001


def test_tokens_are_nothing_to_fetch():
    on = ws.cluster("dgx-1v")
    tiny = ws.cluster("dgx-1v", changes=["*/root0=0.01", "*/root1=0.01"])
    times = [
        ws.train("bert-large", c, framework="DDP", seq=128, global_batch=256, explain=False)
        for c in (on, tiny)
    ]
    assert times[0].breakdown_s.host == pytest.approx(times[1].breakdown_s.host, rel=0.01)
