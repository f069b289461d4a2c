"""Jobs that run at once on one cluster and share links, NICs, memory: how fast each still goes.

Each job repeats its call without a pause. Alone it keeps resource r busy for the share u_r of its
time. Beside others it goes at the speed s, and keeps r busy for s u_r. Where the sum of what jobs
want of a resource is above what it has, they get equal parts of it, and who wants less than its
part gets all it wants: max-min fair, as switches and queue pairs are to flows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.loads import Loads, loads_over
from wirespeed.collectives.operation import Collective
from wirespeed.collectives.result import BesideRow
from wirespeed.topology.address import resource_name
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.units import US

Floats = npt.NDArray[np.float64]

_MOST_TURNS = 200
_EAGER_TURNS = 20
_CLOSE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A call that is repeated, and who takes part."""

    collective: Collective
    group: Group
    size: int
    """[B]"""
    name: str
    """As a person wrote it."""


@dataclass(frozen=True, slots=True, eq=False)
class Sharing:
    """Speeds [jobs], each a share of what the job does alone, and what the first is held up by.

    `resource` limits the first job, or is the one that is wanted most where nothing limits it;
    -1 where no two jobs meet. `wanted` is the share of its time that all jobs want of it.
    """

    speed: Floats
    resource: int
    wanted: float


def sharing(used: Floats) -> Sharing:
    """How fast jobs go that keep resources busy for these shares of their time, [jobs, resources].

    Every job that is slowed meets a resource that is full and of which nobody has more than it.
    """
    speed = np.ones(len(used))
    met = np.flatnonzero((used > 0).sum(axis=0) > 1)
    if not len(met):
        return Sharing(speed, -1, 0.0)
    wanted = used[:, met].sum(axis=0)
    full = wanted > 1
    if full.any():
        # Resources that are wanted alike limit alike: one of each kind is enough.
        columns, first = np.unique(used[:, met[full]], axis=1, return_index=True)
        speed = _equal_parts(columns)
        limits = _most_speed(columns, speed)[0]
        if limits.min() < 1:
            worst = int(met[full][first[int(limits.argmin())]])
            return Sharing(speed, worst, float(used[:, worst].sum()))
    worst = int(met[int(wanted.argmax())])
    return Sharing(speed, worst, float(wanted.max()))


def _equal_parts(used: Floats) -> Floats:
    """Speeds [jobs] that no job can raise without a claim on another's equal part."""
    speed = np.ones(len(used))
    for turn in range(_MOST_TURNS):
        best = np.minimum(_most_speed(used, speed).min(axis=1), 1.0)
        if np.allclose(best, speed, rtol=_CLOSE, atol=0):
            break
        # Later turns go half the way: two jobs that answer each other come to rest.
        speed = best if turn < _EAGER_TURNS else (best + speed) / 2
    return np.asarray(speed / max(float((speed @ used).max()), 1.0))


def _most_speed(used: Floats, speed: Floats) -> Floats:
    """[jobs, resources] the most speed that each resource lets a job have beside the others.

    A job's part is what is left when each other takes what it wants, but no more than that part.
    """
    taken = used * speed[:, None]
    parts = np.empty_like(used)
    for job in range(len(used)):
        others = np.sort(np.delete(taken, job, axis=0), axis=0)
        # With the k least demands met in full, the rest and the job share what is left.
        met = np.concatenate([np.zeros((1, used.shape[1])), np.cumsum(others, axis=0)])
        sharers = np.arange(len(used), 0, -1)[:, None]
        parts[job] = ((1 - met) / sharers).max(axis=0)
    with np.errstate(divide="ignore"):
        return np.where(used > 0, parts / used, np.inf)


def beside_rows(
    collective: Collective,
    cluster: Cluster,
    group: Group,
    sizes: Sequence[int],
    jobs: Sequence[Job],
    siblings: Sequence[Group] = (),
) -> tuple[BesideRow, ...]:
    """For each size how long a call takes, alone and while the jobs run; and what they lose."""
    own = loads_over(collective, cluster, group, sizes, siblings)
    others = [loads_over(j.collective, cluster, j.group, [j.size])[0] for j in jobs]
    nodes = len(np.unique(cluster.topology.node[group.gpus]))
    rows = []
    for size, loads in zip(sizes, own, strict=True):
        shared = sharing(np.array([_used(one) for one in (loads, *others)]))
        name = "" if shared.resource < 0 else resource_name(cluster.topology, shared.resource)
        rows.append(
            BesideRow(
                nodes=nodes,
                size_bytes=int(size),
                time_us=loads.time / US,
                beside_us=float(loads.time / shared.speed[0] / US),
                slowdown=float(1 / shared.speed[0]),
                others=tuple(job.name for job in jobs),
                others_us=tuple(other.time / US for other in others),
                others_slowdown=tuple((1 / shared.speed[1:]).tolist()),
                shared=name if shared.speed.min() < 1 else "",
                wanted=shared.wanted,
            )
        )
    return tuple(rows)


def _used(loads: Loads) -> Floats:
    """[resources] share of its own time that a call works on each."""
    busy = np.where(np.isfinite(loads.busy), loads.busy, 0.0)
    return np.asarray(np.minimum(busy / loads.time, 1.0)) if loads.time > 0 else busy * 0.0
