"""work: a layer on one GPU as kernels: matrix products, attention, passes over memory.

Shapes are those of one micro-batch after tensor, sequence and context parallelism. Forward runs
each operator once; backward a product for the inputs and one for the weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from wirespeed.models import (
    Attention,
    Convolution,
    Layer,
    Lookup,
    Matmul,
    Operator,
    Pointwise,
)
from wirespeed.training.shards import PADDING


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides the size of kernels on one GPU.

    Attributes:
        items: tokens (or images) of a micro-batch on this GPU.
        sequences: sequences of the micro-batch.
        seq_len: tokens of a sequence.
        tp: degree of tensor parallelism; `sequence` what divides tokens between its regions.
        cp: degree of context parallelism; it divides queries.
        width: bytes of an activation.
        flash: whether attention is one kernel that keeps no scores.
        fused: whether neighbouring passes over memory run as one kernel.
    """

    items: float
    sequences: float
    seq_len: int
    tp: int
    sequence: int
    cp: int
    width: int
    flash: bool
    fused: bool
    pads_vocab: bool = False


@dataclass(frozen=True, slots=True)
class Gemm:
    """`count` products of [m, k] by [k, n]; `weights`: whether an operand is a layer's weights."""

    m: float
    n: float
    k: float
    count: float = 1.0
    weights: bool = True

    @property
    def flops(self) -> float:
        """2 m n k each."""
        return 2.0 * self.m * self.n * self.k * self.count

    @property
    def elements(self) -> float:
        """Elements read and written."""
        return (self.m * self.k + self.k * self.n + self.m * self.n) * self.count


@dataclass(frozen=True, slots=True)
class Flash:
    """Attention in one kernel: FLOPs of the pairs that are seen."""

    flops: float
    backward: bool


@dataclass(frozen=True, slots=True)
class Pass:
    """Bytes read and written by kernels that do little else."""

    bytes: float
    kernels: int = 1


@dataclass(frozen=True, slots=True)
class Conv:
    """A convolution as an implicit product, with the bytes of its images."""

    flops: float
    bytes: float


Kernel = Gemm | Flash | Pass | Conv

_SOFTMAX_PASSES = {False: 2.0, True: 3.0}
"""Reads and writes of a score besides the products, where scale, mask and softmax are one kernel:
in and out; backward the gradient and the probabilities in, the gradient out."""
_DROPOUT_PASSES = 2.0
"""In and out, forward and backward, and a mask of a byte."""


def forward(layer: Layer, shape: Shape) -> list[Kernel]:
    """Kernels of a layer's forward pass over one micro-batch."""
    return [k for o in layer.operators for k in kernels_of(o, shape, layer, back=False)]


def backward(layer: Layer, shape: Shape) -> list[Kernel]:
    """Kernels of its backward pass; recomputed work is `forward` again."""
    return [k for o in layer.operators for k in kernels_of(o, shape, layer, back=True)]


def attention_again(layer: Layer, shape: Shape) -> list[Kernel]:
    """Kernels that selective recompute runs again: attention's core."""
    cores = [o for o in layer.operators if isinstance(o, Attention)]
    return [k for o in cores for k in kernels_of(o, shape, layer, back=False)]


def kernels_of(operator: Operator, shape: Shape, layer: Layer, *, back: bool) -> list[Kernel]:
    """Kernels of one operator of a layer, forward or backward."""
    match operator:
        case Matmul():
            return _matmul(operator, shape, layer, back=back)
        case Attention():
            return _attention(operator, shape, back=back)
        case Pointwise():
            return [_pointwise(operator, shape, back=back)]
        case Lookup():
            moved = shape.items * operator.width * shape.width * (4.0 if back else 2.0)
            return [Pass(moved / (shape.sequence if operator.split else 1))]
        case Convolution():
            return _convolution(operator, shape, back=back)


def _matmul(operator: Matmul, shape: Shape, layer: Layer, *, back: bool) -> list[Kernel]:
    m = max(shape.items * operator.items, 1.0)
    k, n = float(operator.inputs), float(operator.outputs)
    if operator.split == "column":
        if shape.pads_vocab and layer.kind != "block":
            n = math.ceil(n / (PADDING * shape.tp)) * PADDING * shape.tp
        n /= shape.tp
    elif operator.split == "row":
        k /= shape.tp
    if not back:
        return [Gemm(m, n, k)]
    return [Gemm(m, k, n), Gemm(k, n, m)]


def _attention(operator: Attention, shape: Shape, *, back: bool) -> list[Kernel]:
    heads = operator.heads / shape.tp
    queries = shape.seq_len / shape.cp
    window = min(operator.window or shape.seq_len, shape.seq_len)
    values = operator.value_dim or operator.head_dim
    width = operator.head_dim + values
    batch = shape.sequences * heads
    if shape.flash:
        seen = window - window * (window - 1) / (2 * shape.seq_len) if operator.causal else window
        flops = 2.0 * batch * queries * seen * width
        # Backward has five products for two forward, one of them the scores again.
        return [Flash(flops * (2.5 if back else 1.0), back)]
    scores = batch * queries * shape.seq_len
    passes = scores * shape.width * _SOFTMAX_PASSES[back]
    if operator.dropout:
        passes += scores * (1 + _DROPOUT_PASSES * shape.width)
    first = Gemm(queries, shape.seq_len, operator.head_dim, batch, weights=False)
    second = Gemm(queries, values, shape.seq_len, batch, weights=False)
    products = [first, second]
    if back:
        products += [
            Gemm(shape.seq_len, operator.head_dim, queries, batch, weights=False),
            Gemm(queries, operator.head_dim, shape.seq_len, batch, weights=False),
        ]
    return [*products, Pass(passes, 3)]


def _pointwise(operator: Pointwise, shape: Shape, *, back: bool) -> Pass:
    divided = shape.tp if operator.region == "tensor" else shape.sequence
    moved = (operator.reads + operator.writes) * shape.width + operator.saved_bytes
    if back:
        moved *= operator.backward
    # Apart, each of a pair of kernels writes what the next one reads again.
    times = 1 if shape.fused else 2
    return Pass(shape.items * moved * times / divided, times)


def _convolution(operator: Convolution, shape: Shape, *, back: bool) -> list[Kernel]:
    area = operator.kernel[0] * operator.kernel[1]
    pixels = operator.out_size[0] * operator.out_size[1]
    flops = 2.0 * shape.items * pixels * operator.outputs * operator.inputs / operator.groups * area
    images = shape.items * pixels * (operator.inputs + operator.outputs) * shape.width
    one = Conv(flops, images)
    return [one, one] if back else [one]
