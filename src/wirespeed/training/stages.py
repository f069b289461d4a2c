"""stages: which layers each rank of a pipeline holds, even or uneven."""

from __future__ import annotations

from typing import Literal

import msgspec

from wirespeed.errors import Infeasible
from wirespeed.models import Layer, Model
from wirespeed.training.habits import habit_of
from wirespeed.training.layout import Layout

Ends = Literal["always", "uneven", "never"]
"""When embedding and head count as a block each."""


class Stage(msgspec.Struct, frozen=True):
    """Layers of one pipeline rank, a tuple for each of its model chunks in forward order."""

    rank: int
    chunks: tuple[tuple[Layer, ...], ...]

    @property
    def layers(self) -> tuple[Layer, ...]:
        """All layers of the rank."""
        return tuple(layer for chunk in self.chunks for layer in chunk)


def blocks_of(model: Model) -> tuple[Layer, ...]:
    """The layers that a pipeline may be cut between."""
    return tuple(layer for layer in model.layers if layer.kind in ("block", "stage"))


def stage_sizes(blocks: int, chunks: int, ends: Ends = "uneven") -> tuple[int, ...] | None:
    """Blocks of each chunk in the pipeline's order; None where some chunk would have none.

    Evenly where they divide, unless `ends` is "always". Else embedding and head count as a block
    each, as Megatron's account_for_embedding and torchtitan do: 126 blocks on 8 chunks are 15, 16
    six times, 15; the earlier chunks take what is left over. With "never" they do not count, and
    the later chunks take it.
    """
    if chunks == 1:
        return (blocks,)
    if blocks < chunks:
        return None
    if ends == "never" or (blocks % chunks == 0 and ends == "uneven"):
        return tuple(_spread(blocks, chunks)[::-1])
    sizes = _spread(blocks + 2, chunks)
    sizes[0] -= 1
    sizes[-1] -= 1
    return tuple(sizes) if min(sizes) > 0 else tuple(_spread(blocks, chunks))


def _spread(number: int, parts: int) -> list[int]:
    base, rest = divmod(number, parts)
    return [base + (i < rest) for i in range(parts)]


def stages(model: Model, layout: Layout, framework: str) -> tuple[Stage, ...]:
    """The stages of all pipeline ranks: chunk c of rank r is part c * pp + r of the model.

    The first has the embedding, the last the head. Raises Infeasible where they cannot be cut.
    """
    blocks = blocks_of(model)
    parts = layout.pp * layout.vpp
    ends = habit_of(framework).counts_ends
    sizes = layout.stage_layers or stage_sizes(len(blocks), parts, ends)
    if sizes is None or len(sizes) != parts or sum(sizes) != len(blocks):
        raise Infeasible(
            f"{len(blocks)} layers cannot be cut into {parts} parts",
            where="layout",
            why=f"pp = {layout.pp} and vpp = {layout.vpp}",
        )
    cut: list[tuple[Layer, ...]] = []
    start = 0
    for size in sizes:
        cut.append(blocks[start : start + size])
        start += size
    first = tuple(x for x in model.layers if x.kind == "embedding")
    last = tuple(x for x in model.layers if x.kind == "head")
    cut[0] = first + cut[0]
    cut[-1] = cut[-1] + last
    return tuple(Stage(r, tuple(cut[r :: layout.pp])) for r in range(layout.pp))
