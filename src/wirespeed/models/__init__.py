"""Models: a `config.json` or a shipped name to layers, parameters, FLOPs and bytes."""

from wirespeed.models._types import (
    Attention,
    Convolution,
    Layer,
    LayerKind,
    Lookup,
    Matmul,
    Model,
    Operator,
    Pointwise,
    Region,
    Split,
)

__all__ = [
    "Attention",
    "Convolution",
    "Layer",
    "LayerKind",
    "Lookup",
    "Matmul",
    "Model",
    "Operator",
    "Pointwise",
    "Region",
    "Split",
]
