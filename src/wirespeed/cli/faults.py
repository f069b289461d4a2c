"""`wirespeed faults`: every single fault, ranked by what it costs."""

from __future__ import annotations

from typing import Annotated

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


def faults(
    op: Annotated[str, Parameter(name="OP")],
    /,
    *,
    on: On,
    size: str = "1G",
    machine: MachineOptions = THIS_MACHINE,
    library: LibraryOptions = USUAL_LIBRARY,
    top: Annotated[int | None, Parameter(group=OUTPUT)] = None,
    json: Json = False,
) -> int:
    """Every single fault, ranked by what it costs an operation: parts, cables, settings.

    Parameters
    ----------
    op
        all_reduce, all_gather, reduce_scatter, broadcast, alltoall, sendrecv, p2p_copy, h2d, d2h.
    on
        A preset, a file that the machine wrote, or - for standard input.
    size
        Message size as nccl-tests counts it: 1G unless given.
    machine
        Which machines; --nodes takes one number.
    library
        Which library.
    top
        Only so many, the costliest.
    json
        JSON in place of tables.
    """
    from wirespeed._api.counts import one_count
    from wirespeed._api.faults import faults as report_on
    from wirespeed.cli.options import clusters
    from wirespeed.cli.output import show

    if machine.nodes:
        one_count(machine.nodes)
    (cluster,) = clusters(on, machine, library)
    report = report_on(
        op,
        cluster,
        size,
        ranks=library.ranks,
        algo=library.algo,
        proto=library.proto,
        top=top,
    )
    show(report, json=json)
    return 0
