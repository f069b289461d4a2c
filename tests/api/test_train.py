"""train: what its words mean, and that the cluster's changes reach the step."""

from __future__ import annotations

import pytest

import wirespeed as ws
from wirespeed.training.layout import Layout

GPT = {"layout": {"tp": 2}, "global_batch": 32, "seq": 1024, "explain": False}


@pytest.fixture(scope="module")
def pair():
    return ws.cluster("dgx-a100", nodes=2)


def seconds(on, model="gpt2-medium", **changes) -> float:
    return ws.train(model, on, **(GPT | changes)).step_time_s


def test_a_layout_is_a_mapping_or_a_layout(pair):
    as_words = ws.train("gpt2-medium", pair, **GPT)
    as_layout = ws.train("gpt2-medium", pair, **(GPT | {"layout": Layout(tp=2, dp=8)}))
    assert as_words.step_time_s == as_layout.step_time_s
    assert as_words.layout["dp"] == 8


def test_an_unknown_field_of_a_layout_is_an_error_with_the_nearest(pair):
    with pytest.raises(ws.WirespeedError, match=r"did you mean .*micro_batch"):
        ws.train("gpt2-medium", pair, {"microbatch": 2}, global_batch=32)


def test_a_model_without_degrees_gets_the_least_splitting_that_fits(pair):
    small = ws.train("gpt2-medium", pair, global_batch=32, seq=1024, explain=False)
    assert (small.layout["tp"], small.layout["pp"]) == (1, 1)
    large = ws.train("llama3-70b", ws.cluster("dgx-h100", nodes=8), explain=False)
    assert large.layout["tp"] == 8
    assert large.memory_GiB.reserved < 80
    assert {"dp", "tp"} <= set(large.chosen)


def test_images_are_trained_with_ddp_and_old_gpus_without_bf16():
    images = ws.train("resnet-50", "dgx-1v", explain=False)
    assert (images.framework, images.precision, images.seq_len) == ("DDP", "fp16", 1)
    assert images.global_batch == 8 * 128


def test_what_changes_on_the_cluster_changes_the_step(pair):
    plain = seconds(pair)
    slow_gpu = ws.cluster("dgx-a100", nodes=2, changes=["node1/gpu3:compute=0.5"])
    assert seconds(slow_gpu) > 1.5 * plain
    slow_nics = ws.cluster("dgx-a100", nodes=2, changes=["nic=1G"])
    assert seconds(slow_nics) > plain
    fast = ws.cluster("dgx-a100", nodes=2, changes=["gemm=2x", "hbm=2x"])
    assert seconds(fast) < plain


def test_a_result_prints_and_comes_back_from_json(pair, tmp_path):
    from wirespeed.topology.result import to_json

    made = ws.train("gpt2-medium", pair, **GPT)
    file = tmp_path / "step.json"
    file.write_bytes(to_json(made))
    assert ws.load(file) == made
    assert "gpt2-medium on 16 GPUs" in str(made)
    assert "<table>" in made._repr_html_()


def test_scale_takes_a_layout_and_gives_rows(tmp_path):
    from wirespeed.topology.result import to_json

    made = ws.scale("gpt2-medium", "dgx-a100", nodes=[2, 1], layout={"tp": 2}, seq=1024)
    assert [row.nodes for row in made.rows] == [1, 2]
    assert {row.layout["tp"] for row in made.rows} == {2}
    file = tmp_path / "curve.json"
    file.write_bytes(to_json(made))
    assert ws.load(file) == made


def test_more_gpus_of_a_step_never_do_more_each_with_the_same_batch():
    made = ws.scale(
        "gpt2-medium", "dgx-a100", nodes=[1, 2, 4], strong=True, global_batch=256, seq=1024
    )
    rates = [row.tokens_per_s_per_gpu for row in made.rows]
    assert rates == sorted(rates, reverse=True)
