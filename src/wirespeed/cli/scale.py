"""`wirespeed scale`: a training over the number of nodes."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from wirespeed.cli.options import (
    THIS_MACHINE,
    USUAL_LIBRARY,
    Json,
    LibraryOptions,
    MachineOptions,
    On,
)
from wirespeed.cli.training_options import (
    LAYOUT,
    NO_LAYOUT,
    USUAL_JOB,
    JobOptions,
    LayoutOptions,
)

USUAL_NODES = "1:16"


def scale(
    model: Annotated[str, Parameter(name="MODEL")],
    /,
    *,
    on: On,
    job: JobOptions = USUAL_JOB,
    layout: LayoutOptions = NO_LAYOUT,
    machine: MachineOptions = THIS_MACHINE,
    library: LibraryOptions = USUAL_LIBRARY,
    strong: Annotated[bool, Parameter(group=LAYOUT)] = False,
    json: Json = False,
) -> int:
    """A training over the number of nodes: rate, efficiency, what stops being hidden.

    Parameters
    ----------
    model
        A shipped name such as llama3-70b, a config.json, or its folder.
    on
        A preset, a file that the machine wrote, or - for standard input.
    job
        What is trained; --global-batch is that of the fewest nodes.
    layout
        How it is spread over GPUs; data parallelism takes up the nodes.
    machine
        Which machines; --nodes 1:512 doubles from 1 to 512 (1:16 unless given).
    library
        Which library.
    strong
        Strong scaling: the batch stays. Without it the batch grows with the GPUs.
    json
        JSON in place of tables.
    """
    from wirespeed._api.counts import parse_counts
    from wirespeed._api.train import scale as scaled
    from wirespeed.cli.options import environment
    from wirespeed.cli.output import show
    from wirespeed.errors import UsageError

    if layout.dp is not None:
        raise UsageError(
            "data parallelism takes up the nodes",
            where="--dp",
            why="it is another on every number of them",
            remedy="leave --dp out",
        )
    if machine.racks:
        raise UsageError("racks are not counted here", where="--racks", remedy="use --nodes")
    report = scaled(
        model,
        on,
        layout=layout.words(),
        nodes=parse_counts(machine.nodes or USUAL_NODES),
        **job.words(),
        strong=strong,
        gpu=machine.gpu,
        fabric=machine.fabric,
        changes=machine.change,
        library=library.library,
        env=environment(library.env),
        parameters=library.parameters,
    )
    show(report, json=json)
    return 0
