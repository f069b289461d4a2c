"""Few figures of a record make the model that they mean."""

from __future__ import annotations

import json

import pytest

from support import shared
from wirespeed.errors import Infeasible, InputError, WirespeedError
from wirespeed.models import from_fields, parameters, shipped

GPT = {"name": "GPT-22B", "layers": 48, "hidden": 6144, "heads": 64, "vocab": 51200}


def test_a_name_that_is_shipped_needs_no_figures():
    assert from_fields({"name": "ResNet-50 v1.5"}) == shipped("resnet-50")


def test_llama_has_a_gate_and_gpt_has_none():
    llama = {"layers": 32, "hidden": 4096, "ffn_hidden": 11008, "heads": 32, "vocab": 32000}
    assert parameters(from_fields({"name": "Llama2-7B", **llama})) == 6_738_415_616
    assert from_fields({**GPT, "seq_len": 2048}).family == "gpt2"


def test_stated_parameters_decide_whether_there_is_a_gate():
    fields = {"layers": 32, "hidden": 4096, "ffn_hidden": 16384, "heads": 32, "vocab": 32000}
    assert from_fields({**fields, "params": 6.7e9}).family == "gpt2"
    gated = from_fields({**fields, "params": 8.9e9})
    assert gated.family == "llama"
    assert any("not stated" in note for note in gated.notes)


def test_heads_that_are_not_stated_are_128_wide_with_a_note():
    model = from_fields({k: v for k, v in GPT.items() if k != "heads"})
    assert any("taken as 48 of 128" in note for note in model.notes)


@pytest.mark.parametrize("name", ["T5-3B", "Stable Diffusion v2 UNet", "Transformer-XL base"])
def test_names_of_other_kinds_are_refused(name):
    with pytest.raises(Infeasible, match="not forecast yet"):
        from_fields({"name": name})


def test_experts_are_refused():
    with pytest.raises(Infeasible, match="experts = 8"):
        from_fields({**GPT, "experts": 8})


def test_a_name_alone_that_is_not_shipped_says_what_is_missing():
    with pytest.raises(InputError, match="layers, hidden, vocab"):
        from_fields({"name": "GPT-18B"})


@pytest.mark.corpus
def test_records_of_dense_models_have_the_parameters_that_they_state():
    """Within 3 %: sources round to two digits."""
    records = json.loads(shared("validation", "training.json").read_text())
    models = {json.dumps(r["model"], sort_keys=True): r["model"] for r in records}
    seen = 0
    for fields in models.values():
        try:
            model = from_fields(fields)
        except WirespeedError:
            continue
        if fields.get("params"):
            assert parameters(model) == pytest.approx(fields["params"], rel=0.03), fields["name"]
            seen += 1
    assert seen > 60
