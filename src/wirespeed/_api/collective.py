"""collective, curve, bound: how long an operation takes, and at the very least."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from wirespeed._api.asked import (
    On,
    Ranks,
    Siblings,
    Sizes,
    asked_for,
    forced,
    group_of,
    jobs_of,
    late_of,
    on_cluster,
    siblings_of,
    sizes_of,
)
from wirespeed._api.inputs import inputs_of, with_inputs
from wirespeed.collectives.beside import beside_rows
from wirespeed.collectives.bounds import bounds_of
from wirespeed.collectives.forecast import Curve, at_median_seed, forecast
from wirespeed.collectives.forecast import curve as curve_of
from wirespeed.collectives.loads import load_report
from wirespeed.collectives.operation import parse_operation
from wirespeed.collectives.result import CollectiveForecast
from wirespeed.comparison.bands import bands_for, with_bands
from wirespeed.planning.delays import late_row
from wirespeed.topology.cluster import everyone

DEFAULT_SIZES = "8:16G"


class LeastTime(NamedTuple):
    """Least seconds: where switches reduce and multicast, and with messages between GPUs alone.

    `network_cut` and `p2p_cut` name what limits each: who stands against whom. Empty for nothing.
    """

    network: npt.NDArray[np.float64]
    p2p: npt.NDArray[np.float64]
    network_cut: str
    p2p_cut: str


def collective(
    op: str,
    on: On,
    *,
    sizes: Sizes = DEFAULT_SIZES,
    ranks: Ranks = None,
    dtype: str = "float",
    algo: str | None = None,
    proto: str | None = None,
    launch: str = "process",
    registered: bool = False,
    symmetric: bool = False,
    siblings: Siblings = False,
    beside: str | Sequence[str] = (),
    late: str | Sequence[str] = (),
    explain: bool = False,
    loads: bool = False,
) -> CollectiveForecast:
    """The forecast of an operation, one row a message size.

    Args:
        op: all_reduce, all_gather, reduce_scatter, broadcast, alltoall, sendrecv, p2p_copy …
        on: a cluster, or a preset's name or a file.
        sizes: "8:16G" (doubling), "1M,1G", bytes, or a sequence of bytes, as nccl-tests counts.
        ranks: which GPUs take part: "0-3", "node*/gpu0", "per-node=4", rank numbers; None: all.
        dtype: as nccl-tests names it.
        algo: forces an algorithm.
        proto: forces a protocol.
        launch: process, thread or graph.
        registered: whether buffers are registered: a wider band, not another time.
        symmetric: whether they are symmetric memory: the same.
        siblings: groups that do the same at the same time: True for the other GPUs grouped alike,
            or a list, each written as `ranks` is.
        beside: other jobs that repeat their calls meanwhile, each "alltoall:64M" or
            "all_reduce:1G@0-7": what it then takes, and what they lose.
        late: ranks that arrive later than the others, each "3=2ms" or "node1/gpu0=500us": what the
            largest size then takes, message by message.
        explain: also list what the library chose from.
        loads: also list what the largest size puts on every resource, siblings included.

    Raises WirespeedError with what to do about it.
    """
    target = forced(on_cluster(on), algo, proto)
    asked = asked_for(op, dtype, launch, registered=registered, symmetric=symmetric)
    bytes_ = sizes_of(sizes)
    group = group_of(ranks, target)
    alike = siblings_of(siblings, group, target)
    jobs = jobs_of(beside, target)
    result = forecast(asked, target, bytes_, group, siblings=alike, explain=explain)
    if target.parameters.digest == bands_for():
        result = with_bands(result, target, group or everyone(target))
    members = group or everyone(target)
    shown = target
    if loads or jobs or late:
        shown = at_median_seed(asked, target, members, max(bytes_), alike)
    if loads:
        report = load_report(asked, shown, members, max(bytes_), siblings=alike)
        result = msgspec.structs.replace(result, loads=(report,))
    if jobs:
        together = beside_rows(asked, shown, members, bytes_, jobs, alike)
        result = msgspec.structs.replace(result, beside=together)
    if late:
        row = late_row(asked, shown, max(bytes_), late_of(late, group, target), members)
        result = msgspec.structs.replace(result, late=(row,))
    inputs = inputs_of(
        op=asked.operation.value,
        on=on,
        nodes=[target.nodes],
        sizes=bytes_,
        ranks=ranks,
        dtype=dtype,
        algo=algo,
        proto=proto,
        launch=launch,
        registered=registered or None,
        symmetric=symmetric or None,
        siblings=siblings or None,
        beside=[job.name for job in jobs] or None,
        late=[late] if isinstance(late, str) else list(late) or None,
        library=str(target.software),
        fabric=target.fabric or None,
        env=dict(target.software.env),
        changes=target.changes,
    )
    return with_inputs(result, inputs)


def curve(
    op: str,
    on: On,
    *,
    ranks: Ranks = None,
    siblings: Siblings = False,
    sizes: Sizes = DEFAULT_SIZES,
) -> Curve:
    """Time [s] over sizes [B] of an operation, with the options and which one is taken where.

    `siblings` are groups that do the same at the same time, as `collective` takes them.
    """
    target = on_cluster(on)
    group = group_of(ranks, target) or everyone(target)
    asked = asked_for(op, "float", "process")
    return curve_of(asked, target, group, sizes_of(sizes), siblings_of(siblings, group, target))


def bound(op: str, on: On, size: Sizes, *, ranks: Ranks = None) -> LeastTime:
    """The least time [s] that any schedule could take, for each size, and the cut that says so."""
    target = on_cluster(on)
    least = bounds_of(parse_operation(op), target, group_of(ranks, target) or everyone(target))
    bytes_ = np.asarray(sizes_of(size), np.float64)
    return LeastTime(least.network * bytes_, least.p2p * bytes_, least.cut, least.p2p_cut)
