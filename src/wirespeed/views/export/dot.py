"""A machine as a Graphviz graph: a box for each NUMA node, an edge for each cable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from wirespeed.topology.report import LinkRow, TopoReport
from wirespeed.views.words import rate

_SHAPES = {
    "gpu": "box3d",
    "cpu": "ellipse",
    "nic": "house",
    "nvswitch": "hexagon",
    "pcie": "diamond",
    "root": "point",
}
_COLOURS = {
    "pcie": "gray40",
    "root": "gray70",
    "cpu": "gray20",
    "nvlink": "#4c9a2a",
    "xgmi": "#c8472b",
    "c2c": "#2a7f9a",
    "network": "#3b5fc0",
}
# From idle to full: readable in print, and to those who do not tell red from green.
_LOADS = ("#b8c4d0", "#7fa6c9", "#f2c14e", "#e8853b", "#b8232f")
_NODE = re.compile(r"(?:(.+)/)?([a-z]+)\d+")


def dot(report: TopoReport, *, utilisation: Mapping[str, float] | None = None) -> str:
    """The graph in Graphviz's language, edges labelled with GB/s per direction.

    `utilisation` colours what it names by load, 0 to 1: a component (`node0/nic3`) or one direction
    of a link (`node0/gpu0>node0/nvswitch1`; of two directions the busier shows).
    """
    used = utilisation or {}
    lines = ["  graph [compound=true rankdir=TB nodesep=0.3];", "  node [fontsize=10];"]
    lines += ["  edge [fontsize=8];"]
    return "\n".join([f"graph {_quoted(report.name)} {{", *lines, *_body(report, used), "}", ""])


def _body(report: TopoReport, used: Mapping[str, float]) -> Iterator[str]:
    models = {
        part.name: part.model
        for parts in (report.gpus, report.cpus, report.pcie_switches, report.nvswitches)
        for part in parts
    }
    models |= {
        nic.name: f"{nic.model}\\n{nic.rate_Gbps:g} Gb/s".strip("\\n") for nic in report.nics
    }
    homes = _homes(report)
    ends = (end for link in report.links for end in (link.source, link.target))
    loose: list[str] = []
    grouped: dict[tuple[str, int], list[str]] = {}
    for name in dict.fromkeys([*models, *ends]):
        home = homes.get(name)
        (loose if home is None else grouped.setdefault(home, [])).append(name)
    for (node, numa), names in sorted(grouped.items()):
        yield from _box(node, numa, names, models, used)
    yield from (f"  {_vertex(name, models, used)}" for name in loose)
    for link, back in zip(report.links[::2], report.links[1::2], strict=False):
        yield f"  {_edge(link, back, used)}"


def _homes(report: TopoReport) -> dict[str, tuple[str, int]]:
    """(node, NUMA node) of each component that has one; of a host bridge, its CPU's."""
    homes: dict[str, tuple[str, int]] = {}
    for parts in (report.gpus, report.cpus, report.pcie_switches, report.nics):
        for part in parts:
            if part.numa is not None:
                homes[part.name] = (_node_of(part.name), part.numa)
    for link in report.links:
        if link.kind == "root" and link.target in homes and link.source not in homes:
            homes[link.source] = homes[link.target]
    return homes


def _box(
    node: str, numa: int, names: Sequence[str], models: Mapping[str, str], used: Mapping[str, float]
) -> Iterator[str]:
    title = f"{node} NUMA node {numa}".strip()
    yield f"  subgraph {_quoted(f'cluster {title}')} {{"
    yield f"    label={_quoted(title)} style=rounded color=gray60 fontsize=10;"
    yield from (f"    {_vertex(name, models, used)}" for name in names)
    yield "  }"


def _vertex(name: str, models: Mapping[str, str], used: Mapping[str, float]) -> str:
    match = _NODE.fullmatch(name)
    shape = _SHAPES.get(match[2] if match else "", "plain")
    short = name.rpartition("/")[2]
    label = f"{short}\\n{models[name]}" if models.get(name) else short
    colour = f' style=filled fillcolor="{_load_colour(used[name])}"' if name in used else ""
    return f"{_quoted(name)} [label={_quoted(label)} shape={shape}{colour}];"


def _edge(link: LinkRow, back: LinkRow, used: Mapping[str, float]) -> str:
    lanes = f"x{link.lanes} " if link.lanes > 1 else ""
    label = "" if link.kind == "root" else f"{link.kind} {lanes}{rate(link.bandwidth_GBps)}"
    if link.bandwidth_GBps != back.bandwidth_GBps:
        label += f" / {rate(back.bandwidth_GBps)}"
    loads = [
        used[name]
        for name in (f"{link.source}>{link.target}", f"{link.target}>{link.source}")
        if name in used
    ]
    is_down = link.bandwidth_GBps == 0 or back.bandwidth_GBps == 0
    colour = _load_colour(max(loads)) if loads else _COLOURS.get(link.kind, "black")
    style = " style=dashed" if is_down else " penwidth=2" if loads else ""
    ends = f"{_quoted(link.source)} -- {_quoted(link.target)}"
    return f'{ends} [label={_quoted(label)} color="{colour}"{style}];'


def _load_colour(load: float) -> str:
    """From idle to full."""
    return _LOADS[min(len(_LOADS) - 1, max(0, int(load * len(_LOADS))))]


def _node_of(name: str) -> str:
    match = _NODE.fullmatch(name)
    return (match[1] or "") if match else ""


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
