"""Compression: gradients that go over the wires as less than they are, under DDP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, cast, get_args

import msgspec

from wirespeed.errors import UsageError
from wirespeed.models import Convolution, Layer, Lookup, Matmul
from wirespeed.training.work import Gemm, Kernel, Pass

Scheme = Literal["none", "bf16", "powersgd"]


class Compression(msgspec.Struct, frozen=True):
    """How gradients are sent.

    Attributes:
        scheme: as they are; in 16 bit; or as two thin matrices (PowerSGD, arXiv 1905.13727).
        rank: columns of PowerSGD's matrices.
    """

    scheme: Scheme = "none"
    rank: int = 1

    @property
    def width(self) -> int | None:
        """Bytes of a gradient on the wires; None leaves them to the framework."""
        return 2 if self.scheme == "bf16" else None


def parse_compression(text: str | None) -> Compression:
    """The compression that `bf16`, `powersgd` or `powersgd:4` names; UsageError for other words."""
    name, _, rank = (text or "none").strip().lower().partition(":")
    if name in get_args(Scheme) and (rank == "" or (name == "powersgd" and rank.isdigit())):
        return Compression(cast(Scheme, name), int(rank or 1))
    raise UsageError(
        f"{text!r} is no compression of gradients",
        where="--compress",
        why="they go as they are, in 16 bit, or as thin matrices of a rank",
        remedy="write none, bf16, powersgd or powersgd:4",
    )


def powersgd_values(layers: Iterable[Layer], rank: int) -> float:
    """Values that a rank sends for layers' gradients: rank * (rows + columns) of each matrix.

    A matrix that is no larger than its factors goes as it is, as in PyTorch's hook.
    """
    return sum(
        min(rank * (rows + columns), rows * columns) * count
        for layer in layers
        for rows, columns, count in _matrices(layer)
    )


def powersgd_kernels(layers: Iterable[Layer], rank: int, width: int) -> list[Kernel]:
    """What it costs on the GPU: two products to compress, one to decompress, and the error kept.

    Orthogonalisation is of rank columns, a pass over them.
    """
    kernels: list[Kernel] = []
    for layer in layers:
        for rows, columns, count in _matrices(layer):
            if rank * (rows + columns) >= rows * columns:
                continue
            kernels += [
                Gemm(rows, rank, columns, count, weights=False),
                Gemm(columns, rank, rows, count, weights=False),
                Gemm(rows, columns, rank, count, weights=False),
                Pass(3.0 * rows * columns * count * width + rank * rows * count * width, 3),
            ]
    return kernels


def _matrices(layer: Layer) -> Iterator[tuple[float, float, float]]:
    """(rows, columns, how many) of a layer's weights; biases and norms go as they are."""
    for operator in layer.operators:
        match operator:
            case Matmul():
                yield operator.outputs, operator.inputs, 1.0
            case Convolution():
                area = operator.kernel[0] * operator.kernel[1]
                yield operator.outputs, operator.inputs / operator.groups * area, 1.0
            case Lookup():
                yield operator.rows, operator.width, 1.0
            case _:
                continue
