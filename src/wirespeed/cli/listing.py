"""Lists: the presets and fabrics that there are, the addresses of a machine's components."""

from __future__ import annotations

import sys

from wirespeed.topology.fabrics.named import fabric_names
from wirespeed.topology.presets import aliases, preset, preset_names
from wirespeed.topology.report import TopoReport
from wirespeed.views.document import Column, Heading, Sentence, Table
from wirespeed.views.terminal import write


def show_names() -> None:
    """Print every preset with what it is, and the names of fabrics."""
    others: dict[str, list[str]] = {}
    for alias, name in aliases().items():
        others.setdefault(name, []).append(alias)
    rows = tuple((name, _what(name), " ".join(others.get(name, ()))) for name in preset_names())
    columns = (
        Column("preset", right=False),
        Column("what it is", right=False),
        Column("also called", right=False),
    )
    blocks = (
        Heading("Presets, for SOURCE"),
        Table(columns, rows),
        Heading("Fabrics, for --fabric"),
        Sentence(", ".join(fabric_names())),
    )
    write(blocks, sys.stdout)


def _what(name: str) -> str:
    design = preset(name)
    return design.description + " (announced)" * (design.status == "announced")


def show_components(report: TopoReport) -> None:
    """Print the addresses of all components, one a line."""
    parts = [(part.name, part.model) for part in report.gpus]
    parts += [(part.name, part.model) for part in (*report.cpus, *report.pcie_switches)]
    parts += [(part.name, part.model) for part in report.nics]
    parts += [(part.name, part.model) for part in report.nvswitches]
    for name, model in parts:
        print(f"{name}\t{model}".rstrip())
