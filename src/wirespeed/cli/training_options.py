"""Options of layouts and jobs, by the names of the records' fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

LAYOUT = Group("Layout", sort_key=15)


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

    global_batch: Annotated[int, Parameter(group=LAYOUT)]
    """Sequences, or images, of one optimizer step."""
    seq: Annotated[int | None, Parameter(group=LAYOUT)] = None
    """Tokens of a sequence; without it as long as the model has room for."""
    precision: Annotated[
        Literal["fp32", "tf32", "fp16", "bf16", "fp8", "nvfp4"], Parameter(group=LAYOUT)
    ] = "bf16"
    """fp32, tf32, fp16, bf16, fp8 or nvfp4."""
    framework: Annotated[str, Parameter(group=LAYOUT)] = "Megatron-Core"
    """Whose habits: Megatron-Core, Megatron-LM, Megatron-DeepSpeed, FSDP2, torchtitan, DDP …"""


NO_LAYOUT = LayoutOptions()
