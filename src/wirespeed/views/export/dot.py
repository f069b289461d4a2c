"""A machine as a Graphviz graph."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.topology.report import LinkRow, TopoReport
from wirespeed.views.words import rate

_SHAPES = {"gpu": "box", "cpu": "ellipse", "nic": "house", "nvswitch": "hexagon"}


def dot(report: TopoReport) -> str:
    """The graph in Graphviz's language: an edge a cable, labelled with GB/s per direction."""
    return "\n".join([f"graph {_quoted(report.name)} {{", *_lines(report), "}"])


def _lines(report: TopoReport) -> Iterator[str]:
    models = {
        part.name: part.model
        for parts in (report.gpus, report.cpus, report.nics, report.nvswitches)
        for part in parts
    }
    names = dict.fromkeys(end for link in report.links for end in (link.source, link.target))
    for name in dict.fromkeys([*models, *names]):
        label = f"{name}\\n{models[name]}" if models.get(name) else name
        kind = name.rpartition("/")[2].rstrip("0123456789")
        yield f"  {_quoted(name)} [label={_quoted(label)} shape={_SHAPES.get(kind, 'plain')}];"
    for link in report.links[::2]:
        yield _edge(link)


def _edge(link: LinkRow) -> str:
    lanes = f"x{link.lanes} " if link.lanes > 1 else ""
    label = f"{link.kind} {lanes}{rate(link.bandwidth_GBps)}"
    return f"  {_quoted(link.source)} -- {_quoted(link.target)} [label={_quoted(label)}];"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
