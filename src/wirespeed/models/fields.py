"""from_fields: a model from the few figures that a record or a table of runs gives.

What these leave open is taken from the family that the name tells, else from the parameters that
are stated, and the model's notes say what was taken.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from wirespeed.errors import Infeasible, InputError, UnknownName
from wirespeed.models._types import Model
from wirespeed.models.architecture import Architecture
from wirespeed.models.counts import parameters
from wirespeed.models.keys import Keys
from wirespeed.models.refusals import refuse
from wirespeed.models.shipped import shipped
from wirespeed.models.transformer import transformer

OTHERS = {
    r"\bt5\b": "an encoder with a decoder",
    r"\bwmt\b": "an encoder with a decoder",
    r"transformer-xl": "recurrent over segments, with an adaptive softmax",
    r"diffusion|unet": "a diffusion model",
    r"mamba|nemotron.?v?3": "a hybrid with state-space layers",
    r"deepseek|gpt-oss|mixtral|kimi|moonlight|a\d+b\b": "a mixture of experts",
}
"""What a name tells of models that are not forecast yet."""

GATED = r"llama|mistral|internlm|qwen|gemma|yi\b"
"""Names of families whose MLP has a gate, with RMSNorm and an untied head."""
PLAIN = r"gpt|bloom|opt\b|mpt|nemotron|megatron|turing"
"""Names of families whose MLP has none."""
PLAIN_UNBIASED = r"nemotron"
DROPOUT_FREE = r"bloom|mpt|nemotron|mlperf|megascale"


def from_fields(fields: Mapping[str, Any], *, where: str = "model") -> Model:
    """The model of a record's fields.

    They are layers, hidden, ffn_hidden, heads, kv_heads, head_dim, vocab, seq_len, glu, params,
    tied_embeddings and name; only layers, hidden and vocab are required. A name alone does for what
    is shipped (`ResNet-50`). Raises Infeasible for what is not forecast yet and InputError for what
    is missing.
    """
    keys = Keys(fields, where)
    name = str(keys.get("name") or "model")
    refuse(keys)
    if keys.get("layers") is None or keys.get("hidden") is None:
        return _by_name(name, keys)
    _refuse_by_name(name, where)
    arch = _architecture(keys, name)
    keys.raise_problems()
    return transformer(arch)


def _by_name(name: str, keys: Keys) -> Model:
    try:
        return shipped(name)
    except UnknownName:
        _refuse_by_name(name, keys.where)
        missing = ", ".join(k for k in ("layers", "hidden", "vocab") if keys.get(k) is None)
        raise InputError(
            f"{name} has no {missing}",
            where=keys.where,
            why="a model is not known without them, and none of this name is shipped",
            remedy="give layers, hidden, heads and vocab, or a config.json",
        ) from None


def _refuse_by_name(name: str, where: str) -> None:
    for pattern, what in OTHERS.items():
        if re.search(pattern, name.lower()):
            raise Infeasible(
                f"{name} is {what}", where=where, why="such models are not forecast yet"
            )


def _architecture(keys: Keys, name: str) -> Architecture:
    notes: list[str] = []
    hidden = keys.count("hidden")
    heads = keys.count("heads", default=max(hidden // 128, 1))
    if keys.get("heads") is None:
        notes.append(f"heads are not stated: taken as {heads} of 128")
    ffn = keys.count("ffn_hidden", default=4 * hidden)
    arch = Architecture(
        name=name,
        family="gpt2",
        layers=keys.layers("layers"),
        hidden=hidden,
        heads=heads,
        kv_heads=keys.count("kv_heads", default=heads),
        head_dim=keys.count("head_dim", default=max(hidden // heads, 1)),
        ffn=ffn,
        vocab=keys.count("vocab"),
    )
    if "bert" in name.lower():
        arch = _bert(keys, arch)
    elif _has_gate(keys, arch, notes):
        arch = _gated(keys, arch)
    else:
        arch = _plain(keys, arch)
    if keys.get("tied_embeddings") is not None:
        arch = replace(arch, tied=keys.flag("tied_embeddings", default=True))
    return replace(arch, notes=(*arch.notes, *notes))


def _has_gate(keys: Keys, arch: Architecture, notes: list[str]) -> bool:
    """As stated; else as the name's family has it; else as parameters or widths fit better."""
    name = arch.name.lower()
    if keys.get("glu") is not None:
        return keys.flag("glu", default=False)
    if re.search(GATED, name):
        return True
    if re.search(PLAIN, name):
        return False
    stated = keys.number("params", default=0)
    if stated:
        gate, plain = (
            abs(parameters(transformer(style(keys, arch))) - stated) for style in (_gated, _plain)
        )
        fits = gate < plain
    else:
        fits = arch.ffn % arch.hidden != 0
    notes.append(
        f"whether the MLP has a gate is not stated: taken as {'a Llama' if fits else 'a GPT'}'s"
    )
    return fits


def _gated(keys: Keys, arch: Architecture) -> Architecture:
    """As Llama; the first InternLM and Qwen have biases."""
    name = arch.name.lower()
    return replace(
        arch,
        family="llama",
        gated=True,
        norm="rmsnorm",
        qkv_bias=bool(re.search(r"internlm|qwen-?\d|qwen2", name)) and "qwen3" not in name,
        out_bias="internlm" in name,
        qk_norm="qwen3" in name,
    )


def _plain(keys: Keys, arch: Architecture) -> Architecture:
    """As GPT-3 in Megatron-LM, or as the family that the name tells."""
    name = arch.name.lower()
    if re.search(PLAIN_UNBIASED, name):
        return replace(arch, family="nemotron", rotary_share=0.5)
    dropout = not re.search(DROPOUT_FREE, name)
    biased = replace(
        arch,
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        tied=True,
        dropout=dropout,
        attention_dropout=dropout,
    )
    if "bloom" in name:
        return replace(biased, family="bloom", positions="alibi", embedding_norm=True)
    family = "mpt" if "mpt" in name else "gpt2"
    rows = keys.count("seq_len", default=2048)
    return replace(biased, family=family, positions="learned", position_rows=rows, longest=rows)


def _bert(keys: Keys, arch: Architecture) -> Architecture:
    rows = 512
    return replace(
        _plain(keys, arch),
        family="bert",
        norm_place="post",
        position_rows=rows,
        longest=rows,
        token_types=2,
        head_bias=True,
        embedding_norm=True,
        final_norm=False,
        causal=False,
        dropout=True,
        attention_dropout=True,
        pretraining_heads=True,
    )
