"""The text of a config.json is its keys, or an error with the file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.errors import InputError
from wirespeed.readers.model_config import read_model_config


def test_keys_come_as_they_are():
    text = '\ufeff{"model_type": "llama", "hidden_size": 4096, "rope_scaling": null}'
    keys = read_model_config(text.encode())
    assert keys == {"model_type": "llama", "hidden_size": 4096, "rope_scaling": None}


@pytest.mark.parametrize("text", ["[]", "3", '"llama"', "null", "{", "hidden_size: 3"])
def test_what_is_no_object_is_refused_with_the_file(text):
    with pytest.raises(InputError) as wrong:
        read_model_config(text, file="some/config.json")
    assert wrong.value.where == "some/config.json"
    assert wrong.value.remedy


@given(st.binary(max_size=60))
def test_any_bytes_are_an_object_or_an_error(data):
    try:
        keys = read_model_config(data)
    except InputError:
        return
    assert isinstance(keys, dict)
