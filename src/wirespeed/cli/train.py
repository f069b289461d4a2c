"""`wirespeed train`: what a training step takes, and which part of it is communication."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from cyclopts import Parameter

from wirespeed.cli.options import (
    OUTPUT,
    THIS_MACHINE,
    USUAL_LIBRARY,
    Json,
    LibraryOptions,
    MachineOptions,
    On,
)
from wirespeed.cli.training_options import NO_LAYOUT, JobOptions, LayoutOptions


def train(
    model: Annotated[str, Parameter(name="MODEL")],
    /,
    *,
    on: On,
    job: JobOptions,
    layout: LayoutOptions = NO_LAYOUT,
    machine: MachineOptions = THIS_MACHINE,
    library: LibraryOptions = USUAL_LIBRARY,
    timeline: Annotated[bool, Parameter(group=OUTPUT)] = False,
    to: Annotated[Literal["perfetto"] | None, Parameter(group=OUTPUT)] = None,
    json: Json = False,
) -> int:
    """What a training step takes: compute, exposed communication, bubble, memory, MFU.

    Parameters
    ----------
    model
        A shipped name such as llama3-70b or gpt3-175b, a config.json, or its folder.
    on
        A preset, a file that the machine wrote, or - for standard input.
    job
        What is trained.
    layout
        How it is spread over GPUs.
    machine
        Which machines.
    library
        Which library.
    timeline
        Also the step as a line for each stream of each pipeline stage.
    to
        perfetto: the step as a trace that https://ui.perfetto.dev opens.
    json
        JSON in place of tables.
    """
    from wirespeed._api.train import step_of
    from wirespeed._api.train import train as forecast
    from wirespeed.cli.options import clusters
    from wirespeed.cli.output import show
    from wirespeed.errors import UsageError

    found = clusters(on, machine, library)
    if len(found) > 1:
        raise UsageError(
            "several numbers of nodes",
            where="--nodes",
            why="train forecasts one step",
            remedy="`wirespeed scale` takes a list",
        )
    words = layout.words()
    stepped = partial(
        step_of,
        model,
        found[0],
        words,
        global_batch=job.global_batch,
        seq=job.seq,
        precision=job.precision,
        framework=job.framework,
    )
    if to is not None:
        from wirespeed.views.export.perfetto import perfetto

        print(perfetto(stepped()))
        return 0
    made = forecast(
        model,
        found[0],
        words,
        global_batch=job.global_batch,
        seq=job.seq,
        precision=job.precision,
        framework=job.framework,
    )
    show(made, json=json)
    if timeline and not json:
        from wirespeed.views.timeline import timeline as drawn

        print()
        print(drawn(stepped()))
    return 0
