"""A model is named, or read from the config.json beside its weights."""

from __future__ import annotations

import json

import pytest

import wirespeed as ws
from wirespeed.errors import InputError, UnknownName
from wirespeed.models import parameters

CONFIG = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 1000,
}


def test_a_shipped_name_is_a_model():
    assert parameters(ws.model("llama3-8b")) == 8_030_261_248


def test_a_model_says_what_it_is():
    assert repr(ws.model("gpt2")) == "Model(gpt2: gpt2, 124,439,808 parameters, 12 layers)"


def test_a_folder_and_its_file_are_the_same_model_named_after_the_folder(tmp_path):
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    model = ws.model(str(folder))
    assert model.name == "tiny"
    assert ws.model(folder / "config.json") == model
    assert parameters(ws.model(CONFIG)) == parameters(model)


@pytest.mark.parametrize("text", ["", "{", "[1]", "not json", "\x00\x01", "[" * 100_000])
def test_what_is_no_configuration_is_an_error_with_its_file(tmp_path, text):
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(InputError) as wrong:
        ws.model(str(file))
    assert "config.json" in str(wrong.value)


def test_a_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        ws.model(str(tmp_path / "other.json"))


def test_an_unknown_name_offers_the_nearest():
    with pytest.raises(UnknownName, match="gpt3-175b"):
        ws.model("gpt3-175")
