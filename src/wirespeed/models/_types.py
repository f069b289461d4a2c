"""What a model computes, layer by layer, before anything is sharded: pure types.

A model is a list of layers, a layer a list of operators. Widths and counts are for one *item*: a
token of a transformer, an image of a convolutional network. How an operator splits over tensor
parallelism is its own (`Split`); how many items there are, in which precision and on how many GPUs
is `training`'s.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Split = Literal["column", "row", "none"]
"""How tensor parallelism splits a matrix: its outputs, its inputs, or not at all."""

Region = Literal["tensor", "sequence"]
"""Which tokens or widths a pointwise operator has under tensor parallelism.

`tensor`: between a column and a row split, its width is divided always. `sequence`: between a row
and a column split, each GPU has it whole, or a share of the tokens under sequence parallelism.
"""


class Matmul(msgspec.Struct, frozen=True, tag=True):
    """[items, inputs] by [inputs, outputs]; 2 * inputs * outputs FLOPs forward, twice backward."""

    name: str
    inputs: int
    outputs: int
    split: Split = "none"
    bias: bool = False
    items: float = 1.0
    """Share of the items that pass: below 1 for a pooled head, above 1 for routed experts."""
    parameters: bool = True
    """False where it uses another's table: a tied head."""


class Attention(msgspec.Struct, frozen=True, tag=True):
    """Scores, softmax and weighted sum over the sequence; heads split over tensor parallelism."""

    name: str
    heads: int
    kv_heads: int
    head_dim: int
    causal: bool = True
    window: int | None = None
    """Tokens back that are seen; None: all."""
    value_dim: int | None = None
    """Width of a value's head where it is not `head_dim` (MLA)."""
    dropout: bool = False
    """Whether probabilities are dropped: one more matrix and its mask where they are kept."""


class Pointwise(msgspec.Struct, frozen=True, tag=True):
    """A kernel bound by memory: norms, activations, residuals, dropout, softmax of a head."""

    name: str
    reads: float
    """Elements an item, forward; backward moves twice as much unless `backward` says otherwise."""
    writes: float
    region: Region = "sequence"
    saved: float = 0.0
    """Elements an item that backward needs, in the width of activations."""
    saved_bytes: float = 0.0
    """Bytes an item that backward needs whatever the precision: masks of dropout."""
    parameters: int = 0
    backward: float = 2.0


class Lookup(msgspec.Struct, frozen=True, tag=True):
    """A table of `rows` x `width`, of which an item reads a row; rows split where `split`."""

    name: str
    rows: int
    width: int
    split: bool = False


class Convolution(msgspec.Struct, frozen=True, tag=True):
    """A convolution on an image: [inputs, size] to [outputs, out_size], square kernels."""

    name: str
    inputs: int
    outputs: int
    kernel: tuple[int, int]
    out_size: tuple[int, int]
    groups: int = 1
    bias: bool = False


Operator = Matmul | Attention | Pointwise | Lookup | Convolution

LayerKind = Literal["embedding", "block", "head", "stage"]
"""`block`: a transformer's layer, of which pipelines are cut; `stage`: a part of a CNN."""


class Layer(msgspec.Struct, frozen=True):
    """Operators in forward order. Equal layers are the same object, so that work is done once."""

    name: str
    kind: LayerKind
    operators: tuple[Operator, ...]


class Model(msgspec.Struct, frozen=True):
    """A model as its configuration says it."""

    name: str
    family: str
    """`gpt2`, `llama`, `bert`, `resnet` …"""
    layers: tuple[Layer, ...]
    hidden: int
    vocab: int
    item: Literal["token", "image"] = "token"
    pixels: int = 0
    """Values of an image, all channels."""
    longest: int | None = None
    """Positions that it has room for; None: any."""
    tied: bool = False
    notes: tuple[str, ...] = ()
    """What the configuration left open, and what was taken."""

    @property
    def parameters(self) -> int:
        """Parameters, tied tables once."""
        from wirespeed.models.counts import parameters

        return parameters(self)

    def __repr__(self) -> str:
        blocks = sum(layer.kind in ("block", "stage") for layer in self.layers)
        return f"Model({self.name}: {self.family}, {self.parameters:,} parameters, {blocks} layers)"
