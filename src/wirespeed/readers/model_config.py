"""A model's `config.json`, as text, into its keys; what they mean is `models`'."""

from __future__ import annotations

from typing import Any

import msgspec

from wirespeed.errors import InputError
from wirespeed.readers._text import decode


def read_model_config(text: str | bytes, *, file: str = "config.json") -> dict[str, Any]:
    """The keys of a configuration; InputError where the text is no JSON object."""
    try:
        found = msgspec.json.decode(decode(text, file=file))
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(
            f"this is no JSON: {error}",
            where=file,
            remedy="give the config.json beside a model's weights",
        ) from error
    if not isinstance(found, dict):
        raise InputError(
            "this JSON is no object",
            where=file,
            why="a configuration is one object of keys such as hidden_size",
            remedy="give the config.json beside a model's weights",
        )
    return found
