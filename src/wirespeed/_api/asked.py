"""What is asked about a collective, in people's words: cluster, operation, sizes, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wirespeed._api.clusters import cluster
from wirespeed._api.sources import Source
from wirespeed.collectives.beside import Job
from wirespeed.collectives.library.environment import parse_settings
from wirespeed.collectives.library.names import Algorithm
from wirespeed.collectives.operation import Collective, parse_operation
from wirespeed.collectives.protocol import Protocol
from wirespeed.collectives.siblings import groups_alike
from wirespeed.comparison.words import DTYPE_NAMES, dtype_word
from wirespeed.errors import UnknownName, UsageError
from wirespeed.topology.address import name_of
from wirespeed.topology.cluster import Cluster, Group, everyone
from wirespeed.topology.ranks import parse_ranks
from wirespeed.topology.software import Software
from wirespeed.units import parse_size, parse_sizes, parse_time

On = Source | Cluster
Sizes = str | int | Sequence[int]
Ranks = str | Sequence[int] | Group | None
Siblings = bool | Sequence[Ranks]

LAUNCHES = ("process", "thread", "graph")


def on_cluster(on: On) -> Cluster:
    """The cluster itself, or the one that a name or file stands for."""
    return on if isinstance(on, Cluster) else cluster(on)


def asked_for(
    op: str, dtype: str, launch: str, *, registered: bool = False, symmetric: bool = False
) -> Collective:
    """The operation in these words; UnknownName or UsageError for others."""
    if launch not in LAUNCHES:
        raise UsageError(
            f"{launch!r} is no way to launch", where="launch", why=f"known: {', '.join(LAUNCHES)}"
        )
    named = dtype_word(dtype)
    if named is None:
        raise UnknownName("data type", dtype, DTYPE_NAMES, where="dtype")
    return Collective(
        parse_operation(op),
        dtype=named,
        launch=launch,
        registered=registered,
        symmetric=symmetric,
    )


def forced(target: Cluster, algo: str | None, proto: str | None) -> Cluster:
    """The cluster under a library that must take these; UsageError where it has no such thing."""
    given = {key: value for key, value in (("algo", algo), ("proto", proto)) if value}
    settings = {**target.software.settings, **given}
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


def siblings_of(siblings: Siblings, group: Group | None, target: Cluster) -> tuple[Group, ...]:
    """The groups that do the same at the same time."""
    members = group or everyone(target)
    if isinstance(siblings, bool):
        return groups_alike(target, members) if siblings else ()
    asked = (group_of(one, target) or everyone(target) for one in siblings)
    return tuple(one for one in asked if set(one.gpus) != set(members.gpus))


def jobs_of(jobs: str | Sequence[str], target: Cluster) -> tuple[Job, ...]:
    """Jobs written as `alltoall:64M` or `all_reduce:1G@0-7`: operation, size, who takes part."""
    return tuple(_job(word, target) for word in ([jobs] if isinstance(jobs, str) else jobs))


def _job(word: str, target: Cluster) -> Job:
    call, _, ranks = word.partition("@")
    op, colon, size = call.partition(":")
    if not colon:
        raise UsageError(
            f"{word!r} says no size",
            where="--beside",
            why="a job is an operation and a size, and who takes part unless all do",
            remedy="write for example alltoall:64M or all_reduce:1G@0-7",
        )
    group = group_of(ranks or None, target) or everyone(target)
    return Job(asked_for(op, "float", "process"), group, parse_size(size), word)


def late_of(
    late: str | Sequence[str], group: Group | None, target: Cluster
) -> dict[str, tuple[int, float]]:
    """Late ranks written as `3=2ms` or `node1/gpu0=500us`: the rank in the group, and seconds."""
    members = (group or everyone(target)).gpus.tolist()
    found: dict[str, tuple[int, float]] = {}
    for word in [late] if isinstance(late, str) else late:
        who, _, time = word.partition("=")
        for gpu in parse_ranks(who, target).gpus.tolist():
            if gpu not in members:
                raise UsageError(
                    f"{word!r} is late for a call of others",
                    where="--late",
                    why="that GPU takes no part",
                    remedy="name one of those that --ranks has",
                )
            name = f"{name_of(target.topology, gpu)}={time}"
            found[name] = members.index(gpu), parse_time(time)
    return found


def sizes_of(sizes: Sizes) -> list[int]:
    """Sizes [B]."""
    if isinstance(sizes, str):
        return parse_sizes(sizes)
    return [parse_size(str(size)) for size in ([sizes] if isinstance(sizes, int) else sizes)]


def group_of(ranks: Ranks, target: Cluster) -> Group | None:
    """The GPUs that take part; None for all."""
    if ranks is None or isinstance(ranks, Group):
        return ranks
    return parse_ranks(ranks if isinstance(ranks, str) else ",".join(map(str, ranks)), target)
