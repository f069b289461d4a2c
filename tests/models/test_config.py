"""A config.json is read by its own family's words; what is not forecast is refused by its key."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.errors import Infeasible, InputError, WirespeedError
from wirespeed.models import Attention, Matmul, from_config, parameters, shipped
from wirespeed.models.families import FAMILIES

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
}


def operators(model, kind):
    return [o for layer in model.layers for o in layer.operators if isinstance(o, kind)]


def test_a_configuration_is_the_shipped_model():
    assert parameters(from_config(LLAMA)) == parameters(shipped("llama3-8b"))


def test_without_kv_heads_every_head_has_its_own():
    config = {k: v for k, v in LLAMA.items() if k != "num_key_value_heads"}
    assert operators(from_config(config), Attention)[0].kv_heads == 32


def test_a_null_window_is_none():
    plain = from_config({**LLAMA, "model_type": "mistral", "sliding_window": None})
    assert operators(plain, Attention)[0].window is None
    slid = from_config({**LLAMA, "model_type": "mistral", "sliding_window": 4096})
    assert operators(slid, Attention)[0].window == 4096


def test_a_tied_head_has_no_table_of_its_own():
    tied = from_config({**LLAMA, "tie_word_embeddings": True})
    assert parameters(from_config(LLAMA)) - parameters(tied) == 4096 * 128256


def test_gated_mlps_have_two_matrices_up():
    up = next(o for o in operators(from_config(LLAMA), Matmul) if o.name == "gate and up")
    assert up.outputs == 2 * 14336


def test_a_model_with_an_image_tower_is_its_text_model_and_says_so():
    model = from_config({"model_type": "gemma3", "text_config": {**LLAMA, "model_type": "llama"}})
    assert parameters(model) == parameters(from_config(LLAMA))
    assert any("vision tower" in note for note in model.notes)


def test_an_unknown_family_with_the_usual_keys_is_a_llama_with_a_note():
    model = from_config({**LLAMA, "model_type": "novel"})
    assert parameters(model) == parameters(from_config(LLAMA))
    assert any("'novel' is not known" in note for note in model.notes)


def test_an_unknown_family_without_them_is_an_error():
    with pytest.raises(InputError, match="model_type 'novel' is not known"):
        from_config({"model_type": "novel", "dim": 4096})


@pytest.mark.parametrize(
    "extra",
    [
        {"model_type": "mixtral", "num_local_experts": 8},
        {"model_type": "deepseek_v3", "n_routed_experts": 256},
        {"model_type": "qwen3_moe", "num_experts": 128},
        {"model_type": "dbrx", "ffn_config": {"moe_num_experts": 16}},
        {"model_type": "minicpm3", "kv_lora_rank": 256},
        {"model_type": "mamba", "state_size": 16},
        {"model_type": "t5", "is_encoder_decoder": True},
        {"model_type": "qwen3_next", "layer_types": ["linear_attention"] * 32},
        {"model_type": "jamba", "attn_layer_period": 8},
    ],
)
def test_what_is_not_forecast_yet_is_refused_by_the_key_that_says_so(extra):
    key = next(k for k in extra if k != "model_type")
    with pytest.raises(Infeasible, match=key) as refused:
        from_config({**LLAMA, **extra})
    assert "not forecast yet" in str(refused.value)


def test_layer_types_say_which_layers_have_a_window():
    types = ["sliding_attention", "full_attention"] * 16
    model = from_config({**LLAMA, "layer_types": types, "sliding_window": 512})
    assert [a.window for a in operators(model, Attention)] == [512, None] * 16
    with pytest.raises(InputError, match="lists 3 layers"):
        from_config({**LLAMA, "layer_types": types[:3]})


def test_roberta_is_a_bert():
    config = {**LLAMA, "model_type": "roberta", "type_vocab_size": 1}
    assert from_config(config).family == "roberta"
    assert not operators(from_config(config), Attention)[0].causal


def test_one_expert_is_dense():
    assert parameters(from_config({**LLAMA, "num_local_experts": 1})) > 0


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(InputError) as wrong:
        from_config({"model_type": "llama", "hidden_size": "big", "num_hidden_layers": 0})
    text = str(wrong.value)
    assert "hidden_size is 'big'" in text
    assert "num_hidden_layers is 0" in text
    assert "vocab_size is missing" in text


def test_heads_that_do_not_divide_are_an_error():
    with pytest.raises(InputError, match="no multiple of 33 heads"):
        from_config({**LLAMA, "num_attention_heads": 33, "num_key_value_heads": 33})


OTHERS = [
    "head_dim",
    "sliding_window",
    "n_embd",
    "n_layer",
    "n_head",
    "attn_config",
    "use_sliding_window",
    "d_model",
    "n_heads",
    "max_window_layers",
    "image_size",
    "patch_size",
    "id2label",
    "expansion_ratio",
    "num_experts",
    "ffn_config",
    "text_config",
    "sliding_window_pattern",
    "layer_types",
    "is_encoder_decoder",
    "n_positions",
    "word_embed_proj_dim",
]
values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10, 10**6),
    st.floats(),
    st.text(max_size=5),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
    st.lists(st.integers(), max_size=2),
)


@given(
    kind=st.sampled_from(sorted(FAMILIES)),
    changed=st.dictionaries(
        st.sampled_from([*LLAMA, *OTHERS]),
        values,
        max_size=4,
    ),
)
def test_no_configuration_ends_in_a_traceback(kind, changed):
    config = {**LLAMA, "model_type": kind, "num_hidden_layers": 2, **changed}
    with contextlib.suppress(WirespeedError):
        assert parameters(from_config(config)) > 0
