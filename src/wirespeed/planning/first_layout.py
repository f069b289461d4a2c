"""first_layout: degrees of parallelism for who names none, as a user would begin."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from wirespeed.training.checks import reasons
from wirespeed.training.choices import feasible
from wirespeed.training.layout import Job

_WITH_LESS = ("none", "selective")
_WORTH = 2
"""How many times the splitting is worth it to recompute less: a third of forward and backward."""


def first_layout(job: Job, gpus: int, domain: int, capacity: float) -> Job | None:
    """The job with the least tensor and pipeline parallelism that fits, dp taking the rest.

    Tensor parallelism stays inside the `domain` of so many GPUs that NVLink joins. Where a layout
    has to recompute everything, twice the splitting is taken that need not. `capacity` is what a
    GPU has [B]. None where nothing fits. Other fields of the layout stay as they are.
    """
    with_full: Job | None = None
    for trial in _trials(job, gpus, domain):
        if with_full is not None and _parts(trial) > _WORTH * _parts(with_full):
            break
        if reasons(trial, gpus):
            continue
        found = feasible(trial, capacity)
        if found and found[0].layout.recompute in _WITH_LESS:
            return trial
        if found and with_full is None:
            with_full = trial
    return with_full


def _trials(job: Job, gpus: int, domain: int) -> Iterator[Job]:
    """Splits of a copy over 1, 2, 4 … GPUs, over tensor parallelism before a pipeline."""
    layout, parts = job.layout, 1
    while parts * layout.cp <= gpus:
        tp = min(parts, _power_within(domain))
        pp = parts // tp
        if gpus % (parts * layout.cp) == 0:
            dp = gpus // (parts * layout.cp)
            yield replace(job, layout=replace(layout, dp=dp, tp=tp, pp=pp))
        parts *= 2


def _parts(job: Job) -> int:
    """GPUs that a copy is split over."""
    return job.layout.tp * job.layout.pp


def _power_within(number: int) -> int:
    """The largest power of two up to a number."""
    return 1 << (max(number, 1).bit_length() - 1)
