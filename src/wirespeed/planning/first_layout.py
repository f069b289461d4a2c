"""first_layout: degrees of parallelism for who names none, as a user would begin."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from wirespeed.training.checks import reasons
from wirespeed.training.choices import feasible
from wirespeed.training.layout import Job

_WITH_LESS = ("none", "selective")


def first_layout(job: Job, gpus: int, domain: int, capacity: float) -> Job | None:
    """The job with the least tensor and pipeline parallelism that fits, dp taking the rest.

    Tensor parallelism stays inside the `domain` of so many GPUs that NVLink joins. A layout that
    recomputes everything comes after all that need not. `capacity` is what a GPU has [B]. None
    where nothing fits. Other fields of the layout stay as they are.
    """
    with_full: Job | None = None
    for trial in _trials(job, gpus, domain):
        if reasons(trial, gpus):
            continue
        found = feasible(trial, capacity)
        if any(one.layout.recompute in _WITH_LESS for one in found):
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


def _power_within(number: int) -> int:
    """The largest power of two up to a number."""
    return 1 << (max(number, 1).bit_length() - 1)
