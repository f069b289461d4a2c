"""exposed: tensor parallelism's collectives in parts beside the products that they feed or empty.

What is gathered feeds column-split products, part by part; what a row-split product gives is
scattered, part by part. Of a product and its collective the longer decides, and one part of the
other stays beside nothing: the first that arrives, or the last that leaves. Products in parts fill
their last waves less well. (Async TP of PyTorch, user buffers of Transformer Engine.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wirespeed.models import Layer, Matmul
from wirespeed.training.compute import Pace
from wirespeed.training.work import Gemm, Shape, kernels_of


def exposed(
    pace: Pace, layer: Layer, shape: Shape, seconds: tuple[float, float], *, back: bool
) -> float:
    """[s] that collectives add to a block's pass; `seconds` are those of a gather and a scatter.

    Backward gathers what row-split products need and scatters what column-split ones give.
    """
    found = 0.0
    for columns, row in _halves(layer):
        ends = (columns, (row,)) if not back else ((row,), columns)
        for operators, collective in zip(ends, seconds, strict=True):
            found += _beside(pace, layer, shape, operators, collective, back=back)
    return found


def _beside(
    pace: Pace,
    layer: Layer,
    shape: Shape,
    operators: tuple[Matmul, ...],
    collective: float,
    *,
    back: bool,
) -> float:
    parts = shape.tp
    products = [
        kernel
        for operator in operators
        for kernel in kernels_of(operator, shape, layer, back=back)
        if isinstance(kernel, Gemm)
    ]
    whole = pace.seconds(products)
    cut = parts * pace.seconds(replace(kernel, m=kernel.m / parts) for kernel in products)
    beside = max(collective, cut) + min(collective, cut) / parts
    # Where that is no gain the library runs one after the other.
    return min(beside - whole, collective)


def _halves(layer: Layer) -> Iterator[tuple[tuple[Matmul, ...], Matmul]]:
    """Column-split products and the row-split one behind them: attention's, the MLP's."""
    columns: list[Matmul] = []
    for operator in layer.operators:
        if not isinstance(operator, Matmul):
            continue
        if operator.split == "column":
            columns.append(operator)
        elif operator.split == "row":
            yield tuple(columns), operator
            columns = []
