"""shards: parameters that one GPU holds of a layer under tensor parallelism."""

from __future__ import annotations

import math
from collections.abc import Iterable

from wirespeed.models import Layer, Lookup, Matmul, Operator, distinct, operator_parameters

PADDING = 128
"""Megatron pads the vocabulary to a multiple of this times tp (--make-vocab-size-divisible-by)."""


def sharded(layers: Iterable[Layer], tp: int, *, pads_vocab: bool = False) -> float:
    """Parameters of the layers on one tensor-parallel rank."""
    return sum(n * layer_shard(x, tp, pads_vocab=pads_vocab) for x, n in distinct(layers))


def layer_shard(layer: Layer, tp: int, *, pads_vocab: bool = False) -> float:
    """Parameters of one layer on one tensor-parallel rank."""
    return sum(_shard(o, tp, pads_vocab and layer.kind != "block") for o in layer.operators)


def table_shard(layers: Iterable[Layer], tp: int, *, pads_vocab: bool = False) -> float:
    """Parameters of the vocabulary's table on one rank: a tied head's stage holds another copy."""
    for layer in layers:
        for operator in layer.operators:
            if isinstance(operator, Lookup) and operator.split:
                return _shard(operator, tp, pads_vocab)
    return 0.0


def _shard(operator: Operator, tp: int, pads_vocab: bool) -> float:
    match operator:
        case Matmul(split="column"):
            outputs = padded(operator.outputs, tp) if pads_vocab else operator.outputs
            return operator_parameters(operator) / operator.outputs * outputs / tp
        case Matmul(split="row"):
            matrix = operator.inputs * operator.outputs if operator.parameters else 0
            return matrix / tp + (operator.outputs if operator.bias else 0)
        case Lookup(split=True):
            rows = padded(operator.rows, tp) if pads_vocab else operator.rows
            return rows * operator.width / tp
        case _:
            return float(operator_parameters(operator))


def padded(rows: int, tp: int) -> int:
    """Rows of a vocabulary's table as Megatron pads them."""
    return math.ceil(rows / (PADDING * tp)) * PADDING * tp
