"""Accelerators: memory, dense peak rates, links, and the many ways to spell their names."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from wirespeed.catalog._nvlink import NvlinkGeneration, nvlink
from wirespeed.catalog._table import Row, Status, plain, read
from wirespeed.errors import UnknownName
from wirespeed.units import GB

Dtype = Literal["fp32", "tf32", "fp16", "bf16", "fp8", "fp4", "int8"]

_MAKERS = re.compile(
    r"\b(nvidia|amd|intel|habana|corporation|tesla|quadro|geforce|instinct|graphics)\b",
    re.IGNORECASE,
)


class Gpu(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One accelerator as it is sold. Rates are dense: no 2:4 sparsity."""

    vendor: Literal["NVIDIA", "AMD", "Intel"]
    architecture: str
    cc: int | None = None
    """CUDA compute capability without its dot: 90 is 9.0."""
    gfx: str = ""
    """AMD's name for the instruction set, such as gfx942."""
    status: Status = "shipping"
    devices: int = 1
    """GPUs that software sees in the package: 2 on an MI250X. Figures are the package's."""
    memory_GB: float
    memory_type: str
    memory_GBps: float
    visible_memory_MiB: int | None = None
    """What the driver reports."""
    fp32_TFLOPS: float
    """Vector rate; the others are the tensor or matrix units' where there are any."""
    tf32_TFLOPS: float | None = None
    fp16_TFLOPS: float
    bf16_TFLOPS: float | None = None
    fp8_TFLOPS: float | None = None
    fp4_TFLOPS: float | None = None
    int8_TOPS: float | None = None
    measured_bf16_TFLOPS: float | None = None
    """Best matrix multiplication that was measured."""
    measured_fp8_TFLOPS: float | None = None
    sm_count: int | None = None
    """Streaming multiprocessors, or compute units on AMD."""
    nvlink_generation: int = 0
    """0 where there is none."""
    nvlink_variant: str = ""
    nvlink_links: int = 0
    nvlink_bridge: tuple[int, ...] = ()
    """Cards that one bridge joins; empty where links end on a board or a switch."""
    c2c: str = ""
    """Key of the coherent link to the CPU."""
    xgmi: str = ""
    """Key of the Infinity Fabric generation."""
    pcie_generation: int
    pcie_lanes: int
    pcie_p2p: bool = True
    """Whether the stock driver copies between cards directly; else through host memory."""
    tdp_W: float | None = None

    @property
    def memory_bandwidth(self) -> float:
        """Memory rate [B/s]."""
        return self.memory_GBps * GB

    def peak(self, dtype: Dtype) -> float | None:
        """Dense peak [FLOP/s or OP/s], or None where the part has no rate for the type."""
        rate: float | None = getattr(self, "int8_TOPS" if dtype == "int8" else f"{dtype}_TFLOPS")
        return None if rate is None else rate * 1e12


@cache
def gpus() -> tuple[Gpu, ...]:
    """All accelerators of the catalog."""
    return read("gpus.toml", "gpu", Gpu)


def _bare(name: str) -> str:
    return plain(_MAKERS.sub(" ", name))


@cache
def _index() -> dict[str, Gpu]:
    return {_bare(name): row for row in gpus() for name in row.names}


@cache
def gpu(name: str) -> Gpu:
    """The accelerator of that name, in any usual spelling.

    `A100 SXM4 80GB`, `a100-sxm-80gb`, `NVIDIA A100-SXM4-80GB` are one; a name that leaves the board
    or memory open means the most common part. Raises UnknownName with the nearest keys.
    """
    row = _index().get(_bare(name))
    if row is None:
        raise UnknownName("GPU", name, (row.key for row in gpus()))
    return row


def nvlink_of(gpu: Gpu) -> tuple[NvlinkGeneration, int] | None:
    """NVLink generation and number of links of a GPU, or None where it has none."""
    if not gpu.nvlink_links:
        return None
    return nvlink(gpu.nvlink_generation, gpu.nvlink_variant), gpu.nvlink_links
