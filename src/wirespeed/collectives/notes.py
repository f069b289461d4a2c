"""What stands beside the rows of a forecast: cluster, bottlenecks, the library's options."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.bounds import Bounds
from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.peers import domain_of
from wirespeed.collectives.result import ClusterRow, ForecastRow, Option, ResourceRow
from wirespeed.topology.address import resource_name
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.units import GB, US


def cluster_row(cluster: Cluster, group: Group, bounds: Bounds) -> ClusterRow:
    """The cluster that a group runs on, and what limits the operation there."""
    wiring = cluster.topology.wiring
    return ClusterRow(
        nodes=len(np.unique(cluster.topology.node[group.gpus])),
        gpus=len(group),
        nvlink_domains=len(np.unique(domain_of(cluster, group.gpus))),
        fabric=wiring.name if wiring else "",
        fabric_description=wiring.description if wiring else "",
        bound_cut=bounds.cut,
        bound_p2p_cut=bounds.p2p_cut,
    )


def bottleneck_rows(
    cluster: Cluster, options: Sequence[Candidate], choice: npt.NDArray[np.int64]
) -> tuple[ResourceRow, ...]:
    """What the bottlenecks of the chosen options are, each once."""
    chosen = dict.fromkeys(options[k].bottleneck for k in choice.tolist())
    return tuple(_resource(cluster, resource) for resource in chosen if resource >= 0)


def option_rows(
    rows: Sequence[ForecastRow],
    options: Sequence[Candidate],
    planned: npt.NDArray[np.float64],
    choice: npt.NDArray[np.int64],
) -> tuple[Option, ...]:
    """Every option at every row's size, in the order in which the library would take them.

    `planned` [options, rows] is what the library expects each to take [s].
    """
    sizes = np.array([row.size_bytes for row in rows], np.float64)
    times = np.array([option.time(sizes) for option in options])
    return tuple(
        Option(
            nodes=row.nodes,
            size_bytes=row.size_bytes,
            algorithm=options[o].algorithm,
            protocol=options[o].protocol,
            channels=options[o].channels,
            planned_us=float(planned[o, k]) / US,
            time_us=float(times[o, k]) / US,
            chosen=bool(choice[k] == o),
        )
        for k, row in enumerate(rows)
        for o in np.argsort(planned[:, k], kind="stable")
    )


def _resource(cluster: Cluster, resource: int) -> ResourceRow:
    topology = cluster.topology
    if resource < topology.links:
        kind, lanes = LinkKind(topology.link_kind[resource]).word, int(topology.lanes[resource])
    else:
        kind, lanes = ComponentKind(topology.kind[resource - topology.links]).word, 1
    return ResourceRow(
        name=resource_name(topology, resource),
        kind=kind,
        lanes=lanes,
        bandwidth_GBps=float(topology.capacity[resource]) / GB,
    )
