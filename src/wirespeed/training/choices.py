"""choices: micro-batch and recompute where a layout leaves them open, by what fits in memory.

`feasible` gives all that fits, for whoever can time them; `usual` what a user would take first: the
least recompute, then the largest micro-batch that leaves a pipeline its many micro-batches.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from wirespeed.errors import Infeasible
from wirespeed.training.checks import reasons, words
from wirespeed.training.habits import Habit, habit_of, with_defaults
from wirespeed.training.layout import Job, Recompute
from wirespeed.training.memory import GIB, Parts, fullest
from wirespeed.training.nearest import nearest

LEAST_FILL = 4
"""Micro-batches for each stage that keep a pipeline's bubble under a fifth."""


def feasible(job: Job, capacity: float) -> list[Job]:
    """The job with every micro-batch and recompute that is open and fits, the usual one first.

    `capacity` is what one GPU has for tensors and NCCL [B] (`memory.capacity`). What fits only
    because an allocator gives cached blocks back comes last.
    """
    sized = [(trial, fullest(trial)) for trial in _trials(job)]
    roomy = [trial for trial, parts in sized if parts.reserved <= capacity]
    tight = [trial for trial, parts in sized if parts.needed <= capacity < parts.reserved]
    return roomy + tight


def usual(job: Job, capacity: float, *, ran: bool = False) -> tuple[Job, tuple[str, ...]]:
    """The job as a user would run it, and the names of the fields that were chosen for it.

    `ran` says that it is known to fit: where nothing does by our count, what needs least is taken.
    Raises Infeasible where nothing fits, with what holds the memory and the nearest that fits.
    """
    filled = with_defaults(job)
    found = feasible(filled, capacity)
    if not found:
        least = min(_trials(filled), key=lambda trial: fullest(trial).needed)
        if not ran:
            raise _too_large(filled, fullest(least), capacity)
        found = [least]
    names = ("micro_batch", "recompute", "sharding", "sequence_parallel", "schedule")
    open_ = (n for n in names if getattr(job.layout, n) is None and _matters(n, filled))
    return found[0], tuple(open_)


def _matters(name: str, job: Job) -> bool:
    layout = job.layout
    match name:
        case "sequence_parallel":
            return layout.tp > 1
        case "schedule":
            return layout.pp > 1
        case "sharding":
            return layout.dp * layout.cp > 1
        case "recompute":
            return job.model.item == "token"
    return True


def _trials(job: Job) -> Iterator[Job]:
    """All that is open, the usual first."""
    job = with_defaults(job)
    habit = habit_of(job.framework)
    for recompute in _recomputes(job, habit):
        for micro in _micro_batches(job, habit):
            layout = replace(job.layout, recompute=recompute, micro_batch=micro)
            yield replace(job, layout=layout)


def _recomputes(job: Job, habit: Habit) -> tuple[Recompute, ...]:
    if job.layout.recompute is not None:
        return (job.layout.recompute,)
    if job.model.item == "image":
        return ("none",)
    # With a flash kernel attention's core keeps nothing that could be dropped.
    if habit.flash and habit.selective == "core":
        return ("none", "full")
    return (
        ("selective", "full") if habit.selective == "alternate" else ("none", "selective", "full")
    )


def _micro_batches(job: Job, habit: Habit) -> list[int]:
    """Sizes that divide a rank's share, the usual first.

    That is the largest; with a pipeline those that leave it many micro-batches come first.
    """
    layout = job.layout
    if layout.micro_batch is not None:
        return [layout.micro_batch]
    share = max(job.global_batch // layout.dp, 1)
    sizes = [n for n in _halvings(share) if _interleaves(share // n, job)]
    if layout.pp == 1:
        return sizes or [1]
    if habit.micro_batches == "stages":
        # As many micro-batches as stages, then more, smaller ones.
        return sorted(sizes, key=lambda n: (share // n < layout.pp, -n)) or [1]
    return sorted(sizes, key=lambda n: (share // n < LEAST_FILL * layout.pp and n > 1, -n)) or [1]


def _halvings(share: int) -> list[int]:
    """The share, its halves as long as they are whole, and 1."""
    sizes = [share]
    while sizes[-1] % 2 == 0:
        sizes.append(sizes[-1] // 2)
    odd = sizes[-1]
    sizes += [n for n in range(odd // 2, 0, -1) if odd % n == 0]
    return sizes


def _interleaves(count: int, job: Job) -> bool:
    layout = job.layout
    return layout.vpp == 1 or layout.pp == 1 or count % layout.pp == 0


def _too_large(job: Job, parts: Parts, capacity: float) -> Infeasible:
    better = nearest(job, job.layout.gpus, lambda trial: _could_fit(trial, capacity))
    need, have = parts.needed / GIB, capacity / GIB
    return Infeasible(
        f"out of memory: {need:.1f} GiB at the least, and a GPU has {have:.1f}",
        where="layout",
        why=_largest(parts),
        remedy=f"the nearest that fits: {words(better)} --recompute full"
        if better
        else f"nothing on {job.layout.gpus:,} GPUs fits: take more of them, or a smaller model",
    )


def _could_fit(job: Job, capacity: float) -> bool:
    tight = replace(job.layout, micro_batch=1, recompute="full")
    tight_job = replace(job, layout=tight)
    return not reasons(tight_job) and fullest(tight_job).needed <= capacity


def _largest(parts: Parts) -> str:
    kinds = ("weights", "gradients", "optimizer", "activations", "nccl", "other")
    held = sorted(((getattr(parts, kind) / GIB, kind) for kind in kinds), reverse=True)
    return "it is " + ", ".join(f"{kind} {size:.1f}" for size, kind in held[:3]) + " GiB"
