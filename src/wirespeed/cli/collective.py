"""`wirespeed collective`: the nccl-tests table, forecast."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from wirespeed.cli.options import (
    LIBRARY,
    OUTPUT,
    THIS_MACHINE,
    USUAL_LIBRARY,
    Json,
    LibraryOptions,
    MachineOptions,
    On,
)


def collective(
    op: Annotated[str, Parameter(name="OP")],
    /,
    *,
    on: On,
    sizes: str = "8:16G",
    machine: MachineOptions = THIS_MACHINE,
    library: LibraryOptions = USUAL_LIBRARY,
    dtype: Annotated[str, Parameter(group=LIBRARY)] = "float",
    launch: Annotated[Literal["process", "thread", "graph"], Parameter(group=LIBRARY)] = "process",
    siblings: Annotated[bool, Parameter(group=LIBRARY, negative=())] = False,
    beside: Annotated[tuple[str, ...], Parameter(group=LIBRARY, negative=())] = (),
    late: Annotated[tuple[str, ...], Parameter(group=LIBRARY, negative=())] = (),
    explain: Annotated[bool, Parameter(group=OUTPUT)] = False,
    loads: Annotated[bool, Parameter(group=OUTPUT)] = False,
    to: Annotated[Literal["dot"] | None, Parameter(group=OUTPUT)] = None,
    json: Json = False,
) -> int:
    """The nccl-tests table, forecast: time, bandwidth, algorithm, bottleneck, bound.

    Parameters
    ----------
    op
        all_reduce, all_gather, reduce_scatter, broadcast, alltoall, sendrecv, p2p_copy, h2d, d2h.
    on
        A preset, a file that the machine wrote, or - for standard input.
    sizes
        Message sizes as nccl-tests counts them: 8:16G (doubling, the default), 1M,64M,1G.
    machine
        Which machines.
    library
        Which library.
    dtype
        As nccl-tests names it: float, half, bfloat16, int8 … (NVSwitches add no int8).
    launch
        How calls are launched: process (one a GPU), thread, or graph.
    siblings
        The other GPUs, grouped as --ranks groups these, do the same at the same time.
    beside
        Another job that repeats its call meanwhile: alltoall:64M, or all_reduce:1G@0-7 for some
        of the ranks. May be repeated.
    late
        Ranks that arrive later than the others: 3=2ms or node1/gpu0=500us. May be repeated. What
        the largest size then takes, message by message: for rings and straight messages.
    explain
        Also what the library chose from, with its own estimate and ours.
    loads
        Also what the largest size puts on every link and part: bytes, share of the wire, time.
    to
        dot: the first node as a Graphviz graph, coloured by how full the largest size keeps it.
    json
        JSON in place of tables.
    """
    from wirespeed._api.collective import collective as forecast
    from wirespeed.cli.loads import loads_as_dot
    from wirespeed.cli.options import clusters
    from wirespeed.cli.output import show
    from wirespeed.collectives.result import joined

    found_on = clusters(on, machine, library)
    if to is not None:
        print(loads_as_dot(op, found_on, sizes, library, siblings=siblings).rstrip("\n"))
        return 0
    found = [
        forecast(
            op,
            cluster,
            sizes=sizes,
            ranks=library.ranks,
            dtype=dtype,
            launch=launch,
            algo=library.algo,
            proto=library.proto,
            siblings=siblings,
            beside=beside,
            late=late,
            explain=explain,
            loads=loads,
        )
        for cluster in found_on
    ]
    show(joined(found), json=json)
    return 0
