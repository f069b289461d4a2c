"""expect: what a healthy machine should show."""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed._api.clusters import cluster
from wirespeed._api.inputs import inputs_of, with_inputs
from wirespeed.comparison.expect import ExpectReport
from wirespeed.comparison.expect import expect as expected_of
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.machine import Machine

On = str | Machine | Cluster


def expect(on: On | Sequence[Cluster], *, nodes: Sequence[int] = ()) -> ExpectReport:
    """The table of expected numbers of a machine on one or several numbers of nodes.

    `on` is a preset's name, a file, a cluster, or clusters of one machine; `nodes` goes with the
    first two.
    """
    if isinstance(on, str | Machine):
        clusters = [cluster(on, nodes=count) for count in nodes] or [cluster(on)]
    else:
        clusters = [on] if isinstance(on, Cluster) else list(on)
    counts = [one.nodes for one in clusters]
    name = on if isinstance(on, str) else clusters[0].machine.name
    return with_inputs(expected_of(clusters), inputs_of(on=name, nodes=counts))
