"""remarks: what was done with a job that nobody asked for, to be said beside its forecast."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from wirespeed.models import Lookup
from wirespeed.training.habits import habit_of
from wirespeed.training.layout import Job
from wirespeed.training.shards import padded
from wirespeed.training.stages import stages


def remarks(job: Job) -> list[str]:
    """Plain sentences: what the model left open, uneven stages, a padded vocabulary."""
    return [*job.model.notes, *_uneven(job), *_padded(job)]


def _uneven(job: Job) -> Iterator[str]:
    layout = job.layout
    if layout.pp == 1 or layout.stage_layers is not None:
        return
    cut = stages(job.model, layout, job.framework)
    parts = [cut[k % layout.pp].chunks[k // layout.pp] for k in range(layout.pp * layout.vpp)]
    sizes = [sum(layer.kind == "block" for layer in part) for part in parts]
    if len(set(sizes)) > 1:
        runs = [(size, len(list(same))) for size, same in groupby(sizes)]
        text = ", ".join(f"{n} x {size}" if n > 1 else f"{size}" for size, n in runs)
        what = "stages" if layout.vpp == 1 else "model chunks"
        yield f"of {sum(sizes)} layers the pipeline's {what} have {text}"


def _padded(job: Job) -> Iterator[str]:
    if not habit_of(job.framework).pads_vocab:
        return
    for layer in job.model.layers:
        for operator in layer.operators if layer.kind == "embedding" else ():
            if isinstance(operator, Lookup) and operator.split:
                rows = padded(operator.rows, job.layout.tp)
                if rows != operator.rows:
                    yield f"a vocabulary of {operator.rows:,} is padded to {rows:,}"
