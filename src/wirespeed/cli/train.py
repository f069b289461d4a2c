"""`wirespeed train`: what a training step takes, and which part of it is communication."""

from __future__ import annotations

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
from wirespeed.cli.training_options import NO_LAYOUT, USUAL_JOB, JobOptions, LayoutOptions


def train(
    model: Annotated[str, Parameter(name="MODEL")],
    /,
    *,
    on: On,
    job: JobOptions = USUAL_JOB,
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
        Which machines; --nodes takes one number.
    library
        Which library.
    timeline
        Also the step as a line for each stream of each pipeline stage.
    to
        perfetto: the step as a trace that https://ui.perfetto.dev opens.
    json
        JSON in place of tables.
    """
    from wirespeed._api.counts import one_count
    from wirespeed._api.jobs import Words
    from wirespeed._api.train import step_of, train_with_step
    from wirespeed.cli.options import clusters
    from wirespeed.cli.output import show

    if machine.nodes:
        one_count(machine.nodes)
    (cluster,) = clusters(on, machine, library)
    words = Words(model, layout.words(), **job.words())
    if to is not None:
        from wirespeed.views.export.perfetto import perfetto

        print(perfetto(step_of(words, cluster)))
        return 0
    forecast, step = train_with_step(words, cluster)
    show(forecast, json=json)
    if timeline and not json:
        from wirespeed.views.timeline import timeline as drawn

        print(f"\n{drawn(step)}")
    return 0
