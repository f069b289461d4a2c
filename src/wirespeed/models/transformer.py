"""transformer: an Architecture as a Model: embedding, equal blocks, head.

A block of a pre-norm decoder, forward: norm, qkv, rotary, attention, out, residual, norm, up (gate
and up in one), activation, down, residual. What backward needs of each is in its operator, so that
a block without recompute sums to the 34 sbh + 5 a s^2 b of Korthikanti et al. (2022): a Matmul
keeps its input, an Attention queries, keys and values.
"""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.models._types import (
    Attention,
    Layer,
    Lookup,
    Matmul,
    Model,
    Operator,
    Pointwise,
)
from wirespeed.models.architecture import Architecture

MASKED_SHARE = 0.15
"""Tokens that BERT's pre-training predicts (Devlin et al. 2018)."""


def transformer(arch: Architecture) -> Model:
    """The model of an architecture; equal blocks are one object."""
    kinds = {window: _block(arch, window) for window in arch.windows}
    windows = arch.windows
    blocks = tuple(kinds[windows[i % len(windows)]] for i in range(arch.layers))
    embedding = Layer("embedding", "embedding", tuple(_embedding(arch)))
    head = Layer("head", "head", tuple(_head(arch)))
    return Model(
        name=arch.name,
        family=arch.family,
        layers=(embedding, *blocks, head),
        hidden=arch.hidden,
        vocab=arch.vocab,
        longest=arch.longest,
        tied=arch.tied,
        notes=arch.notes,
    )


def _norm(arch: Architecture, name: str, width: int | None = None) -> Pointwise:
    width = width or arch.hidden
    vectors = 2 if arch.norm == "layernorm" else 1
    return Pointwise(name, reads=width, writes=width, saved=width, parameters=vectors * width)


def _residual(arch: Architecture, name: str, terms: int = 2) -> Pointwise:
    mask = float(arch.hidden * (terms - 1)) if arch.dropout else 0.0
    return Pointwise(name, reads=terms * arch.hidden, writes=arch.hidden, saved_bytes=mask)


def _block(arch: Architecture, window: int | None) -> Layer:
    name = "block" if window is None else f"block, window {window:,}"
    order = _parallel if arch.parallel else _post if arch.norm_place == "post" else _pre
    return Layer(name, "block", tuple(order(arch, window)))


def _pre(arch: Architecture, window: int | None) -> Iterator[Operator]:
    both = arch.norm_place == "both"
    yield _norm(arch, "attention norm")
    yield from _attention(arch, window)
    if both:
        yield _norm(arch, "attention post-norm")
    yield _residual(arch, "attention residual")
    yield _norm(arch, "mlp norm")
    yield from _mlp(arch)
    if both:
        yield _norm(arch, "mlp post-norm")
    yield _residual(arch, "mlp residual")


def _post(arch: Architecture, window: int | None) -> Iterator[Operator]:
    yield from _attention(arch, window)
    yield _residual(arch, "attention residual")
    yield _norm(arch, "attention norm")
    yield from _mlp(arch)
    yield _residual(arch, "mlp residual")
    yield _norm(arch, "mlp norm")


def _parallel(arch: Architecture, window: int | None) -> Iterator[Operator]:
    yield _norm(arch, "norm" if arch.shared_norm else "attention norm")
    yield from _attention(arch, window)
    if not arch.shared_norm:
        yield _norm(arch, "mlp norm")
    yield from _mlp(arch)
    yield _residual(arch, "residual", terms=3)


def _attention(arch: Architecture, window: int | None) -> Iterator[Operator]:
    heads, kv, width = arch.heads, arch.kv_heads, arch.head_dim
    yield Matmul("qkv", arch.hidden, (heads + 2 * kv) * width, "column", arch.qkv_bias)
    turned = float((heads + kv) * width)
    if arch.qk_norm:
        yield Pointwise(
            "qk norm", turned, turned, region="tensor", saved=turned, parameters=2 * width
        )
    if arch.positions == "rotary":
        part = turned * arch.rotary_share
        yield Pointwise("rotary", part, part, region="tensor")
    yield Attention(
        "attention",
        heads,
        kv,
        width,
        causal=arch.causal,
        window=window,
        dropout=arch.attention_dropout,
    )
    yield Matmul("out", heads * width, arch.hidden, "row", arch.out_bias)


def _mlp(arch: Architecture) -> Iterator[Operator]:
    ways = 2 if arch.gated else 1
    wide = ways * arch.ffn
    yield Matmul("gate and up" if arch.gated else "up", arch.hidden, wide, "column", arch.mlp_bias)
    yield Pointwise("activation", wide, arch.ffn, region="tensor", saved=wide)
    yield Matmul("down", arch.ffn, arch.hidden, "row", arch.mlp_bias)


def _embedding(arch: Architecture) -> Iterator[Operator]:
    if arch.patches:
        yield from _patches(arch)
        return
    width = arch.embedding_width or arch.hidden
    yield Lookup("tokens", arch.vocab, width, split=True)
    if width != arch.hidden:
        yield Matmul("embedding in", width, arch.hidden)
    added = 0
    if arch.positions == "learned":
        yield Lookup("positions", arch.position_rows, arch.hidden)
        added += 1
    if arch.token_types:
        yield Lookup("token types", arch.token_types, arch.hidden)
        added += 1
    if added:
        h = arch.hidden
        yield Pointwise("embedding sum", reads=(1 + added) * h, writes=h)
    if arch.embedding_norm:
        yield _norm(arch, "embedding norm")
    if arch.dropout:
        h = arch.hidden
        yield Pointwise("embedding dropout", reads=h, writes=h, saved_bytes=h)


def _patches(arch: Architecture) -> Iterator[Operator]:
    """Patches through one matrix, a learned vector for the class, learned positions."""
    tokens = arch.patches + 1
    h = arch.hidden
    share = arch.patches / tokens
    yield Matmul("patches", arch.patch_inputs, h, bias=True, items=share)
    yield Lookup("positions", tokens, h)
    yield Pointwise("embedding sum", reads=2 * h, writes=h, parameters=h)


def _head(arch: Architecture) -> Iterator[Operator]:
    if arch.patches:
        yield _norm(arch, "final norm")
        pooled = 1 / (arch.patches + 1)
        yield Matmul("head", arch.hidden, arch.vocab, bias=arch.head_bias, items=pooled)
        return
    if arch.pretraining_heads:
        yield from _pretraining_heads(arch)
        return
    if arch.final_norm:
        yield _norm(arch, "final norm")
    width = arch.embedding_width or arch.hidden
    if width != arch.hidden:
        yield Matmul("embedding out", arch.hidden, width)
    yield Matmul("head", width, arch.vocab, "column", arch.head_bias, parameters=not arch.tied)
    yield _loss(arch.vocab)


def _pretraining_heads(arch: Architecture) -> Iterator[Operator]:
    """BERT's: pooled first token to next sentence, masked tokens to words."""
    h = arch.hidden
    pooled = 1 / (arch.longest or 512)
    yield Matmul("pooler", h, h, bias=True, items=pooled)
    yield Matmul("next sentence", h, 2, bias=True, items=pooled)
    yield Matmul("transform", h, h, bias=True, items=MASKED_SHARE)
    part = MASKED_SHARE * h
    yield Pointwise("transform activation", part, part, saved=part)
    yield Pointwise("transform norm", part, part, saved=part, parameters=2 * h)
    yield Matmul("head", h, arch.vocab, "column", True, MASKED_SHARE, parameters=not arch.tied)
    yield _loss(arch.vocab, MASKED_SHARE)


def _loss(vocab: int, share: float = 1.0) -> Pointwise:
    """Softmax and cross-entropy: backward needs the probabilities in fp32."""
    width = share * vocab
    return Pointwise(
        "loss",
        reads=2 * width,
        writes=width,
        region="tensor",
        saved_bytes=4 * width,
        backward=1.0,
    )
