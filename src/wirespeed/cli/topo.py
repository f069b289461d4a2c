"""`wirespeed topo`: what is this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from wirespeed.cli.options import OUTPUT, THIS_MACHINE, Json, MachineOptions, Source

if TYPE_CHECKING:
    from wirespeed.topology.report import TopoReport

ODD = 1


def topo(
    source: Source = "",
    /,
    *,
    machine: MachineOptions = THIS_MACHINE,
    list: Annotated[bool, Parameter(group=OUTPUT)] = False,
    full: Annotated[bool, Parameter(group=OUTPUT)] = False,
    strict: Annotated[bool, Parameter(group=OUTPUT)] = False,
    to: Annotated[Literal["dot", "nccl-xml", "toml"] | None, Parameter(group=OUTPUT)] = None,
    json: Json = False,
) -> int:
    """What is this machine: components, paths between GPUs, NIC affinity, oddities.

    Parameters
    ----------
    source
        A preset, a file that the machine wrote, or - for standard input.
    machine
        Which machines.
    list
        Without SOURCE the presets and fabrics that there are; with it every component's address.
    full
        All nodes, not one of each kind.
    strict
        Exit status 1 where something is odd.
    to
        Another format: Graphviz, NCCL's topology file, or a cluster TOML to edit.
    json
        JSON in place of tables.
    """
    from wirespeed.cli import listing
    from wirespeed.cli.output import show

    if list and not source:
        listing.show_names()
        return 0
    if to is not None:
        from wirespeed.cli.export import FORMATS

        print(FORMATS[to](source, machine).rstrip("\n"))
        return 0
    report = _report(source, machine, full or list)
    if list:
        listing.show_components(report)
    else:
        show(report, json=json)
    return ODD if strict and report.oddities else 0


def _report(source: str, machine: MachineOptions, full: bool) -> TopoReport:
    from wirespeed._api.counts import one_count
    from wirespeed._api.topo import topo as report_on

    return report_on(
        source,
        gpu=machine.gpu,
        nodes=one_count(machine.nodes) if machine.nodes else None,
        racks=one_count(machine.racks, "--racks") if machine.racks else None,
        fabric=machine.fabric,
        changes=machine.change,
        full=full,
    )
