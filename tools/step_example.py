"""A training step worked out by hand, for docs/how-a-step-is-made.md.

From the GPU's data, the parameters of compute and the times of two collectives alone: which kernels
a layer has is the package's, how long each takes is reckoned here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from worked import GB, MS, US, Line, Worked

import wirespeed as ws
from wirespeed._api.jobs import Words, job_of
from wirespeed.catalog import gpu
from wirespeed.models import Layer, Lookup, Matmul
from wirespeed.training import work
from wirespeed.training.compute import pace_table
from wirespeed.training.forecast import simulate_step
from wirespeed.training.frameworks import framework_of
from wirespeed.training.habits import habit_of
from wirespeed.training.layout import Job
from wirespeed.training.passes import shape_of
from wirespeed.training.shards import sharded
from wirespeed.training.update import optimizer_bytes

MACHINE, MODEL = "dgx-a100", "llama2-7b"
TP, BATCH, SEQ = 8, 8, 4096
LAYOUT = {"tp": TP, "micro_batch": 1, "recompute": "none"}
COMMAND_LAYOUT = f"--tp {TP} --micro-batch 1 --recompute none --global-batch {BATCH} --seq {SEQ}"
TILES = ((256, 128), (128, 256), (128, 128), (128, 64), (64, 128), (64, 64))


@dataclass(frozen=True)
class Example:
    """The job, and what its GPU does: dense peak [FLOP/s], best share, memory's rate [B/s] …"""

    job: Job
    peak: float
    share: float
    memory: float
    units: int
    fill: float
    kernel: float
    flash: float
    flash_back: float


def example() -> Example:
    """The job of the page on its machine."""
    on = ws.cluster(MACHINE)
    asked = job_of(Words(MODEL, LAYOUT, BATCH, SEQ), on).job
    job = simulate_step(asked, on).job
    row, table = gpu(on.machine.gpu), pace_table()

    def of(key: str) -> float:
        return next(table[f"{g}.{key}"].value for g in ("ampere", "other") if f"{g}.{key}" in table)

    peak = row.peak("bf16")
    assert peak
    assert row.measured_bf16_TFLOPS
    assert row.bf16_TFLOPS
    assert row.sm_count
    return Example(
        job=job,
        peak=peak,
        share=row.measured_bf16_TFLOPS / row.bf16_TFLOPS * of("gemm"),
        memory=row.memory_bandwidth * of("memory_share"),
        units=row.sm_count,
        fill=of("fill"),
        kernel=of("kernel") * US,
        flash=of("flash"),
        flash_back=of("flash_back"),
    )


def block(on: Example, *, back: bool) -> Worked:
    """The kernels of one block, forward or backward, and their sum."""
    layer = next(layer for layer in on.job.model.layers if layer.kind == "block")
    lines, total = [], 0.0
    for name, kernel in _kernels(on, layer, back=back):
        text, seconds = _kernel(on, kernel)
        lines.append(Line(name, text, f"{seconds / US:.1f} us"))
        total += seconds
    lines.append(Line("backward" if back else "forward", "", f"{total / US:.1f} us"))
    return Worked(tuple(lines), total)


def whole() -> Worked:
    """The step: passes of all layers, collectives between them, sums of gradients, optimizer."""
    on = example()
    ahead, behind = block(on, back=False).time, block(on, back=True).time
    blocks = sum(layer.kind == "block" for layer in on.job.model.layers)
    ends = sum(
        _kernel(on, kernel)[1]
        for layer in on.job.model.layers
        if layer.kind != "block"
        for back in (False, True)
        for _, kernel in _kernels(on, layer, back=back)
    )
    gather, scatter = (_collective(on, op) for op in ("all_gather", "reduce_scatter"))
    calls = sum(_sums(layer) for layer in on.job.model.layers)
    held = sharded(on.job.model.layers, TP, pads_vocab=True)
    added = held * (2 + 2 * 4) / on.memory
    one = blocks * (ahead + behind) + ends + calls * (gather + scatter) + added
    moved = optimizer_bytes(on.job)
    update = held * moved / on.memory
    step = BATCH * one + update
    tokens = BATCH * SEQ / step / TP
    lines = (
        Line(
            "blocks",
            f"{blocks} x ({ahead / US:.1f} + {behind / US:.1f}) us",
            ms(blocks * (ahead + behind)),
        ),
        Line("embedding, head", "their kernels, in the same way", ms(ends)),
        Line(
            "tensor parallelism",
            f"{calls} x ({gather / US:.1f} + {scatter / US:.1f}) us, gather and scatter",
            ms(calls * (gather + scatter)),
        ),
        Line(
            "gradients added",
            f"{held:,.0f} x (2 + 2 x 4) B / {on.memory / GB:.0f} GB/s",
            ms(added),
        ),
        Line("a micro-batch", "", ms(one)),
        Line("all of them", f"x {BATCH}", ms(BATCH * one)),
        Line("optimizer", f"{held:,.0f} x {moved:g} B / {on.memory / GB:.0f} GB/s", ms(update)),
        Line("the step", "", ms(step)),
        Line("rate", f"{BATCH} x {SEQ:,} / {step:.4f} s / {TP}", f"{tokens:,.0f} tokens/s/GPU"),
    )
    return Worked(lines, step)


def _kernels(on: Example, layer: Layer, *, back: bool) -> Iterator[tuple[str, work.Kernel]]:
    """What a layer launches, with the name of the operator that it is of."""
    shape = shape_of(on.job, habit_of(on.job.framework), framework_of(on.job.framework))
    kinds = work.backward if back else work.forward
    for operator in layer.operators:
        alone = Layer(layer.name, layer.kind, (operator,))
        found = kinds(alone, shape)
        for k, kernel in enumerate(found):
            both = ("inputs", "weights")[k] if len(found) == 2 else ""
            yield f"{operator.name} {both}".strip(), kernel


def _kernel(on: Example, kernel: work.Kernel) -> tuple[str, float]:
    """A kernel's sum as text, and its time [s]."""
    match kernel:
        case work.Gemm():
            return _gemm(on, kernel)
        case work.Flash():
            share = on.flash_back if kernel.backward else on.flash
            rate = on.peak * share
            text = f"{kernel.flops / 1e9:.1f} GFLOP / {rate / 1e12:.1f} TFLOP/s"
            return text, on.kernel + kernel.flops / rate
        case work.Pass():
            text = f"{kernel.bytes / 1e6:.1f} MB / {on.memory / GB:.0f} GB/s"
            return text, on.kernel * kernel.kernels + kernel.bytes / on.memory
    raise TypeError(type(kernel))


def _gemm(on: Example, gemm: work.Gemm) -> tuple[str, float]:
    """Waves of tiles: as many at once as there are multiprocessors."""
    ways = []
    for rows, columns in TILES:
        tiles = math.ceil(gemm.m / rows) * math.ceil(gemm.n / columns)
        waves = math.ceil(tiles / on.units)
        slower = max(1.0, math.sqrt(128 * 128 / (rows * columns)))
        rate = on.peak * on.share / on.units / slower
        tile = 2 * rows * columns * (gemm.k + on.fill) / rate
        ways.append((waves * tile, rows, columns, tiles, waves, tile))
    seconds, rows, columns, tiles, waves, tile = min(ways)
    sizes = f"[{gemm.m:.0f} x {gemm.k:.0f}] [{gemm.k:.0f} x {gemm.n:.0f}]"
    moved = gemm.elements * 2 / on.memory
    if moved > seconds:
        return f"{sizes}: {gemm.elements * 2 / 1e6:.1f} MB / {on.memory / GB:.0f} GB/s", (
            on.kernel + moved
        )
    text = f"{sizes}: {tiles} tiles {rows}x{columns}, {waves} waves x {tile / US:.1f} us"
    return text, on.kernel + seconds


def _collective(on: Example, operation: str) -> float:
    """[s] of a collective over the tokens' whole width, as the table of collectives has it."""
    size = SEQ * on.job.model.hidden * 2
    rows = ws.collective(operation, MACHINE, sizes=size, dtype="bfloat16").rows
    return rows[0].time_us * US


def _sums(layer: Layer) -> int:
    """Pairs of gather and scatter of a layer, forward and backward."""
    split = [o.split for o in layer.operators if isinstance(o, Matmul)]
    tables = [o for o in layer.operators if isinstance(o, Lookup) and o.split]
    return split.count("row") + split.count("column") + len(tables)


def ms(seconds: float) -> str:
    """A time in ms."""
    return f"{seconds / MS:.3f} ms"


def pace_page() -> str:
    """All parameters of compute with what they were taken from."""
    lines = ["| parameter | value | unit | how sure | source |", "|---|---:|---|---|---|"]
    for key, entry in pace_table().items():
        cells: Sequence[str] = (
            f"`{key}`",
            f"{entry.value:g}",
            entry.unit,
            entry.confidence,
            entry.source,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


SUMS: dict[str, Callable[[], Worked]] = {
    "step-forward": lambda: block(example(), back=False),
    "step-backward": lambda: block(example(), back=True),
    "step": whole,
}
TABLES: dict[str, Callable[[], str]] = {"pace": pace_page}
