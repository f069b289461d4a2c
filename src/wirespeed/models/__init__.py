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
from wirespeed.models.architecture import Architecture
from wirespeed.models.config import from_config
from wirespeed.models.counts import (
    SEEN,
    WHOLE,
    Convention,
    distinct,
    forward_flops,
    layer_flops,
    layer_parameters,
    operator_flops,
    operator_parameters,
    pairs,
    parameters,
    training_flops,
)
from wirespeed.models.fields import from_fields
from wirespeed.models.shipped import names, shipped
from wirespeed.models.transformer import transformer

__all__ = [
    "SEEN",
    "WHOLE",
    "Architecture",
    "Attention",
    "Convention",
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
    "distinct",
    "forward_flops",
    "from_config",
    "from_fields",
    "layer_flops",
    "layer_parameters",
    "names",
    "operator_flops",
    "operator_parameters",
    "pairs",
    "parameters",
    "shipped",
    "training_flops",
    "transformer",
]
