"""Architecture: what a transformer's configuration says, in one vocabulary for all families."""

from __future__ import annotations

from typing import Literal

import msgspec

Norm = Literal["layernorm", "layernorm-no-bias", "rmsnorm"]
Positions = Literal["learned", "rotary", "alibi", "none"]
NormPlace = Literal["pre", "post", "both"]
"""Before each half of a block, after its residual (BERT), or on both sides of it (Gemma 2)."""


class Architecture(msgspec.Struct, frozen=True, kw_only=True):
    """A dense transformer. Widths in elements, counts as they are."""

    name: str
    family: str
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocab: int
    kv_heads: int
    head_dim: int
    gated: bool = False
    norm: Norm = "layernorm"
    norm_place: NormPlace = "pre"
    parallel: bool = False
    """Attention and MLP read the same residual and are added at once."""
    shared_norm: bool = False
    """With `parallel`: one norm for both halves."""
    qk_norm: bool = False
    """Heads of queries and keys are normed before their product."""
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    head_bias: bool = False
    positions: Positions = "rotary"
    rotary_share: float = 1.0
    """Share of a head's width that is rotated."""
    position_rows: int = 0
    """Rows of the table of learned positions."""
    longest: int | None = None
    token_types: int = 0
    embedding_norm: bool = False
    embedding_width: int | None = None
    """Width of the tables where it is not `hidden`: projected in and out (OPT-350M)."""
    final_norm: bool = True
    tied: bool = False
    causal: bool = True
    windows: tuple[int | None, ...] = (None,)
    """Tokens back that layer i sees: entry i modulo their number; None: all."""
    dropout: bool = False
    attention_dropout: bool = False
    pretraining_heads: bool = False
    """BERT: pooler, masked words and next sentence."""
    patches: int = 0
    """Of an image; its positions are these and one for the class."""
    patch_inputs: int = 0
    """Values of one patch: channels by its area."""
    notes: tuple[str, ...] = ()
