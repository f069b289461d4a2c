"""topo: what a machine is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wirespeed._api.clusters import cluster
from wirespeed._api.inputs import inputs_of, with_inputs
from wirespeed._api.sources import Source
from wirespeed.topology.change import Change
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.describe import describe
from wirespeed.topology.report import TopoReport
from wirespeed.topology.result import ParameterSet


def topo(
    source: Source | Cluster,
    *,
    gpu: str | None = None,
    nodes: int | None = None,
    racks: int | None = None,
    fabric: str | None = None,
    changes: Iterable[str | Change] = (),
    full: bool = False,
) -> TopoReport:
    """The report on a machine: its parts, the ways between them, NIC affinity, oddities.

    `source` as for `cluster`. Of many equal nodes one is listed, with `full` all.
    """
    edits = list(changes)
    given: dict[str, Any] = {"gpu": gpu, "nodes": nodes, "racks": racks, "fabric": fabric}
    on = source
    if not isinstance(on, Cluster):
        on = cluster(on, **given, changes=edits)
    report = describe(on, ParameterSet(on.parameters.digest), full=full)
    return with_inputs(report, inputs_of(source=source, **given, changes=edits, full=full))
