"""Layout: how a job is spread over GPUs; Job: everything that a step's forecast is asked with."""

from __future__ import annotations

from typing import Literal

import msgspec

from wirespeed.models import Model
from wirespeed.training.compression import Compression
from wirespeed.training.conditions import Conditions

Sharding = Literal["none", "zero1", "zero2", "zero3"]
"""What data-parallel ranks share out: nothing, optimizer, and gradients, and weights.

`zero1` is Megatron's distributed optimizer, `zero3` FSDP's full shard, `zero2` its SHARD_GRAD_OP.
"""
Recompute = Literal["none", "selective", "full"]
Precision = Literal["fp32", "tf32", "fp16", "bf16", "fp8", "nvfp4"]
Schedule = Literal["gpipe", "1f1b", "interleaved"]


class Layout(msgspec.Struct, frozen=True):
    """Degrees of parallelism and what goes with them, by the names of the options.

    GPUs = dp * tp * pp * cp. `None` is left to the framework's default or, where a record or a user
    says nothing, chosen as a user would and reported as chosen.
    """

    dp: int = 1
    tp: int = 1
    pp: int = 1
    vpp: int = 1
    """Model chunks of a pipeline rank; above 1 the schedule is interleaved."""
    cp: int = 1
    ep: int = 1
    sharding: Sharding | None = None
    shard_group: int | None = None
    """GPUs that hold one copy between them; None: all of dp. Below dp: HSDP."""
    sequence_parallel: bool | None = None
    schedule: Schedule | None = None
    micro_batch: int | None = None
    """Sequences (or images) of a micro-batch on one data-parallel rank."""
    recompute: Recompute | None = None
    rank_order: str | None = None
    """Kinds of parallelism from neighbouring ranks outwards, such as `tp-cp-ep-dp-pp`."""
    stage_layers: tuple[int, ...] | None = None
    """Blocks of each model chunk in the pipeline's order; None: as the framework splits."""

    @property
    def gpus(self) -> int:
        """GPUs that the layout needs."""
        return self.dp * self.tp * self.pp * self.cp


class Job(msgspec.Struct, frozen=True):
    """What is trained and how; the cluster stands apart."""

    model: Model
    layout: Layout
    global_batch: int
    """Sequences (or images) of one optimizer step."""
    seq_len: int
    """Tokens of a sequence; 1 for images."""
    precision: Precision = "bf16"
    framework: str = "Megatron-Core"
    """Decides rank order, overlap, launch cost and attention kernels; the names of the records."""
    task: Literal["pretrain", "sft", "lora"] = "pretrain"
    overlap: str | None = None
    """The words of a source or user about what overlaps; None: the framework's default."""
    conditions: Conditions = Conditions()
    compression: Compression = Compression()
    tp_overlap: bool = False
    """Whether tensor parallelism's collectives run beside their products, in as many parts as there
    are ranks: async TP of PyTorch, user buffers of Transformer Engine."""
