"""memory: what the fullest GPU of a job holds, by kind.

Weights, gradients and optimizer by what a framework keeps (`habits`) over what shards them;
activations by recompute, split and micro-batches in flight; the logits of the loss; what FSDP
gathers; NCCL's buffers. The peak is the larger of two moments: the loss of the last micro-batch
that comes in, and the optimizer's step.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from wirespeed.catalog import gpu
from wirespeed.models import Layer, distinct
from wirespeed.training import activations as act
from wirespeed.training.habits import Habit, StateBytes, habit_of, state_bytes, with_defaults
from wirespeed.training.in_flight import in_flight
from wirespeed.training.layout import Job, Recompute
from wirespeed.training.ranks import shard_ranks
from wirespeed.training.result import Memory
from wirespeed.training.shards import layer_shard, sharded, table_shard
from wirespeed.training.stages import Stage, stages

GIB = float(2**30)
MIB = float(2**20)
DATA = Path(__file__).parent / "data"


@cache
def parameter(key: str) -> float:
    """A parameter of `memory.toml`, in its own unit."""
    document = tomllib.loads((DATA / "memory.toml").read_text(encoding="utf-8"))
    return float(next(row["value"] for row in document["parameter"] if row["key"] == key))


def capacity(name: str) -> float:
    """Bytes of a GPU that tensors and NCCL can have: what the driver shows, less the context."""
    row = gpu(name)
    shown = row.visible_memory_MiB * MIB if row.visible_memory_MiB else row.memory_GB * 0.985 * GIB
    return shown / row.devices - parameter("context_GiB") * GIB


class Parts(msgspec.Struct, frozen=True):
    """Bytes of one GPU at its fullest moment."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    nccl: float
    other: float

    @property
    def tensors(self) -> float:
        """What the framework's allocator has given out."""
        return self.total - self.nccl

    @property
    def total(self) -> float:
        """All of it."""
        return float(sum(msgspec.structs.astuple(self)))

    @property
    def reserved(self) -> float:
        """What the allocator holds, fragments included, with NCCL's own."""
        return self.tensors * (1 + parameter("reserve_share")) + self.nccl

    @property
    def needed(self) -> float:
        """The least that it runs in: an allocator short of memory gives back what it caches."""
        return self.tensors * (1 + parameter("tight_share")) + self.nccl


def memory(job: Job, capacity: float | None = None) -> Memory:
    """Memory of the fullest GPU of a job whose micro-batch and recompute are set [GiB].

    `allocated` is the sum of the kinds, NCCL's buffers among them, which no allocator of a
    framework counts; `reserved` has the allocator's fragments on top, as far as `capacity` [B]
    leaves room for them.
    """
    parts = fullest(job)
    kinds = {k: v / GIB for k, v in msgspec.structs.asdict(parts).items()}
    reserved = parts.reserved if capacity is None else min(parts.reserved, capacity)
    held = max(reserved, parts.total)
    return Memory(**kinds, allocated=parts.total / GIB, reserved=held / GIB)


def printed(memory: Memory, unit: str | None) -> float:
    """What a framework prints of that memory [GiB]: NCCL's buffers are not its own."""
    reserved = unit is not None and "reserved" in unit
    return (memory.reserved if reserved else memory.allocated) - memory.nccl


def fullest(job: Job) -> Parts:
    """Bytes of the fullest GPU of a job whose micro-batch and recompute are set."""
    job = with_defaults(job)
    return max(stage_parts(job), key=lambda parts: parts.total)


def stage_parts(job: Job) -> Iterator[Parts]:
    """Bytes of a GPU of each pipeline stage; defaults of the framework are filled in already."""
    if job.layout.micro_batch is None or job.layout.recompute is None:
        raise ValueError("micro-batch and recompute are chosen before memory is counted")
    for stage in stages(job.model, job.layout, job.framework):
        yield _parts(job, stage)


def micro_batches(job: Job) -> int:
    """Micro-batches of a step on one data-parallel rank."""
    layout = job.layout
    return max(job.global_batch // (layout.dp * (layout.micro_batch or 1)), 1)


def _parts(job: Job, stage: Stage) -> Parts:
    habit = habit_of(job.framework)
    held = _states(job, stage, habit)
    kept, passing = _activations(job, stage, habit)
    nccl = _communicators(job) * communicator_bytes()
    base = Parts(*held.resident, 0.0, nccl, held.gathered)
    if held.late_gradients:
        # Gradients come while activations go: the fuller end counts.
        early = msgspec.structs.replace(base, gradients=0.0, activations=kept + passing)
        late = msgspec.structs.replace(base, activations=passing)
        moments = [early, late]
    else:
        moments = [msgspec.structs.replace(base, activations=kept + passing)]
    stepping = msgspec.structs.replace(base, other=held.step)
    return max((*moments, stepping), key=lambda parts: parts.total)


class _States(msgspec.Struct, frozen=True):
    resident: tuple[float, float, float]
    """Weights, gradients, optimizer."""
    gathered: float
    """Whole copies in passing: FSDP's units, casts, buckets."""
    step: float
    late_gradients: bool


def _states(job: Job, stage: Stage, habit: Habit) -> _States:
    layout = job.layout
    each = each_parameter(job)
    number = _parameters(job, stage, habit)
    ranks = shard_ranks(layout) * layout.cp if layout.sharding != "none" else 1
    level = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3}[layout.sharding or "none"]
    count = micro_batches(job)
    weights = number * each.weights / (ranks if level == 3 else 1)
    gradients = number * each.gradients / (ranks if level >= 2 else 1)
    optimizer = number * each.optimizer / (ranks if level >= 1 else 1)
    step = number * each.step / (ranks if level >= 1 else 1)
    gathered = 0.0
    whole = level == 3 and (
        (habit.keeps_whole_in_pipeline and layout.pp > 1)
        or (habit.keeps_whole_in_accumulation and count > 1)
    )
    width = 4 if job.precision in ("fp32", "tf32") else 2
    if habit.gathers and level == 2 and ranks > 1:
        # FSDP's SHARD_GRAD_OP: shards lie still, gathered weights stay from forward to backward.
        weights = number * each.weights / ranks
        gathered += number * width
    elif whole and ranks > 1:
        gathered += number * width
        gradients = number * each.gradients
    elif level == 3 and ranks > 1:
        gathered += _units(stage, layout.tp, width + each.gradients, habit)
    if habit.buckets:
        gathered += number * each.gradients
    if habit.autocast and width < each.weights:
        gathered += number * width
    late = habit.lazy_gradients and count == 1
    return _States((weights, gradients, optimizer), gathered, step, late)


def each_parameter(job: Job) -> StateBytes:
    """Bytes a parameter; images are trained with momentum alone, one moment less than Adam."""
    each = state_bytes(job.framework, job.precision)
    if job.model.item == "image":
        return msgspec.structs.replace(each, optimizer=each.optimizer - 4)
    return each


def _parameters(job: Job, stage: Stage, habit: Habit) -> float:
    tp, pads = job.layout.tp, habit.pads_vocab
    number = sharded(stage.layers, tp, pads_vocab=pads)
    if job.model.tied and job.layout.pp > 1 and stage.rank == job.layout.pp - 1:
        number += table_shard(job.model.layers, tp, pads_vocab=pads)
    return number


def _units(stage: Stage, tp: int, width: float, habit: Habit) -> float:
    """Two blocks whole, the one at work and the next, and the ends, which stay gathered."""
    blocks: list[float] = []
    ends = 0.0
    for layer, number in distinct(stage.layers):
        size = layer_shard(layer, tp, pads_vocab=habit.pads_vocab)
        if layer.kind in ("block", "stage"):
            blocks += [size] * min(number, 2)
        else:
            ends += size
    blocks.sort(reverse=True)
    return (sum(blocks[:2]) + ends) * width


def _activations(job: Job, stage: Stage, habit: Habit) -> tuple[float, float]:
    """Bytes that are kept for backward, and those in passing at the loss or in one block."""
    layout = job.layout
    recompute: Recompute = layout.recompute or "none"
    split = act.split_of(job)
    count = micro_batches(job)
    flying = in_flight(layout.schedule, stage.rank, layout.pp, layout.vpp, count)
    kept = 0.0
    for chunk, number in zip(stage.chunks, flying, strict=True):
        each = (n * act.saved(x, split, recompute, habit.selective) for x, n in distinct(chunk))
        kept += number * sum(each)
    passing = max(
        (_passing(x, split, recompute, habit) for x, _ in distinct(stage.layers)), default=0.0
    )
    if habit.keeps_logits and layout.pp > 1:
        kept += (count - 1) * sum(act.logits(x, split) for x in stage.layers if x.kind == "head")
    return kept, passing


def _passing(layer: Layer, split: act.Split, recompute: Recompute, habit: Habit) -> float:
    if layer.kind == "head":
        return act.logits_in_passing(layer, split, habit.loss)
    return act.working(layer, split, recompute, habit.selective)


def _communicators(job: Job) -> int:
    """Communicators of more than one rank that a GPU is in."""
    layout = job.layout
    shards = shard_ranks(layout)
    degrees = (
        layout.tp,
        layout.cp,
        layout.pp,
        layout.dp,
        layout.dp // shards if 1 < shards < layout.dp else 1,
        layout.gpus,
    )
    return sum(degree > 1 for degree in degrees)


def communicator_bytes() -> float:
    """Bytes that one communicator's buffers take of a GPU."""
    each = parameter("nccl_connection_MiB") * MIB
    return parameter("nccl_channels") * parameter("nccl_connections") * each
