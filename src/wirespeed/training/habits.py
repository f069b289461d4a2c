"""habits: what each framework keeps on a GPU, and its defaults for what a layout leaves open."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from wirespeed.errors import UnknownName
from wirespeed.training.layout import Job, Layout, Precision, Schedule, Sharding

DATA = Path(__file__).parent / "data"


class StateBytes(msgspec.Struct, frozen=True):
    """Bytes a parameter, before anything is sharded."""

    weights: int
    gradients: int
    optimizer: int
    step: int = 0
    """Only during the optimizer's step."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `[[state]]`: how mixed precision is kept."""

    key: str
    weights: int
    gradients: int
    gradients8: int | None = None
    optimizer: int
    step: int
    confidence: Literal["spec", "measured", "assumed"]
    source: str
    note: str = ""


class Habit(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `[[habit]]`: one framework, or several that do the same."""

    names: tuple[str, ...]
    state: str
    state_bf16: str | None = None
    """Of bf16 where it is another one than of fp16."""
    sharding: Sharding
    sequence_parallel: bool
    """Whether tensor parallelism comes with sequence parallelism by default."""
    flash: bool
    """Whether attention keeps no matrix of scores."""
    loss: Literal["fused", "compiled", "eager"]
    """How the loss runs over logits: in place, by a compiler's kernel, an operator at a time."""
    fp8_inputs: bool = False
    """Whether fp8 layers keep their inputs in fp8 rather than in bf16."""
    pads_vocab: bool = False
    """Whether the vocabulary is padded to a multiple of 128 * tp."""
    gathers: bool = False
    """Whether zero3 is FSDP's: units are gathered one ahead."""
    selective: Literal["core", "alternate"] = "core"
    """What selective recompute drops: attention's core, or every other matrix product.

    The latter is how torchtitan trains unless told otherwise.
    """
    keeps_whole_in_pipeline: bool = False
    """Whether zero3 under a pipeline keeps gathered weights and whole gradients of the stage."""
    keeps_whole_in_accumulation: bool = False
    """Whether micro-batches but the last are without synchronisation: all stays whole."""
    parallel_loss: bool = True
    """Whether logits stay split over tensor parallelism in the loss."""
    keeps_logits: bool = False
    """Whether a pipeline's last stage keeps the logits of all micro-batches to the step's end."""
    lazy_gradients: bool = False
    """Whether gradients are allocated by the first backward, not before."""
    buckets: bool = False
    """Whether gradients are copied into buckets to be reduced."""
    autocast: bool = False
    """Whether fp32 weights are cast, and the casts kept, for each pass."""
    counts_ends: Literal["always", "uneven", "never"] = "uneven"
    """When a split into stages counts embedding and head as a block each."""
    micro_batches: Literal["many", "stages"] = "many"
    """What a pipeline takes where nothing is said: small micro-batches, or as many as stages."""
    interleaves: bool = False
    tensor_parallel: bool = True
    pipeline: bool = True
    zero_with_pipeline: tuple[Sharding, ...] = ("none", "zero1", "zero2", "zero3")


@cache
def _tables() -> tuple[dict[str, State], dict[str, Habit]]:
    document: dict[str, Any] = tomllib.loads((DATA / "habits.toml").read_text(encoding="utf-8"))
    states = msgspec.convert(document["state"], list[State])
    habits = msgspec.convert(document["habit"], list[Habit])
    return {s.key: s for s in states}, {_plain(name): h for h in habits for name in h.names}


def habit_of(framework: str) -> Habit:
    """The habits of a framework; UnknownName with the nearest ones otherwise."""
    known = _tables()[1]
    found = known.get(_plain(framework))
    if found is None:
        raise UnknownName("framework", framework, [h.names[0] for h in known.values()])
    return found


def state_bytes(framework: str, precision: Precision) -> StateBytes:
    """Bytes that weights, gradients and optimizer of a parameter take under a framework."""
    if precision in ("fp32", "tf32"):
        return StateBytes(weights=4, gradients=4, optimizer=8)
    habit = habit_of(framework)
    key = habit.state_bf16 if precision != "fp16" and habit.state_bf16 else habit.state
    row = _tables()[0][key]
    eight = row.gradients8 is not None and precision in ("fp8", "nvfp4")
    gradients = row.gradients8 if eight and row.gradients8 is not None else row.gradients
    return StateBytes(row.weights, gradients, row.optimizer, row.step)


def with_defaults(job: Job) -> Job:
    """The job with sharding, schedule and sequence parallelism of its framework where left open.

    Micro-batch and recompute stay open: `choices` takes them by what fits.
    """
    layout, habit = job.layout, habit_of(job.framework)
    sharding = layout.sharding or (habit.sharding if layout.dp * layout.cp > 1 else "none")
    sequence = layout.sequence_parallel
    if sequence is None:
        sequence = habit.sequence_parallel and layout.tp > 1
    filled = msgspec.structs.replace(
        layout,
        sharding=sharding,
        sequence_parallel=sequence,
        schedule=layout.schedule or _schedule(layout),
    )
    return msgspec.structs.replace(job, layout=filled)


def _schedule(layout: Layout) -> Schedule | None:
    if layout.pp == 1:
        return None
    return "interleaved" if layout.vpp > 1 else "1f1b"


def _plain(name: str) -> str:
    return name.lower().replace(" ", "")
