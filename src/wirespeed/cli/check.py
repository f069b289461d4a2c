"""`wirespeed check`: is a pasted measurement right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from wirespeed.cli.options import (
    THIS_MACHINE,
    USUAL_LIBRARY,
    Json,
    LibraryOptions,
    MachineOptions,
    On,
    refuse_option,
)

if TYPE_CHECKING:
    from wirespeed.topology.cluster import Cluster

FOUND = 1


def check(
    file: Annotated[
        str, Parameter(name="FILE", allow_leading_hyphen=True, validator=refuse_option)
    ],
    /,
    *,
    on: On = "",
    machine: MachineOptions = THIS_MACHINE,
    library: LibraryOptions = USUAL_LIBRARY,
    json: Json = False,
) -> int:
    """nccl-tests output beside the forecast: right or not, row by row and in a sentence.

    Parameters
    ----------
    file
        Output of nccl-tests or rccl-tests, text or JSON; - for standard input.
    on
        The machine it ran on: a preset, or a file. Without it the output's own list of GPUs holds.
    machine
        Which machines.
    library
        Which library.
    json
        JSON in place of tables.
    """
    from dataclasses import replace

    from wirespeed._api.check import check as verdict_on
    from wirespeed.cli.options import clusters
    from wirespeed.cli.output import show

    def made(nodes: int | None) -> Cluster:
        given = machine.nodes or (None if nodes is None else str(nodes))
        return clusters(on, replace(machine, nodes=given), library)[0]

    report = verdict_on(file, made if on else None)
    show(report, json=json)
    return 0 if report.verdict == "ok" else FOUND
