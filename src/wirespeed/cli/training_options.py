"""Options of layouts and jobs, by the names of the records' fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

JOB, LAYOUT = Group("Job", sort_key=14), Group("Layout", sort_key=15)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LayoutOptions:
    """How the job is spread over GPUs; what is left out is chosen by what fits."""

    tp: Annotated[int | None, Parameter(group=LAYOUT)] = None
    """Degree of tensor parallelism."""
    pp: Annotated[int | None, Parameter(group=LAYOUT)] = None
    """Stages of the pipeline."""
    vpp: Annotated[int | None, Parameter(group=LAYOUT)] = None
    """Model chunks of a stage: above 1 the schedule is interleaved."""
    dp: Annotated[int | None, Parameter(group=LAYOUT)] = None
    """Degree of data parallelism; without it the GPUs that are left."""
    cp: Annotated[int | None, Parameter(group=LAYOUT)] = None
    """Degree of context parallelism (not forecast yet)."""
    ep: Annotated[int | None, Parameter(group=LAYOUT)] = None
    """Degree of expert parallelism (not forecast yet)."""
    sharding: Annotated[
        Literal["none", "zero1", "zero2", "zero3"] | None, Parameter(group=LAYOUT)
    ] = None
    """What data-parallel ranks share out: none, zero1, zero2 or zero3 (FSDP)."""
    shard_group: Annotated[int | None, Parameter(group=LAYOUT)] = None
    """GPUs that hold one copy between them; without it all of dp."""
    micro_batch: Annotated[int | None, Parameter(group=LAYOUT)] = None
    """Sequences of a micro-batch."""
    recompute: Annotated[Literal["none", "selective", "full"] | None, Parameter(group=LAYOUT)] = (
        None
    )
    """What backward computes again: none, selective or full."""
    schedule: Annotated[Literal["gpipe", "1f1b", "interleaved"] | None, Parameter(group=LAYOUT)] = (
        None
    )
    """Of the pipeline: gpipe, 1f1b or interleaved."""
    sequence_parallel: Annotated[
        bool | None, Parameter(group=LAYOUT, negative="--no-sequence-parallel")
    ] = None
    """Whether tensor parallelism splits sequences too."""

    def words(self) -> dict[str, Any]:
        """What was given."""
        return {k: v for k, v in self.__dict__.items() if v is not None}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """What is trained, and how."""

    global_batch: Annotated[int | None, Parameter(group=JOB)] = None
    """Sequences, or images, of one optimizer step; without it about four million tokens."""
    seq: Annotated[int | None, Parameter(group=JOB)] = None
    """Tokens of a sequence; without it as long as the model has room for, at most 8,192."""
    precision: Annotated[
        Literal["fp32", "tf32", "fp16", "bf16", "fp8", "nvfp4"] | None, Parameter(group=JOB)
    ] = None
    """fp32, tf32, fp16, bf16, fp8 or nvfp4; without it bf16, or what the GPU has."""
    framework: Annotated[str | None, Parameter(group=JOB)] = None
    """Whose habits: Megatron-Core, Megatron-LM, FSDP2, torchtitan, DDP (for images) …"""

    clock: Annotated[float, Parameter(group=JOB)] = 1.0
    """Of the GPUs, over the boost clock."""
    power_cap: Annotated[float | None, Parameter(group=JOB)] = None
    """Of each GPU [W]; what it leaves of the clock is worked out."""
    jitter: Annotated[float, Parameter(group=JOB)] = 0.0
    """Standard deviation of ranks' computing times in a step, over their mean: 0.02."""
    compress: Annotated[str | None, Parameter(group=JOB)] = None
    """Gradients on the wires under DDP: none, bf16, powersgd or powersgd:4 (its rank)."""
    tp_overlap: Annotated[bool, Parameter(group=JOB, negative="")] = False
    """Tensor parallelism's collectives run beside their products (async TP, user buffers)."""

    def words(self) -> dict[str, Any]:
        """All of it by the keywords of `train` and `scale`."""
        fields = dict(self.__dict__)
        return {"power_W": fields.pop("power_cap"), **fields}


NO_LAYOUT, USUAL_JOB = LayoutOptions(), JobOptions()
"""Nothing given."""
