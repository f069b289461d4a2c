"""convolutional: a table of stages to a Model whose items are images.

A stage is a chain of steps, or blocks of branches that are concatenated or added. A step is one
word: `64k7s2` is a convolution to 64 channels, kernel 7, stride 2; `64k1x7` one of 1 by 7; `v` adds
no padding (else half the kernel), `g32` groups; `max3s2` and `avg3s1` pool, `avg` over all.
A step may be a list of chains: branches inside a branch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wirespeed.models._types import Convolution, Layer, Matmul, Model, Operator, Pointwise

_STEP = re.compile(
    r"(?:(?P<outputs>\d+)k|(?P<pool>max|avg))(?P<h>\d+)?(?:x(?P<w>\d+))?"
    r"(?:s(?P<stride>\d+))?(?:g(?P<groups>\d+))?(?P<valid>v)?"
)

Step = str | Sequence[Any]


class _Shape(msgspec.Struct, frozen=True):
    channels: int
    height: int
    width: int

    @property
    def size(self) -> int:
        return self.channels * self.height * self.width


class _Style(msgspec.Struct, frozen=True):
    """What holds for every convolution of a network."""

    norm: bool
    bias: bool


def convolutional(name: str, row: Mapping[str, Any]) -> Model:
    """The network of a table with `input` [channels, height, width], `stage`s and `classes`."""
    style = _Style(norm=row.get("norm", True), bias=row.get("bias", False))
    shape = _Shape(*row["input"])
    layers: list[Layer] = []
    for stage in row["stage"]:
        for i in range(stage.get("blocks", 1)):
            operators, shape = _block(stage, i, shape, style)
            layers.append(Layer(f"{stage['name']}.{i}", "stage", tuple(operators)))
    layers.append(Layer("head", "head", tuple(_classifier(row, shape))))
    return Model(
        name=name,
        family=row["family"],
        layers=tuple(layers),
        hidden=shape.channels,
        vocab=row["classes"],
        item="image",
        pixels=_Shape(*row["input"]).size,
        notes=tuple(row.get("notes", ())),
    )


def _block(
    stage: Mapping[str, Any], index: int, shape: _Shape, style: _Style
) -> tuple[list[Operator], _Shape]:
    """One block; strides and a shortcut's convolution are those of a stage's first block only."""
    if "branches" in stage:
        return _branches(stage["branches"], shape, style)
    chain = stage["chain"] if index == 0 else [_unstrided(s) for s in stage["chain"]]
    operators, out = _chain(chain, shape, style, last_active=not stage.get("residual", False))
    if stage.get("residual", False):
        if index == 0:
            shortcut, _ = _chain([stage["shortcut"]], shape, style, last_active=False)
            operators += shortcut
        operators.append(
            Pointwise("add and relu", 2 * out.size, out.size, saved=out.size, backward=1.5)
        )
    return operators, out


def _unstrided(step: Step) -> Step:
    return re.sub(r"s\d+", "", step) if isinstance(step, str) else step


def _branches(
    branches: Sequence[Sequence[Step]], shape: _Shape, style: _Style
) -> tuple[list[Operator], _Shape]:
    operators: list[Operator] = []
    channels = 0
    out = shape
    for chain in branches:
        made, out = _chain(chain, shape, style)
        operators += made
        channels += out.channels
    out = _Shape(channels, out.height, out.width)
    operators.append(Pointwise("concatenate", out.size, out.size, saved=out.size, backward=1.0))
    return operators, out


def _chain(
    steps: Sequence[Step], shape: _Shape, style: _Style, *, last_active: bool = True
) -> tuple[list[Operator], _Shape]:
    operators: list[Operator] = []
    for i, step in enumerate(steps):
        if isinstance(step, str):
            active = last_active or i + 1 < len(steps)
            made, shape = _step(step, shape, style, active=active)
        else:
            made, shape = _branches(step, shape, style)
        operators += made
    return operators, shape


def _step(
    text: str, shape: _Shape, style: _Style, *, active: bool
) -> tuple[list[Operator], _Shape]:
    match = _STEP.fullmatch(text)
    if match is None:
        raise ValueError(f"no step of a convolutional network: {text!r}")
    height = int(match["h"] or shape.height)
    width = int(match["w"] or match["h"] or shape.width)
    whole = match["h"] is None
    stride = int(match["stride"] or 1)
    pad = 0 if match["valid"] or whole else 1
    size = (
        (shape.height + 2 * pad * (height // 2) - height) // stride + 1,
        (shape.width + 2 * pad * (width // 2) - width) // stride + 1,
    )
    if match["pool"]:
        out = _Shape(shape.channels, *size)
        # Where each maximum was: an index of eight bytes.
        kept = 8 * out.size if match["pool"] == "max" else 0
        name = f"{match['pool']} pool"
        return [Pointwise(name, shape.size, out.size, saved_bytes=kept, backward=1.0)], out
    out = _Shape(int(match["outputs"]), *size)
    groups = int(match["groups"] or 1)
    name = f"conv {text}"
    conv = Convolution(
        name, shape.channels, out.channels, (height, width), size, groups, style.bias
    )
    return [conv, *_after(out, style, active=active)], out


def _after(out: _Shape, style: _Style, *, active: bool) -> list[Operator]:
    """Batch norm reads its input twice (statistics, then values); ReLU is fused where it can be.

    Kept are the norm's input and the ReLU's output, which the next convolution needs as well.
    """
    if style.norm:
        name = "batch norm and relu" if active else "batch norm"
        kept = (2 if active else 1) * out.size
        return [Pointwise(name, 2 * out.size, out.size, saved=kept, parameters=2 * out.channels)]
    if not active:
        return []
    return [Pointwise("relu", out.size, out.size, saved=out.size)]


def _classifier(row: Mapping[str, Any], shape: _Shape) -> list[Operator]:
    """Matrices from the flattened image to the classes."""
    operators: list[Operator] = []
    inputs = shape.size
    for outputs in row.get("dense", ()):
        operators.append(Matmul("dense", inputs, outputs, bias=True))
        operators.append(Pointwise("relu and dropout", outputs, outputs, saved_bytes=outputs))
        inputs = outputs
    operators.append(Matmul("head", inputs, row["classes"], bias=True))
    return operators
