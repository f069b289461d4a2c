"""collective, curve, bound: how long an operation takes, and at the very least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wirespeed._api.clusters import cluster
from wirespeed._api.inputs import inputs_of, with_inputs
from wirespeed._api.sources import Source
from wirespeed.collectives.bounds import bounds_of
from wirespeed.collectives.forecast import Curve, forecast
from wirespeed.collectives.forecast import curve as curve_of
from wirespeed.collectives.library.environment import parse_settings
from wirespeed.collectives.library.names import Algorithm
from wirespeed.collectives.operation import Collective, parse_operation
from wirespeed.collectives.protocol import Protocol
from wirespeed.collectives.result import CollectiveForecast
from wirespeed.collectives.siblings import groups_alike
from wirespeed.comparison.bands import bands_for, with_bands
from wirespeed.errors import UsageError
from wirespeed.topology.cluster import Cluster, Group, everyone
from wirespeed.topology.ranks import parse_ranks
from wirespeed.topology.software import Software
from wirespeed.units import parse_size, parse_sizes

On = Source | Cluster
Sizes = str | int | Sequence[int]
Ranks = str | Sequence[int] | Group | None
Siblings = bool | Sequence[Ranks]

DEFAULT_SIZES = "8:16G"
LAUNCHES = ("process", "thread", "graph")


class LeastTime(NamedTuple):
    """Least seconds: where switches reduce and multicast, and with messages between GPUs alone."""

    network: npt.NDArray[np.float64]
    p2p: npt.NDArray[np.float64]


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
    siblings: Siblings = False,
    explain: bool = False,
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
        siblings: groups that do the same at the same time: True for the other GPUs grouped alike,
            or a list, each written as `ranks` is.
        explain: also list what the library chose from.

    Raises WirespeedError with what to do about it.
    """
    target = _forced(_cluster(on), algo, proto)
    asked = _collective(op, dtype, launch)
    bytes_ = _sizes(sizes)
    group = _group(ranks, target)
    beside = _siblings(siblings, group, target)
    result = forecast(asked, target, bytes_, group, siblings=beside, explain=explain)
    if target.parameters.digest == bands_for():
        result = with_bands(result, target, group or everyone(target))
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
        siblings=siblings or None,
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
    target = _cluster(on)
    group = _group(ranks, target) or everyone(target)
    asked = _collective(op, "float", "process")
    return curve_of(asked, target, group, _sizes(sizes), _siblings(siblings, group, target))


def bound(op: str, on: On, size: Sizes, *, ranks: Ranks = None) -> LeastTime:
    """The least time [s] that any schedule could take, for each size."""
    target = _cluster(on)
    least = bounds_of(parse_operation(op), target, _group(ranks, target) or everyone(target))
    bytes_ = np.asarray(_sizes(size), np.float64)
    return LeastTime(least.network * bytes_, least.p2p * bytes_)


def _cluster(on: On) -> Cluster:
    return on if isinstance(on, Cluster) else cluster(on)


def _collective(op: str, dtype: str, launch: str) -> Collective:
    if launch not in LAUNCHES:
        raise UsageError(
            f"{launch!r} is no way to launch", where="launch", why=f"known: {', '.join(LAUNCHES)}"
        )
    return Collective(parse_operation(op), dtype=dtype, launch=launch)


def _forced(target: Cluster, algo: str | None, proto: str | None) -> Cluster:
    forced = {key: value for key, value in (("algo", algo), ("proto", proto)) if value}
    settings = {**target.software.settings, **forced}
    for name, value in settings.items():
        _, misread = parse_settings(Software(settings={name: value}))
        if misread:
            raise UsageError(
                f"the library has no {value!r}",
                where=f"--{name}",
                why=f"algorithms: {', '.join(Algorithm)}; protocols: {', '.join(Protocol)}",
                remedy="name one of them, or leave the choice to the library",
            )
    return replace(target, software=replace(target.software, settings=settings))


def _siblings(siblings: Siblings, group: Group | None, target: Cluster) -> tuple[Group, ...]:
    members = group or everyone(target)
    if isinstance(siblings, bool):
        return groups_alike(target, members) if siblings else ()
    asked = (_group(one, target) or everyone(target) for one in siblings)
    return tuple(one for one in asked if set(one.gpus) != set(members.gpus))


def _sizes(sizes: Sizes) -> list[int]:
    if isinstance(sizes, str):
        return parse_sizes(sizes)
    return [parse_size(str(size)) for size in ([sizes] if isinstance(sizes, int) else sizes)]


def _group(ranks: Ranks, target: Cluster) -> Group | None:
    if ranks is None or isinstance(ranks, Group):
        return ranks
    return parse_ranks(ranks if isinstance(ranks, str) else ",".join(map(str, ranks)), target)
