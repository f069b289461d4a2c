"""families: for each `model_type`, its keys as an Architecture, and what only its code says.

Sources: modeling_*.py and configuration_*.py of huggingface/transformers; defaults are theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from wirespeed.models.architecture import Architecture
from wirespeed.models.keys import Keys


def _common(keys: Keys, name: str, **fields: Any) -> Architecture:
    """What most families call by the same names."""
    hidden = keys.count("hidden_size", "n_embd", "d_model", "n_embed")
    heads = keys.count("num_attention_heads", "n_head", "n_heads")
    values: dict[str, Any] = {
        "name": name,
        "family": str(keys.get("model_type") or "llama"),
        "layers": keys.layers("num_hidden_layers", "n_layer", "n_layers"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": heads,
        "head_dim": _head_dim(keys, hidden, heads),
        "longest": _longest(keys),
    }
    values |= fields
    for field, key in (("ffn", "intermediate_size"), ("vocab", "vocab_size")):
        if field not in values:
            values[field] = keys.count(key)
    arch = Architecture(**values)
    if arch.heads % arch.kv_heads:
        keys.complain(
            f"{arch.heads} heads share {arch.kv_heads} of keys and values",
            "each of these serves the same number of heads",
        )
    return arch


def _head_dim(keys: Keys, hidden: int, heads: int) -> int:
    given = keys.get("head_dim", "kv_channels")
    if given is None and hidden % heads and not keys.problems:
        keys.complain(
            f"hidden_size {hidden} is no multiple of {heads} heads",
            "a head's width is their quotient unless head_dim says otherwise",
        )
    return keys.count("head_dim", "kv_channels", default=max(hidden // heads, 1))


def _longest(keys: Keys) -> int | None:
    names = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
    return keys.count(*names) if keys.get(*names) is not None else None


def _kv(keys: Keys) -> int:
    heads = keys.count("num_attention_heads", "n_head", "n_heads")
    return keys.count("num_key_value_heads", default=heads)


def _window(keys: Keys) -> int | None:
    return keys.count("sliding_window") if keys.get("sliding_window") is not None else None


def _windows(keys: Keys) -> tuple[int | None, ...]:
    used = keys.flag("use_sliding_window", default=True)
    return (_window(keys) if used else None,)


def with_layer_types(keys: Keys, arch: Architecture) -> Architecture:
    """The architecture with the windows of `layer_types`, where newer configurations list them."""
    types = keys.get("layer_types")
    if not isinstance(types, list) or not types:
        return arch
    if len(types) != arch.layers:
        keys.complain(f"layer_types lists {len(types)} layers", f"there are {arch.layers}")
    windows = {"full_attention": None, "sliding_attention": _window(keys)}
    return replace(arch, windows=tuple(windows.get(str(kind)) for kind in types))


def gpt2(keys: Keys, name: str) -> Architecture:
    """GPT-2, GPT-3 and what Megatron-LM called GPT: learned positions, biases, GELU, tied."""
    hidden = keys.count("n_embd", "hidden_size")
    rows = keys.count("n_positions", "max_position_embeddings", "n_ctx", default=1024)
    return _common(
        keys,
        name,
        ffn=keys.count("n_inner", "intermediate_size", default=4 * hidden),
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        positions="learned",
        position_rows=rows,
        longest=rows,
        tied=keys.flag("tie_word_embeddings", default=True),
        dropout=keys.number("resid_pdrop", default=0.1) > 0,
        attention_dropout=keys.number("attn_pdrop", default=0.1) > 0,
    )


def opt(keys: Keys, name: str) -> Architecture:
    """OPT: as GPT-2 with ReLU; the 350M one has narrow tables and norms after."""
    hidden = keys.count("hidden_size")
    width = keys.count("word_embed_proj_dim", default=hidden)
    before = keys.flag("do_layer_norm_before", default=True)
    rows = keys.count("max_position_embeddings", default=2048)
    biased = keys.flag("enable_bias", default=True)
    return _common(
        keys,
        name,
        ffn=keys.count("ffn_dim", default=4 * hidden),
        qkv_bias=biased,
        out_bias=biased,
        mlp_bias=biased,
        positions="learned",
        position_rows=rows + 2,  # the first two rows are never used
        longest=rows,
        norm_place="pre" if before else "post",
        final_norm=before and not keys.flag("_remove_final_layer_norm", default=False),
        embedding_width=width if width != hidden else None,
        tied=keys.flag("tie_word_embeddings", default=True),
        dropout=keys.number("dropout", default=0.1) > 0,
        attention_dropout=keys.number("attention_dropout", default=0.0) > 0,
    )


def bloom(keys: Keys, name: str) -> Architecture:
    """BLOOM: ALiBi, a norm after the embedding, biases, tied."""
    hidden = keys.count("hidden_size", "n_embed")
    return _common(
        keys,
        name,
        ffn=4 * hidden,
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        positions="alibi",
        embedding_norm=True,
        tied=True,
        dropout=keys.number("hidden_dropout", default=0.0) > 0,
        attention_dropout=keys.number("attention_dropout", default=0.0) > 0,
    )


def mpt(keys: Keys, name: str) -> Architecture:
    """MPT: no biases, ALiBi or learned positions, grouped keys where its attn_config says so."""
    hidden = keys.count("d_model")
    attention = keys.table("attn_config")
    learned = keys.flag("learned_pos_emb", default=True)
    alibi = attention.flag("alibi", default=False)
    bare = keys.flag("no_bias", default=True)
    rows = keys.count("max_seq_len", default=2048)
    return _common(
        keys,
        name,
        ffn=round(keys.number("expansion_ratio", default=4) * hidden),
        kv_heads=attention.count("kv_n_heads", default=keys.count("n_heads")),
        norm="layernorm-no-bias" if bare else "layernorm",
        qkv_bias=not bare,
        out_bias=not bare,
        mlp_bias=not bare,
        positions="alibi" if alibi else "learned" if learned else "none",
        position_rows=rows if learned and not alibi else 0,
        longest=rows,
        tied=keys.flag("tie_word_embeddings", default=True),
    )


def gpt_neox(keys: Keys, name: str) -> Architecture:
    """GPT-NeoX and Pythia: parallel halves with two norms, part of a head rotated, untied."""
    biased = keys.flag("attention_bias", default=True)
    return _common(
        keys,
        name,
        parallel=keys.flag("use_parallel_residual", default=True),
        qkv_bias=biased,
        out_bias=biased,
        mlp_bias=True,
        rotary_share=keys.number("rotary_pct", default=0.25),
        tied=keys.flag("tie_word_embeddings", default=False),
    )


def llama(keys: Keys, name: str) -> Architecture:
    """Llama: RMSNorm, gated MLP, rotary positions, no biases."""
    biased = keys.flag("attention_bias", "bias", default=False)
    return _common(
        keys,
        name,
        kv_heads=_kv(keys),
        gated=True,
        norm="rmsnorm",
        qkv_bias=biased,
        out_bias=biased,
        mlp_bias=keys.flag("mlp_bias", default=False),
        tied=keys.flag("tie_word_embeddings", default=False),
        windows=_windows(keys),
    )


def qwen(keys: Keys, name: str) -> Architecture:
    """The first Qwen: biases on queries, keys and values; intermediate_size counts both ways."""
    return _common(
        keys,
        name,
        ffn=keys.count("intermediate_size") // 2,
        gated=True,
        norm="rmsnorm",
        qkv_bias=True,
        tied=keys.flag("tie_word_embeddings", default=False),
    )


def qwen2(keys: Keys, name: str) -> Architecture:
    """Qwen 2 and 2.5: a Llama with biases on queries, keys and values; windows off unless asked."""
    layers = keys.layers("num_hidden_layers")
    windows: tuple[int | None, ...] = (None,)
    if keys.flag("use_sliding_window", default=False):
        full = min(keys.count("max_window_layers", default=layers), layers)
        windows = (None,) * full + (_window(keys),) * (layers - full)
    return replace(llama(keys, name), qkv_bias=True, windows=windows)


def qwen3(keys: Keys, name: str) -> Architecture:
    """Qwen 3: heads normed, no biases, heads of 128."""
    bare = replace(qwen2(keys, name), qkv_bias=keys.flag("attention_bias", default=False))
    return replace(bare, qk_norm=True, head_dim=keys.count("head_dim", default=128))


def gemma(keys: Keys, name: str) -> Architecture:
    """Gemma: a Llama with a tied head and heads of 256."""
    tied = keys.flag("tie_word_embeddings", default=True)
    return replace(llama(keys, name), tied=tied, head_dim=keys.count("head_dim", default=256))


def gemma2(keys: Keys, name: str) -> Architecture:
    """Gemma 2: norms on both sides; every other layer sees a window."""
    window = keys.count("sliding_window", default=4096)
    return replace(gemma(keys, name), norm_place="both", windows=(window, None))


def gemma3(keys: Keys, name: str) -> Architecture:
    """Gemma 3: as Gemma 2 with normed heads; five layers with a window, then one without."""
    window = keys.count("sliding_window", default=4096)
    pattern = keys.count("sliding_window_pattern", "_sliding_window_pattern", default=6, most=1000)
    windows = (*((window,) * (pattern - 1)), None)
    return replace(gemma2(keys, name), qk_norm=True, windows=windows)


def phi(keys: Keys, name: str) -> Architecture:
    """Phi-1 to Phi-2: parallel halves under one norm, biases everywhere, the head's too."""
    return _common(
        keys,
        name,
        kv_heads=_kv(keys),
        parallel=True,
        shared_norm=True,
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        head_bias=True,
        rotary_share=keys.number("partial_rotary_factor", default=0.5),
        tied=keys.flag("tie_word_embeddings", default=False),
        dropout=keys.number("resid_pdrop", default=0.0) > 0,
    )


def nemotron(keys: Keys, name: str) -> Architecture:
    """Nemotron-4: LayerNorm, squared ReLU without a gate, half of a head rotated."""
    biased = keys.flag("attention_bias", default=False)
    return _common(
        keys,
        name,
        kv_heads=_kv(keys),
        qkv_bias=biased,
        out_bias=biased,
        mlp_bias=keys.flag("mlp_bias", default=False),
        rotary_share=keys.number("partial_rotary_factor", default=0.5),
        tied=keys.flag("tie_word_embeddings", default=False),
    )


def bert(keys: Keys, name: str) -> Architecture:
    """BERT with the heads of its pre-training: norms after, biases, everything seen."""
    rows = keys.count("max_position_embeddings", default=512)
    return _common(
        keys,
        name,
        norm_place="post",
        qkv_bias=True,
        out_bias=True,
        mlp_bias=True,
        head_bias=True,
        positions="learned",
        position_rows=rows,
        longest=rows,
        token_types=keys.count("type_vocab_size", default=2),
        embedding_norm=True,
        final_norm=False,
        tied=True,
        causal=False,
        dropout=keys.number("hidden_dropout_prob", default=0.1) > 0,
        attention_dropout=keys.number("attention_probs_dropout_prob", default=0.1) > 0,
        pretraining_heads=True,
    )


def vit(keys: Keys, name: str) -> Architecture:
    """ViT: patches through one matrix, norms before; `vocab` is the number of classes."""
    size = keys.count("image_size", default=224)
    patch = keys.count("patch_size", default=16)
    channels = keys.count("num_channels", default=3)
    labels = keys.get("id2label")
    classes = len(labels) if isinstance(labels, dict) and labels else 2
    patches = (size // patch) ** 2
    if not patches:
        keys.complain(f"an image of {size} has no patch of {patch}", "patches are parts of it")
    biased = keys.flag("qkv_bias", default=True)
    return _common(
        keys,
        name,
        vocab=keys.count("num_labels", default=classes),
        qkv_bias=biased,
        out_bias=True,
        mlp_bias=True,
        head_bias=True,
        positions="learned",
        longest=patches + 1,
        causal=False,
        dropout=keys.number("hidden_dropout_prob", default=0.0) > 0,
        attention_dropout=keys.number("attention_probs_dropout_prob", default=0.0) > 0,
        patches=patches,
        patch_inputs=patch * patch * channels,
    )


FAMILIES: dict[str, Callable[[Keys, str], Architecture]] = {
    "bert": bert,
    "bloom": bloom,
    "camembert": bert,
    "gemma": gemma,
    "gemma2": gemma2,
    "gemma3": gemma3,
    "gemma3_text": gemma3,
    "gpt2": gpt2,
    "gpt_neox": gpt_neox,
    "internlm": llama,
    "llama": llama,
    "mistral": llama,
    "mpt": mpt,
    "nemotron": nemotron,
    "opt": opt,
    "phi": phi,
    "phi3": llama,
    "qwen": qwen,
    "qwen2": qwen2,
    "qwen3": qwen3,
    "roberta": bert,
    "vit": vit,
    "xlm-roberta": bert,
}
