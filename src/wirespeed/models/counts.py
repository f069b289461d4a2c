"""Parameters and FLOPs of operators, layers and models, before anything is sharded.

A multiply and an add are two FLOPs. Pointwise work is not counted, as nobody does. Backward of a
matrix product is two products, so training is three times forward; HFU counts recomputed work on
top, which `training` knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from wirespeed.models._types import (
    Attention,
    Convolution,
    Layer,
    Lookup,
    Matmul,
    Model,
    Operator,
    Pointwise,
)

BACKWARD = 2
"""Backward over forward FLOPs: a product for the inputs, one for the weights."""


class Convention(msgspec.Struct, frozen=True):
    """What counts as FLOPs of a model; sources differ by up to a third in these."""

    causal_half: bool = False
    """Whether causal attention counts only the pairs that are seen."""
    head: bool = True
    """Whether the product with the vocabulary counts."""

    def __str__(self) -> str:
        attention = "causal attention by the pairs seen" if self.causal_half else "attention whole"
        head = "head counted" if self.head else "head not counted"
        return f"matrix products of forward and backward, {attention}, {head}, over the dense peak"

    def words(self, model: Model) -> str:
        """What counts of a model: attention and a vocabulary only where it has them."""
        if any(isinstance(o, Attention) for layer in model.layers for o in layer.operators):
            return str(self)
        return "convolutions and products of forward and backward, over the dense peak"


WHOLE = Convention()
"""As Megatron-LM, llm-foundry and PaLM's MFU count: 6 N + 12 L h s a token."""
SEEN = Convention(causal_half=True)
"""As Megatron-Bridge counts: causal attention halved."""


def operator_parameters(operator: Operator) -> int:
    """Parameters of one operator; a tied head has only its bias."""
    match operator:
        case Matmul():
            matrix = operator.inputs * operator.outputs if operator.parameters else 0
            return matrix + (operator.outputs if operator.bias else 0)
        case Lookup():
            return operator.rows * operator.width
        case Convolution():
            area = operator.kernel[0] * operator.kernel[1]
            weights = operator.inputs // operator.groups * operator.outputs * area
            return weights + (operator.outputs if operator.bias else 0)
        case Pointwise():
            return operator.parameters
        case Attention():
            return 0


def layer_parameters(layer: Layer) -> int:
    """Parameters of one layer."""
    return sum(map(operator_parameters, layer.operators))


def parameters(model: Model) -> int:
    """Parameters of a model, tied tables once."""
    return sum(count * layer_parameters(layer) for layer, count in distinct(model.layers))


def distinct(layers: Iterable[Layer]) -> list[tuple[Layer, int]]:
    """Each different layer with how often it is there, in order of first use."""
    counts: Counter[int] = Counter()
    first: dict[int, Layer] = {}
    for layer in layers:
        counts[id(layer)] += 1
        first.setdefault(id(layer), layer)
    return [(layer, counts[key]) for key, layer in first.items()]


def pairs(attention: Attention, seq_len: int, *, causal_half: bool) -> float:
    """Keys that a query meets, on average over the sequence.

    Counted whole, a causal query meets all of its window: s, or the window where that is shorter.
    By the pairs seen, query i meets min(i + 1, window): (s + 1) / 2 without a window.
    """
    window = min(attention.window or seq_len, seq_len)
    if not (attention.causal and causal_half):
        return float(window)
    return window - window * (window - 1) / (2 * seq_len)


def operator_flops(operator: Operator, seq_len: int, convention: Convention = WHOLE) -> float:
    """Forward FLOPs an item (token or image)."""
    match operator:
        case Matmul():
            return 2.0 * operator.inputs * operator.outputs * operator.items
        case Attention():
            width = operator.head_dim + (operator.value_dim or operator.head_dim)
            met = pairs(operator, seq_len, causal_half=convention.causal_half)
            return 2.0 * operator.heads * width * met
        case Convolution():
            area = operator.kernel[0] * operator.kernel[1]
            each = operator.inputs // operator.groups * area * operator.outputs
            return 2.0 * each * operator.out_size[0] * operator.out_size[1]
        case Lookup() | Pointwise():
            return 0.0


def layer_flops(layer: Layer, seq_len: int, convention: Convention = WHOLE) -> float:
    """Forward FLOPs an item of one layer."""
    counted = layer.operators
    if layer.kind == "head" and not convention.head:
        counted = tuple(o for o in counted if o.name != "head")
    return sum(operator_flops(o, seq_len, convention) for o in counted)


def forward_flops(model: Model, seq_len: int = 1, convention: Convention = WHOLE) -> float:
    """Forward FLOPs an item (token or image) of a model."""
    return sum(n * layer_flops(x, seq_len, convention) for x, n in distinct(model.layers))


def training_flops(model: Model, seq_len: int = 1, convention: Convention = WHOLE) -> float:
    """Forward and backward FLOPs an item: what MFU is counted with."""
    return (1 + BACKWARD) * forward_flops(model, seq_len, convention)
