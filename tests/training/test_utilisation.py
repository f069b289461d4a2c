"""MFU and HFU of published runs are those that were published with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.jobs import gpt, job
from wirespeed.models import SEEN, from_fields, shipped
from wirespeed.training.utilisation import hardware_flops, hfu, mfu, model_flops, peak

A100 = 312e12

# Korthikanti et al. 2022, table 5: layers, hidden, heads, tp, pp, batch, seconds, MFU, HFU.
PAPER = {
    "22B": (48, 6144, 64, 8, 1, 4, 1.10, 0.415, 0.437),
    "175B": (96, 12288, 96, 8, 8, 64, 13.75, 0.514, 0.528),
    "530B": (105, 20480, 128, 8, 35, 280, 37.83, 0.560, 0.570),
    "1T": (128, 25600, 160, 8, 64, 512, 71.49, 0.563, 0.570),
}


@pytest.mark.parametrize("name", PAPER)
def test_megatrons_table_with_selective_recompute(name):
    layers, hidden, heads, tp, pp, batch, seconds, model, hardware = PAPER[name]
    fields = {"layers": layers, "hidden": hidden, "heads": heads, "vocab": 51200, "seq_len": 2048}
    asked = job(
        from_fields({"name": "GPT", **fields}),
        batch=batch,
        seq=2048,
        framework="Megatron-LM",
        precision="fp16",
        tp=tp,
        pp=pp,
        recompute="selective",
    )
    assert mfu(asked, seconds, A100) == pytest.approx(model, abs=0.002)
    # The paper adds s/6h of all FLOPs for the recomputed core: its forward and backward again.
    # What runs again is the forward alone, a third of that.
    run_again = hfu(asked, seconds, A100) - mfu(asked, seconds, A100)
    assert mfu(asked, seconds, A100) + 3 * run_again == pytest.approx(hardware, abs=0.005)


@given(layers=st.integers(1, 8), recompute=st.sampled_from(["none", "selective", "full"]))
def test_recompute_adds_between_nothing_and_a_third(layers, recompute):
    asked = job(gpt(layers=layers), seq=2048, recompute=recompute)
    ratio = hardware_flops(asked) / model_flops(asked)
    assert 1 <= ratio < 4 / 3
    assert (ratio == 1) == (recompute == "none")


def test_every_other_product_is_recomputed_in_torchtitan():
    """k, out and up of q, k, v, out, gate, up, down."""
    model = shipped("llama3-8b")
    asked = job(model, framework="torchtitan", recompute="selective")
    again = (hardware_flops(asked) - model_flops(asked)) / (512 * 8192 * 32)
    assert again == 2 * 4096 * (1024 + 4096 + 14336)


@given(tp=st.sampled_from([1, 2, 4]), pp=st.sampled_from([1, 2, 4]), dp=st.sampled_from([1, 2]))
def test_sharding_changes_no_flops(tp, pp, dp):
    spread = job(gpt(), seq=2048, tp=tp, pp=pp, dp=dp, recompute="full")
    assert model_flops(spread) == model_flops(job(gpt(), seq=2048))
    assert mfu(spread, 1.0, A100) * spread.layout.gpus == pytest.approx(
        mfu(job(gpt(), seq=2048), 1.0, A100)
    )


def test_counting_only_pairs_that_are_seen_counts_less():
    asked = job("llama3-8b", seq=8192)
    assert model_flops(asked, SEEN) < model_flops(asked)


def test_images_count_without_a_sequence():
    assert model_flops(job("resnet-50", batch=256, seq=1)) / 256 == pytest.approx(24.5e9, rel=0.01)


@pytest.mark.parametrize(
    ("gpu", "precision", "tflops"),
    [
        ("A100-80GB", "bf16", 312),
        ("H100-80GB", "bf16", 989),
        ("H100-80GB", "fp8", 1979),
        ("A100-80GB", "tf32", 156),
        ("V100-32GB", "fp16", 125),
    ],
)
def test_peaks_are_dense(gpu, precision, tflops):
    assert peak(gpu, precision) == pytest.approx(tflops * 1e12, rel=0.001)


def test_a_gpu_without_fp8_has_no_peak_in_it():
    assert peak("A100-80GB", "fp8") is None
