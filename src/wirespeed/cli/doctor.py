"""`wirespeed doctor`: what is wrong, where it is seen, what to do."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from wirespeed.cli.options import (
    OUTPUT,
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

Files = Annotated[str, Parameter(name="FILE", allow_leading_hyphen=True, validator=refuse_option)]


def doctor(
    *files: Files,
    on: On = "",
    machine: MachineOptions = THIS_MACHINE,
    library: LibraryOptions = USUAL_LIBRARY,
    redact: Annotated[str | None, Parameter(group=OUTPUT)] = None,
    json: Json = False,
) -> int:
    """What is wrong with a machine or a run, where it is seen and what to do; or that nothing is.

    Parameters
    ----------
    files
        What machines and benchmarks print: nccl-tests, nvidia-smi, NCCL's files and logs; a folder
        or an archive of these; - for standard input. Or a file of records such as collectives.json.
    on
        The machine it ran on: a preset, or a file. Without it the files themselves say it.
    machine
        Which machines.
    library
        Which library.
    redact
        A new folder for copies of the files without names, addresses, serials: to be shown to
        others.
    json
        JSON in place of text.
    """
    from dataclasses import replace

    from wirespeed._api.doctor import doctor as report_on
    from wirespeed.cli.options import clusters
    from wirespeed.cli.output import show

    def made(nodes: int | None) -> Cluster:
        given = machine.nodes or (None if nodes is None else str(nodes))
        return clusters(on, replace(machine, nodes=given), library)[0]

    if redact is not None:
        from wirespeed._api.doctor import write_redacted

        for copy in write_redacted(files, redact):
            print(f"written: {copy}", file=sys.stderr)
    report = report_on(*files, on=made if on else None)
    show(report, json=json)
    return 0 if report.verdict == "ok" else FOUND
