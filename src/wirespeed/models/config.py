"""config: the keys of a Hugging Face `config.json` to an Architecture, then to a Model.

Each family says in `families` what its keys are called and what its code does that no key tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from wirespeed.errors import InputError
from wirespeed.models._types import Model
from wirespeed.models.families import FAMILIES, llama, with_layer_types
from wirespeed.models.keys import Keys
from wirespeed.models.refusals import refuse
from wirespeed.models.transformer import transformer

USUAL = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
"""Keys by which a configuration of an unknown family can still be read."""


def from_config(config: Mapping[str, Any], *, name: str = "", where: str = "config.json") -> Model:
    """The model that a configuration describes.

    An unknown `model_type` with the usual keys is read as a Llama, and the model's notes say so.
    Raises Infeasible for what is not forecast yet (mixtures of experts, state spaces, encoder with
    decoder) and InputError for what is missing or no number; `where` is what messages call it.
    """
    inner, notes = _text_part(config)
    keys = Keys(inner, where)
    refuse(keys)
    kind = str(inner.get("model_type") or "")
    title = name or str(config.get("_name_or_path") or "") or kind or "model"
    if kind in FAMILIES:
        arch = FAMILIES[kind](keys, title)
    elif all(key in inner for key in USUAL):
        notes += (_unknown(kind),)
        arch = llama(keys, title)
    else:
        raise InputError(
            f"model_type {kind!r} is not known" if kind else "there is no model_type",
            where=where,
            why=f"known: {', '.join(sorted(FAMILIES))}",
            remedy=f"another one is read as a Llama if it has {', '.join(USUAL)}",
        )
    arch = with_layer_types(keys, arch)
    keys.raise_problems()
    return transformer(replace(arch, notes=(*arch.notes, *notes)))


def _text_part(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The language model of a configuration that holds several, and what was left out."""
    inner = config.get("text_config")
    if not isinstance(inner, Mapping):
        return config, ()
    kind = inner.get("model_type") or config.get("model_type")
    note = "only the text model (text_config) is forecast: the vision tower is left out"
    return {**inner, "model_type": kind}, (note,)


def _unknown(kind: str) -> str:
    what = f"model_type {kind!r} is not known" if kind else "there is no model_type"
    return (
        f"{what}: read as a Llama (RMSNorm, gated MLP, rotary positions, no biases but those that "
        "its keys name), so parameters and time may be off"
    )
