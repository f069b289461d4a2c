"""Activations of a layer are those of Korthikanti et al. (2022), their table 2."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.jobs import gpt, job
from wirespeed.models import shipped
from wirespeed.training.activations import saved, split_of

heads = st.sampled_from([16, 32, 64])
tps = st.sampled_from([1, 2, 4, 8])
batches = st.integers(1, 4)


def kept(a, h, s, b, t, *, sequence_parallel=False, recompute="none", framework="Megatron-LM"):
    """Bytes of a block, over sbh."""
    model = gpt(layers=1, hidden=h, heads=a, seq=s)
    asked = job(
        model,
        batch=b,
        seq=s,
        framework=framework,
        tp=t,
        micro_batch=b,
        sequence_parallel=sequence_parallel,
    )
    return saved(model.layers[1], split_of(asked), recompute) / (s * b * h)


@given(a=heads, t=tps, b=batches, s=st.sampled_from([512, 2048]))
def test_tensor_parallelism_keeps_10_plus_24_over_t_plus_5_as_over_ht(a, t, b, s):
    h = a * 128
    assert kept(a, h, s, b, t) == pytest.approx(10 + 24 / t + 5 * a * s / (h * t))


@given(a=heads, t=tps, b=batches, s=st.sampled_from([512, 2048]))
def test_with_sequence_parallelism_all_is_divided(a, t, b, s):
    h = a * 128
    expected = (34 + 5 * a * s / h) / t
    assert kept(a, h, s, b, t, sequence_parallel=True) == pytest.approx(expected)


@given(a=heads, t=tps, b=batches)
def test_selective_recompute_drops_what_grows_with_the_square_of_the_sequence(a, t, b):
    got = kept(a, a * 128, 2048, b, t, sequence_parallel=True, recompute="selective")
    assert got == pytest.approx(34 / t)


@given(a=heads, t=tps, b=batches)
def test_full_recompute_keeps_the_input(a, t, b):
    assert kept(a, a * 128, 2048, b, t, recompute="full") == pytest.approx(2)
    shared = kept(a, a * 128, 2048, b, t, recompute="full", sequence_parallel=True)
    assert shared == pytest.approx(2 / t)


def test_a_flash_kernel_keeps_no_matrix():
    flash = kept(16, 2048, 2048, 1, 1, framework="Megatron-Core")
    rows = 16 * 4 / 2048  # the sum of each row and head, fp32
    assert flash == pytest.approx(34 + rows)


@pytest.mark.parametrize(
    ("name", "hidden", "attention_share"),
    [("gpt3-175b", 12288, 80), ("mt-nlg-530b", 20480, 64)],
)
def test_attentions_share_is_that_of_the_paper(name, hidden, attention_share):
    """5 as/h is 80 for GPT-3 and 64 for MT-NLG at a sequence of 2,048: section 5 of the paper."""
    model = shipped(name)
    asked = job(model, seq=2048, framework="Megatron-LM", micro_batch=1)
    split = split_of(asked)
    block = model.layers[1]
    bytes_ = saved(block, split, "none") - saved(block, split, "selective")
    assert bytes_ / (2048 * hidden) == attention_share


@pytest.mark.parametrize(
    ("a", "h"),
    [(64, 6144), (96, 12288), (128, 20480), (160, 25600)],
    ids=["22B", "175B", "530B", "1T"],
)
def test_of_all_activations_a_fifth_is_left_with_both_and_a_tenth_with_full_recompute(a, h):
    """Figure 7 of the paper, tp 8, against no recompute and no sequence parallelism."""
    none = kept(a, h, 2048, 1, 8)
    both = kept(a, h, 2048, 1, 8, sequence_parallel=True, recompute="selective")
    assert 0.16 <= both / none <= 0.21
    assert 0.07 <= kept(a, h, 2048, 1, 8, recompute="full") / none <= 0.10


@given(b=batches, s=st.sampled_from([1024, 4096]), more=st.integers(2, 4))
def test_more_of_anything_keeps_no_less(b, s, more):
    base = kept(16, 2048, s, b, 1) * s * b
    assert kept(16, 2048, s, b * more, 1) * s * b * more == pytest.approx(base * more)
    assert kept(16, 2048, s * more, b, 1) * s * more * b > base * more


def test_every_other_product_is_kept_between_selective_and_none():
    model = shipped("llama3-8b")
    asked = job(model, seq=8192, framework="torchtitan", micro_batch=1)
    split = split_of(asked)
    block = model.layers[1]
    full, alternate, none = (
        saved(block, split, "full"),
        saved(block, split, "selective", "alternate"),
        saved(block, split, "none"),
    )
    assert full < alternate < none
    # Input, attention's output and row sums; q, v, gate and down of q, k, v, out, gate, up, down.
    per_token = 2 * (4096 + 4096 + 4096 + 1024 + 14336 + 4096) + 4 * 32
    assert alternate == 8192 * per_token


def test_fp8_inputs_are_kept_in_one_byte_where_the_framework_does():
    model = shipped("llama3-8b")
    kinds = {}
    for framework in ("Megatron-Core", "torchtitan"):
        for precision in ("bf16", "fp8"):
            asked = job(model, framework=framework, precision=precision, micro_batch=1)
            kinds[framework, precision] = saved(model.layers[1], split_of(asked), "none")
    assert kinds["torchtitan", "fp8"] == kinds["torchtitan", "bf16"]
    assert kinds["Megatron-Core", "fp8"] < kinds["Megatron-Core", "bf16"]
