"""refuse: what a configuration says that is not forecast yet, and which key says it."""

from __future__ import annotations

from wirespeed.errors import Infeasible
from wirespeed.models.keys import Keys

EXPERTS = (
    "num_local_experts",
    "n_routed_experts",
    "num_experts",
    "moe_num_experts",
    "num_moe_experts",
    "num_experts_per_tok",
    "experts",
)
"""Keys of Mixtral and GPT-OSS, DeepSeek, Qwen MoE and OLMoE, DBRX, Megatron; of records."""

STATE_SPACE = (
    "state_size",
    "ssm_state_size",
    "mamba_d_state",
    "ssm_cfg",
    "hybrid_override_pattern",
    "attn_layer_period",
    "block_types",
    "_block_types",
    "layers_block_type",
)
"""Keys of Mamba, Nemotron-H, Jamba, RecurrentGemma and Zamba."""
ATTENTION = ("full_attention", "sliding_attention")
"""Entries of `layer_types` that are forecast."""
LATENT = ("kv_lora_rank",)


def refuse(keys: Keys) -> None:
    """Raise Infeasible for a kind of model that is read but not forecast yet."""
    for key in EXPERTS:
        value = keys.get(key)
        if isinstance(value, int) and value > 1:
            raise _later(keys, f"{key} = {value} is a mixture of experts", "mixtures of experts")
    ffn = keys.get("ffn_config")
    if isinstance(ffn, dict) and int(ffn.get("moe_num_experts") or 1) > 1:
        number = ffn["moe_num_experts"]
        what = f"ffn_config.moe_num_experts = {number} is a mixture of experts"
        raise _later(keys, what, "mixtures of experts")
    for key in STATE_SPACE:
        if keys.get(key) is not None:
            raise _later(keys, f"{key} is of a state-space model", "state-space layers")
    types = keys.get("layer_types")
    for kind in types if isinstance(types, list) else ():
        if kind not in ATTENTION:
            raise _later(keys, f"layer_types names {kind!r}", "other layers than attention")
    for key in LATENT:
        if keys.get(key) is not None:
            raise _later(keys, f"{key} is of latent attention (MLA)", "latent attention")
    if keys.get("is_encoder_decoder") is True:
        what = "is_encoder_decoder = true is an encoder with a decoder"
        raise _later(keys, what, "encoder-decoders")


def _later(keys: Keys, what: str, kind: str) -> Infeasible:
    return Infeasible(
        what,
        where=keys.where,
        why=f"{kind} are read but not forecast yet",
        remedy="forecast a dense decoder, BERT, ViT or a convolutional network",
    )
