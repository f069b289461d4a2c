"""compute: how long kernels take on one GPU.

A matrix product runs tile by tile: each multiprocessor works on one tile of the output at a time,
so that the last wave may be part empty, and every tile pays for filling its pipeline along k. Of a
few usual tiles the fastest is taken, as a library's heuristic would. No product is faster than
memory gives its operands. Attention without scores runs at a share of the dense peak; all else at
a share of the memory's rate.
"""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from wirespeed.catalog import Gpu, generation_of, gpu
from wirespeed.errors import Infeasible
from wirespeed.training.layout import Precision
from wirespeed.training.work import Conv, Flash, Gemm, Kernel, Pass

DATA = Path(__file__).parent / "data"

_TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64))
"""Outputs of a tile; the libraries' usual ones (CUTLASS default configurations)."""
_FULL_TILE = 128 * 128
"""A smaller tile reuses each operand less: its rate falls with its side."""


class PaceValue(msgspec.Struct, frozen=True):
    """One parameter of compute: unit, source, how sure, and what it was fitted on."""

    value: float
    unit: str
    source: str
    confidence: Literal["spec", "measured", "fitted", "assumed"]
    start: float | None = None


@cache
def pace_table() -> Mapping[str, PaceValue]:
    """All parameters of compute by key, such as `ampere.memory_share`."""
    document: dict[str, Any] = tomllib.loads((DATA / "pace.toml").read_text(encoding="utf-8"))
    table = msgspec.convert(document, dict[str, dict[str, PaceValue]])
    return {f"{group}.{key}": v for group, entries in table.items() for key, v in entries.items()}


@cache
def _pace_digest() -> str:
    pairs = sorted((key, entry.value) for key, entry in pace_table().items())
    return hashlib.sha256(repr(pairs).encode()).hexdigest()[:6]


def parameter_hash(wires: str) -> str:
    """The hash of all that a step rests on: that of the wires' parameters, and of compute's."""
    return f"{wires}-{_pace_digest()}"


@dataclass(frozen=True, slots=True)
class Host:
    """What the host needs to launch work [s]: a block's pass, a micro-batch's rest, a step's."""

    block: float
    micro_batch: float
    step: float


def host_of(key: str, values: Mapping[str, PaceValue] | None = None) -> Host:
    """The host's times under a framework's key."""
    table = values or pace_table()
    return Host(*(table[f"host-{key}.{k}"].value * 1e-6 for k in ("block", "micro_batch", "step")))


@dataclass(frozen=True, slots=True)
class Pace:
    """Rates of one GPU in one precision.

    Attributes:
        peak: dense [FLOP/s] of products with weights; `inner` of products without, in 16 bit.
        share: what a large product reaches of it.
        units: multiprocessors.
        fill: products along k that a tile waits for before it runs at full rate.
        flash, flash_back: attention's shares of `inner`.
        memory: [B/s] that passes over memory reach.
        kernel: [s] least time of a kernel on the device, with the gap to the next.
        width: bytes of a product's operand.
    """

    peak: float
    inner: float
    share: float
    units: int
    fill: float
    flash: float
    flash_back: float
    memory: float
    kernel: float
    width: float
    conv: float

    def slower(self, factor: float) -> Pace:
        """The rates of a GPU that takes so many times as long for everything."""
        if factor == 1.0:
            return self
        return replace(
            self,
            peak=self.peak / factor,
            inner=self.inner / factor,
            memory=self.memory / factor,
            kernel=self.kernel * factor,
        )

    def seconds(self, kernels: Iterable[Kernel]) -> float:
        """[s] that kernels take one after the other."""
        return sum(map(self.one, kernels))

    def one(self, kernel: Kernel) -> float:
        """[s] of one kernel."""
        match kernel:
            case Gemm():
                return self.kernel + self._gemm(kernel)
            case Flash():
                share = self.flash_back if kernel.backward else self.flash
                return self.kernel + kernel.flops / (self.inner * share)
            case Pass():
                return self.kernel * kernel.kernels + kernel.bytes / self.memory
            case Conv():
                compute = kernel.flops / (self.inner * self.share * self.conv)
                return self.kernel + max(compute, kernel.bytes / self.memory)

    def _gemm(self, gemm: Gemm) -> float:
        peak = self.peak if gemm.weights else self.inner
        moved = gemm.elements * (self.width if gemm.weights else 2.0)
        per_unit = peak * self.share / self.units
        best = math.inf
        for rows, columns in _TILES:
            tiles = math.ceil(gemm.m / rows) * math.ceil(gemm.n / columns) * gemm.count
            reuse = min(1.0, (rows * columns / _FULL_TILE) ** 0.5)
            tile = 2.0 * rows * columns * (gemm.k + self.fill) / (per_unit * reuse)
            best = min(best, math.ceil(tiles / self.units) * tile)
        return max(best, moved / self.memory)


def pace_of(
    name: str,
    precision: Precision,
    values: Mapping[str, PaceValue] | None = None,
    *,
    gemm: float = 1.0,
    hbm: float = 1.0,
) -> Pace:
    """The rates of a GPU, with products and memory so many times as fast as they are.

    Raises Infeasible where it has none for the precision.
    """
    row = gpu(name)
    table = values or pace_table()
    generation = generation_of(row.architecture, row.cc)

    def of(key: str) -> float:
        for group in (generation, "other"):
            if f"{group}.{key}" in table:
                return table[f"{group}.{key}"].value
        raise KeyError(key)

    word: Any = {"nvfp4": "fp4"}.get(precision, precision)
    peak = row.peak(word)
    inner_word: Any = precision if precision in ("fp32", "tf32") else "fp16"
    inner = row.peak("bf16") if precision == "bf16" else row.peak(inner_word)
    if peak is None or inner is None:
        raise Infeasible(
            f"{row.name} has no {precision}",
            where="precision",
            why="its units have no rate for it",
            remedy="take bf16 or fp16",
        )
    devices = row.devices
    return Pace(
        peak=peak / devices * gemm,
        inner=inner / devices * gemm,
        share=_share(row, precision, of),
        units=(row.sm_count or 100) // devices,
        fill=of("fill"),
        flash=of("flash"),
        flash_back=of("flash_back"),
        memory=row.memory_bandwidth / devices * of("memory_share") * hbm,
        kernel=of("kernel") * 1e-6,
        width={"fp8": 1.0, "nvfp4": 0.5, "fp32": 4.0, "tf32": 4.0}.get(precision, 2.0),
        conv=of("conv"),
    )


def _share(row: Gpu, precision: Precision, of: Any) -> float:
    """What the best product reaches of the dense peak: measured on this GPU, or of its kind."""
    if precision == "fp8" and row.measured_fp8_TFLOPS and row.fp8_TFLOPS:
        return float(row.measured_fp8_TFLOPS / row.fp8_TFLOPS) * float(of("gemm"))
    if row.measured_bf16_TFLOPS and row.bf16_TFLOPS:
        return float(row.measured_bf16_TFLOPS / row.bf16_TFLOPS) * float(of("gemm"))
    return float(of("gemm_peak")) * float(of("gemm"))
