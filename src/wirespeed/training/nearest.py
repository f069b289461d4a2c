"""nearest: the layout that works and is closest to one that does not."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from wirespeed.training.layout import Job, Layout, Sharding

MOST_TRIALS = 20_000
"""Layouts that are looked at before giving up: a fraction of a second."""

SHARDINGS: tuple[Sharding, ...] = ("zero1", "zero3")
"""What is tried besides the sharding that was asked for."""


def nearest(job: Job, gpus: int, works: Callable[[Job], bool]) -> Job | None:
    """The closest job on that many GPUs that works, or None.

    Distance is the number of doublings between degrees, tensor and pipeline parallelism counting
    most, since they are what a user means; then what is switched off, then the batch.
    """
    job = _sensible(job)
    trials = sorted(_trials(job, gpus), key=lambda trial: _distance(job, trial))
    return next((trial for trial in trials[:MOST_TRIALS] if works(trial)), None)


def _sensible(job: Job) -> Job:
    """The job with 1 where a degree, a size or the batch is below it."""
    layout = job.layout
    names = ("dp", "tp", "pp", "vpp", "cp", "ep", "micro_batch", "shard_group")
    least = {n: max(v, 1) for n in names if (v := getattr(layout, n)) is not None}
    return replace(
        job, layout=replace(layout, **least), global_batch=max(job.global_batch, layout.dp, 1)
    )


def _trials(job: Job, gpus: int) -> Iterator[Job]:
    layout = job.layout
    for tp in _divisors(gpus):
        for pp in _divisors(gpus // tp):
            for cp in {1, layout.cp} if gpus // tp // pp % layout.cp == 0 else {1}:
                dp = gpus // tp // pp // cp
                for vpp in {1, layout.vpp, max(layout.vpp // 2, 1)} if pp > 1 else {1}:
                    yield from _completed(job, dp, tp, pp, vpp, cp)


def _completed(job: Job, dp: int, tp: int, pp: int, vpp: int, cp: int) -> Iterator[Job]:
    """The same degrees with what goes along: sharding, sequence parallelism, batch."""
    layout = job.layout
    base = replace(layout, dp=dp, tp=tp, pp=pp, vpp=vpp, cp=cp, ep=1)
    if tp == 1 and layout.sequence_parallel:
        base = replace(base, sequence_parallel=False)
    if (pp, vpp) != (layout.pp, layout.vpp):
        base = replace(base, stage_layers=None, schedule=_schedule(layout, pp, vpp))
    if layout.shard_group is not None and dp % layout.shard_group:
        base = replace(base, shard_group=math.gcd(dp, layout.shard_group))
    for sharding in (layout.sharding, *(x for x in SHARDINGS if x != layout.sharding)):
        trial = replace(base, sharding=sharding)
        for batch in _batches(job, trial):
            for micro in _micro_batches(layout.micro_batch, batch // dp):
                fitted = replace(trial, micro_batch=micro)
                yield replace(job, layout=fitted, global_batch=batch)


def _schedule(layout: Layout, pp: int, vpp: int) -> str | None:
    if pp == 1 or layout.schedule is None:
        return None
    if vpp > 1:
        return "interleaved"
    return "1f1b" if layout.schedule == "interleaved" else layout.schedule


def _batches(job: Job, layout: Layout) -> list[int]:
    """The batch that is asked for, or the next one that divides."""
    step = layout.dp * (layout.pp if layout.vpp > 1 else 1)
    rounded = max(math.ceil(job.global_batch / step) * step, step)
    return [job.global_batch] if job.global_batch % step == 0 else [job.global_batch, rounded]


def _micro_batches(asked: int | None, share: int) -> list[int | None]:
    if asked is None or share < 1:
        return [asked]
    near = [n for n in _divisors(share) if n <= asked] or [1]
    return [asked] if share % asked == 0 else [asked, near[-1]]


def _distance(asked: Job, trial: Job) -> tuple[float, ...]:
    a, b = asked.layout, trial.layout
    weights = {"tp": 2.0, "pp": 2.0, "cp": 2.0, "dp": 1.0, "vpp": 0.5}
    steps = sum(
        weight * abs(math.log2(max(getattr(a, k), 1) / getattr(b, k)))
        for k, weight in weights.items()
    )
    micro = abs(math.log2(max(a.micro_batch or 1, 1) / (b.micro_batch or 1)))
    switched = 0.5 * (a.sharding != b.sharding)
    batch = abs(math.log2(trial.global_batch / max(asked.global_batch, 1)))
    # Ties go to fewer GPUs a copy, which communicates less.
    return (steps + 0.5 * micro + switched + 2 * batch, b.tp * b.pp, b.tp)


def _divisors(number: int) -> list[int]:
    small = [d for d in range(1, math.isqrt(number) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})
