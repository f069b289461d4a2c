"""forecast: how long an operation takes on a group of GPUs, size by size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import numpy.typing as npt

from wirespeed.catalog import gpu
from wirespeed.collectives.bounds import Bounds, bounds_of
from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.candidates import check_enough, options_of
from wirespeed.collectives.notes import (
    bottleneck_rows,
    buffer_notes,
    cluster_row,
    option_rows,
    slow_gpus,
)
from wirespeed.collectives.operation import COPIES, Collective, bus_factor
from wirespeed.collectives.peers import domain_of
from wirespeed.collectives.result import CollectiveForecast, ForecastRow, RoutingSpread
from wirespeed.collectives.siblings import check_apart
from wirespeed.errors import Infeasible, UsageError
from wirespeed.topology.address import resource_name
from wirespeed.topology.cluster import Cluster, Group, everyone
from wirespeed.topology.fabrics.wiring import Routing
from wirespeed.topology.result import ParameterSet
from wirespeed.topology.software import Notice
from wirespeed.units import GB, US

Floats = npt.NDArray[np.float64]

_MOST_SEEDS = 15
_SEEDED_RANKS = 1024
"""Ranks times seeds that are looked at: each seed lays every flow anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Time over sizes for one operation on one group.

    `options` are the ways that the library has; `planned` [options, sizes] is what it expects each
    to take [s], by which it chooses; `choice` [sizes] says which one it takes. `siblings` counts
    the groups that do the same at the same time: their loads are in all times. `notices` are the
    library's: settings that it does not understand, what stands in for what it cannot do.
    """

    sizes: Floats
    time: Floats
    choice: npt.NDArray[np.int64]
    options: tuple[Candidate, ...]
    planned: Floats
    siblings: int = 0
    notices: tuple[Notice, ...] = ()

    def taken(self, k: int) -> Candidate:
        """What the library takes for the k-th size."""
        return self.options[int(self.choice[k])]

    @property
    def work(self) -> Floats:
        """[places, sizes] s that the busiest resource of each `Place` works, siblings included.

        Two calls that overlap share what both work on: over `time` it is how full that runs.
        """
        work = np.array([option.work for option in self.options])
        return np.asarray(work[self.choice].T * self.sizes)


def curve(
    collective: Collective,
    cluster: Cluster,
    group: Group,
    sizes: Sequence[int],
    siblings: Sequence[Group] = (),
) -> Curve:
    """The time [s] of each size [B], while siblings do the same.

    Raises Infeasible where GPUs have no way to each other, UsageError where groups overlap.
    """
    amounts = np.asarray(sizes, np.float64)
    if siblings:
        check_apart(cluster, [group, *siblings])
        if collective.operation in COPIES:
            raise UsageError("a copy has no siblings", why="only collectives are laid side by side")
    options = options_of(collective, cluster, group, siblings)
    times = np.array([candidate.time(amounts) for candidate in options.candidates])
    choice = options.choice(amounts)
    time = times[choice, np.arange(len(amounts))]
    planned = options.expected(amounts)
    return Curve(amounts, time, choice, options.candidates, planned, len(siblings), options.notices)


def curves_by_seed(
    collective: Collective,
    cluster: Cluster,
    group: Group,
    sizes: Sequence[int],
    siblings: Sequence[Group] = (),
) -> list[Curve]:
    """A curve for each seed where the fabric routes flows by hash, the fewer the larger; else one.

    Their number is odd: the one in the middle has a bottleneck as well as a time.
    """
    return [
        curve(collective, replace(cluster, seed=cluster.seed + k), group, sizes, siblings)
        for k in range(_seeds(collective, cluster, group))
    ]


def _seeds(collective: Collective, cluster: Cluster, group: Group) -> int:
    hashed = cluster.routing is Routing.ECMP and collective.operation not in COPIES
    across = hashed and len(np.unique(domain_of(cluster, group.gpus))) > 1
    return min(_MOST_SEEDS, _SEEDED_RANKS // len(group) | 1) if across else 1


def at_median_seed(
    collective: Collective,
    cluster: Cluster,
    group: Group,
    size: int,
    siblings: Sequence[Group] = (),
) -> Cluster:
    """The cluster with the seed whose time for this size is the one that `forecast` shows.

    Where nothing is routed by hash that is the cluster as it is.
    """
    if _seeds(collective, cluster, group) == 1:
        return cluster
    lines = curves_by_seed(collective, cluster, group, [size], siblings)
    middle = np.array([line.time[0] for line in lines]).argsort(kind="stable")[len(lines) // 2]
    return replace(cluster, seed=cluster.seed + int(middle)) if middle else cluster


def forecast(
    collective: Collective,
    cluster: Cluster,
    sizes: Sequence[int],
    group: Group | None = None,
    *,
    siblings: Sequence[Group] = (),
    explain: bool = False,
) -> CollectiveForecast:
    """The table of an operation on a cluster: one row a size [B]; all GPUs unless `group`.

    `siblings` do the same at the same time. With `explain`, every way that the library has stands
    beside the one that it takes.
    """
    members = group or everyone(cluster)
    check_enough(collective.operation, members)
    lines = curves_by_seed(collective, cluster, members, sizes, siblings)
    times = np.array([line.time for line in lines])
    middle = times.argsort(axis=0, kind="stable")[len(lines) // 2]
    if not np.isfinite(times).all():
        raise Infeasible(
            f"{collective.operation} cannot run",
            why="a link that it needs is down and nothing stands in for it",
            remedy="leave out the GPUs behind that link with --ranks",
        )
    bounds = bounds_of(collective.operation, cluster, members, collective.root)
    rows = [
        msgspec.structs.replace(
            _row(collective, cluster, members, lines[seed], bounds, k),
            routing_spread=_spread(times[:, k]),
        )
        for k, seed in enumerate(middle.tolist())
    ]
    line = lines[middle[-1]]
    chosen = [lines[seed].taken(k).bottleneck for k, seed in enumerate(middle.tolist())]
    return CollectiveForecast(
        parameters=ParameterSet(cluster.parameters.digest),
        warnings=(
            *cluster.warnings,
            *line.notices,
            *buffer_notes(collective),
            *slow_gpus(cluster, members),
        ),
        machine=cluster.machine.name,
        gpu=gpu(cluster.machine.gpu).name,
        library=str(cluster.software),
        clusters=(cluster_row(cluster, members, bounds),),
        rows=tuple(rows),
        bottlenecks=bottleneck_rows(cluster, chosen),
        options=option_rows(rows, line.options, line.planned, line.choice) if explain else (),
    )


def _row(
    collective: Collective, cluster: Cluster, group: Group, line: Curve, bounds: Bounds, k: int
) -> ForecastRow:
    option, time, size = line.taken(k), float(line.time[k]), float(line.sizes[k])
    algbw = size / time * (2 if collective.bidirectional else 1)
    operation, worst = collective.operation, option.bottleneck
    share = 0.0
    if worst >= 0:
        share = option.payload * size / time / float(cluster.topology.capacity[worst])
    return ForecastRow(
        nodes=len(np.unique(cluster.topology.node[group.gpus])),
        ranks=len(group),
        operation=operation.value,
        size_bytes=int(size),
        time_us=time / US,
        algbw_GBps=algbw / GB,
        busbw_GBps=algbw * bus_factor(operation, len(group)) / GB,
        algorithm=option.algorithm,
        protocol=option.protocol,
        channels=option.channels,
        bottleneck=_bottleneck(cluster, option),
        wire_share=share,
        bound_us=bounds.with_network(size) / US,
        bound_p2p_us=bounds.between_gpus(size) / US,
        low_us=None,
        high_us=None,
        validity="inside",
    )


def _spread(times: Floats) -> RoutingSpread | None:
    """The spread of one size's times [s] over seeds; None for one."""
    if len(times) == 1:
        return None
    low, median, high = (float(np.quantile(times, q)) / US for q in (0, 0.5, 1))
    return RoutingSpread(seeds=len(times), low_us=low, median_us=median, high_us=high)


def _bottleneck(cluster: Cluster, option: Candidate) -> str:
    if option.bottleneck >= 0:
        return resource_name(cluster.topology, option.bottleneck)
    return "channels" if option.per_byte > 0 else ""
