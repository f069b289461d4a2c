"""StepForecast: what a training step takes, and which part of it is what."""

from __future__ import annotations

import msgspec

from wirespeed.topology.result import Result


class Breakdown(msgspec.Struct, frozen=True):
    """Seconds of the critical rank's step; the fields sum to the step."""

    compute: float
    exposed_tp: float = 0.0
    exposed_dp: float = 0.0
    exposed_pp: float = 0.0
    exposed_cp: float = 0.0
    exposed_ep: float = 0.0
    bubble: float = 0.0
    host: float = 0.0
    """Waiting for launches, input and the interpreter."""
    optimizer: float = 0.0


class Memory(msgspec.Struct, frozen=True):
    """Of the fullest GPU [GiB]; `allocated` is the sum, `reserved` what the allocator holds."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    nccl: float
    other: float
    allocated: float
    reserved: float


class StepForecast(Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.train/1"):
    """One training step."""

    model: str
    cluster: str
    fabric: str = ""
    """What joins the nodes; empty on one."""
    nodes: int = 1
    gpus: int
    framework: str = ""
    precision: str = ""
    global_batch: int = 0
    """Sequences, or images, of the step."""
    seq_len: int = 1
    layout: dict[str, str | int | bool | None]
    chosen: tuple[str, ...] = ()
    """What was left open and chosen here, by the names of the fields."""
    step_time_s: float
    low_s: float | None = None
    high_s: float | None = None
    """Four of five published steps of its class lie between these; None: none was published."""
    band_of: str = ""
    """The class of published steps that the band is from, in words."""
    tokens_per_s_per_gpu: float
    mfu: float
    hfu: float
    flops_convention: str
    breakdown_s: Breakdown
    memory_GiB: Memory
    sentences: tuple[str, ...] = ()
