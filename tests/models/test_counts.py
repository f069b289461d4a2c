"""Counts follow the closed forms that papers give."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.models import (
    SEEN,
    WHOLE,
    Attention,
    Convention,
    Matmul,
    Pointwise,
    forward_flops,
    from_fields,
    pairs,
    parameters,
    shipped,
    training_flops,
)


def gpt(layers: int, hidden: int, heads: int, seq: int, vocab: int = 51200):
    fields = {"layers": layers, "hidden": hidden, "heads": heads, "vocab": vocab, "seq_len": seq}
    return from_fields({"name": "GPT", **fields})


@given(
    layers=st.integers(1, 40),
    heads=st.integers(1, 32),
    width=st.sampled_from([64, 80, 128]),
    seq=st.sampled_from([512, 2048, 8192]),
)
def test_flops_of_a_gpt_are_those_of_narayanan_et_al(layers, heads, width, seq):
    """72 b s l h^2 (1 + s / 6h + V / 12 l h): forward and backward, attention whole (SC21)."""
    hidden, vocab = heads * width, 51200
    closed = 72 * layers * hidden**2 * (1 + seq / (6 * hidden) + vocab / (12 * layers * hidden))
    assert training_flops(gpt(layers, hidden, heads, seq), seq) == pytest.approx(closed, rel=1e-12)


@given(layers=st.integers(1, 40), heads=st.integers(1, 32), width=st.sampled_from([64, 128]))
def test_parameters_of_a_gpt_are_those_of_narayanan_et_al(layers, heads, width):
    """12 l h^2 (1 + 13 / 12h + (V + s) / 12 l h), and the final norm."""
    hidden, vocab, seq = heads * width, 51200, 2048
    closed = layers * (12 * hidden**2 + 13 * hidden) + (vocab + seq) * hidden + 2 * hidden
    assert parameters(gpt(layers, hidden, heads, seq)) == closed


@given(seq=st.integers(1, 300), window=st.one_of(st.none(), st.integers(1, 400)))
def test_pairs_seen_are_those_counted_one_by_one(seq, window):
    attention = Attention("attention", 1, 1, 64, window=window)
    counted = sum(min(i + 1, window or seq) for i in range(seq)) / seq
    assert pairs(attention, seq, causal_half=True) == pytest.approx(counted)
    assert pairs(attention, seq, causal_half=False) == min(seq, window or seq)


def test_bidirectional_attention_is_counted_whole_in_any_convention():
    bert = shipped("bert-large")
    assert forward_flops(bert, 512, SEEN) == forward_flops(bert, 512, WHOLE)


def test_six_n_holds_within_three_percent_where_attention_is_small():
    model = shipped("llama3-70b")
    tables = 128256 * 8192
    assert training_flops(model, 1) == pytest.approx(6 * (parameters(model) - tables), rel=0.001)


def test_without_its_head_a_small_model_counts_a_quarter_less():
    gpt2 = shipped("gpt2")
    bare = forward_flops(gpt2, 1024, Convention(head=False))
    assert forward_flops(gpt2, 1024) - bare == 2 * 768 * 50257


@pytest.mark.parametrize(
    ("name", "tokens", "total", "within"),
    [
        ("gpt3-175b", 300e9, 3.14e23, 0.002),  # Brown et al. 2020, table D.1
        ("gpt3-13b", 300e9, 2.31e22, 0.005),
        ("llama3.1-405b", 15.6e12, 3.8e25, 0.01),  # Llama team 2024
    ],
)
def test_training_took_what_was_published(name, tokens, total, within):
    """Sources count six a parameter and token, without attention."""
    assert training_flops(shipped(name), 1) * tokens == pytest.approx(total, rel=within)


@pytest.mark.parametrize(
    ("convention", "words"),
    [(WHOLE, "attention whole, head counted"), (SEEN, "causal attention by the pairs seen")],
)
def test_a_convention_says_what_it_counts(convention, words):
    assert words in str(convention)


@pytest.mark.parametrize(("hidden", "heads", "seq"), [(6144, 64, 2048), (12288, 96, 2048)])
def test_a_block_keeps_34_sbh_and_5_a_s_squared_b(hidden, heads, seq):
    """Korthikanti et al. 2022, per token: 34 h and 5 a s bytes in 16 bit, from the operators."""
    block = gpt(2, hidden, heads, seq).layers[1]
    kept = 0.0
    for operator in block.operators:
        match operator:
            case Matmul():
                kept += 2 * operator.inputs
            case Pointwise():
                kept += 2 * operator.saved + operator.saved_bytes
            case Attention():
                kept += 2 * (operator.heads + 2 * operator.kv_heads) * operator.head_dim
                # Probabilities, their mask, and what is left of them.
                kept += operator.heads * seq * (2 + (3 if operator.dropout else 0))
    assert kept == 34 * hidden + 5 * heads * seq
