"""What stands beside the rows of a forecast: cluster, bottlenecks, the library's options."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.bounds import Bounds
from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.operation import Collective
from wirespeed.collectives.peers import domain_of
from wirespeed.collectives.result import ClusterRow, ForecastRow, Option, ResourceRow
from wirespeed.errors import first_of
from wirespeed.topology.address import name_of, resource_name
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.software import Notice
from wirespeed.units import GB, US

_NAMED = 4
"""GPUs that a notice names."""


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


def slow_gpus(cluster: Cluster, group: Group) -> tuple[Notice, ...]:
    """The notice that slow GPUs of a group do not slow its collectives down; none without any."""
    slow = [gpu for gpu in group.gpus.tolist() if gpu in cluster.compute]
    if not slow:
        return ()
    names = [f"{name_of(cluster.topology, gpu)} at {cluster.compute[gpu]:.0%}" for gpu in slow]
    text = (
        f"compute is slower on {first_of(names, _NAMED)}: a collective that all ranks enter at "
        "once takes as long as before; in training the others wait for those GPUs"
    )
    return (Notice("slow-gpu", text, name_of(cluster.topology, slow[0])),)


def buffer_notes(collective: Collective) -> tuple[Notice, ...]:
    """The notice that registered or symmetric buffers are not modelled; none for ordinary ones."""
    given = (("registered", collective.registered), ("symmetric", collective.symmetric))
    kinds = [name for name, is_so in given if is_so]
    if not kinds:
        return ()
    text = f"{' and '.join(kinds)} buffers are forecast like others: the call may be faster"
    return (Notice("buffers-not-modelled", text, "buffers"),)


def bottleneck_rows(cluster: Cluster, resources: Sequence[int]) -> tuple[ResourceRow, ...]:
    """What the bottlenecks of rows are, each once; -1 stands for none."""
    return tuple(_resource(cluster, r) for r in dict.fromkeys(resources) if r >= 0)


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
