"""Options that verbs share: declared once, the same names everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from wirespeed.errors import UsageError

if TYPE_CHECKING:
    from wirespeed.topology.cluster import Cluster

MACHINE = Group("Machine", sort_key=10)
LIBRARY = Group("Library", sort_key=20)
OUTPUT = Group("Output", sort_key=30)


def refuse_option(_: object, value: str) -> None:
    """UsageError for a word such as --nope: only - alone may begin with a hyphen."""
    if value.startswith("-") and value != "-":
        raise UsageError(f"there is no option {value}", remedy="--help lists arguments and options")


Source = Annotated[
    str, Parameter(name="SOURCE", allow_leading_hyphen=True, validator=refuse_option)
]
On = Annotated[str, Parameter(allow_leading_hyphen=True, validator=refuse_option)]
Json = Annotated[bool, Parameter(group=OUTPUT)]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """Which machines, how many, and how they are joined."""

    nodes: Annotated[str | None, Parameter(name="--nodes", group=MACHINE)] = None
    """How many: 16, a list 1,2,16, or a range 1:64 (doubling) or 2:18:x3."""
    racks: Annotated[str | None, Parameter(name="--racks", group=MACHINE)] = None
    """How many racks, where an NVLink domain spans several nodes."""
    gpu: Annotated[str | None, Parameter(name="--gpu", group=MACHINE)] = None
    """The GPU model, where the input does not say it."""
    fabric: Annotated[str | None, Parameter(name="--fabric", group=MACHINE)] = None
    """The network between nodes; without it the platform's own."""
    change: Annotated[tuple[str, ...], Parameter(name="--change", group=MACHINE)] = ()
    """An edit, such as node0/nic3=down, leaf0>spine2=0.5, nic=800G, gdr=off; may be repeated."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class LibraryOptions:
    """The library, its environment, and what is forced on it."""

    library: Annotated[str | None, Parameter(name="--library", group=LIBRARY)] = None
    """nccl or rccl with a version: nccl@2.27."""
    env: Annotated[tuple[str, ...], Parameter(name="--env", group=LIBRARY)] = ()
    """A setting from the environment: NCCL_P2P_LEVEL=SYS; may be repeated."""
    algo: Annotated[str | None, Parameter(name="--algo", group=LIBRARY)] = None
    """Force an algorithm, such as Ring or Tree."""
    proto: Annotated[str | None, Parameter(name="--proto", group=LIBRARY)] = None
    """Force a protocol: LL, LL128 or Simple."""
    ranks: Annotated[str | None, Parameter(name="--ranks", group=LIBRARY)] = None
    """Which GPUs take part: 0-3, 0,2,4,6, node*/gpu0, per-node=4 or stride=8."""
    parameters: Annotated[str, Parameter(name="--parameters", group=LIBRARY)] = "fitted"
    """fitted, or ideal: wires without overhead, steps without delay."""


THIS_MACHINE, USUAL_LIBRARY = MachineOptions(), LibraryOptions()
"""Nothing given."""


def clusters(
    source: str, machine: MachineOptions, library: LibraryOptions | None = None
) -> list[Cluster]:
    """The clusters that the options describe: one for each number of nodes or racks."""
    from wirespeed._api.clusters import cluster
    from wirespeed._api.counts import one_count, parse_counts
    from wirespeed._api.sources import resolved

    settings = library or LibraryOptions()
    found = resolved(source, gpu=machine.gpu)
    counts: Sequence[int | None] = parse_counts(machine.nodes) if machine.nodes else [None]
    racks = one_count(machine.racks, "--racks") if machine.racks else None
    return [
        cluster(
            found,
            nodes=nodes,
            racks=racks,
            fabric=machine.fabric,
            library=settings.library,
            env=environment(settings.env),
            changes=machine.change,
            parameters=settings.parameters,
        )
        for nodes in counts
    ]


def environment(settings: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE pairs as a table; UsageError for anything else."""
    found = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not (name.strip() and equals):
            raise UsageError(
                f"{setting!r} is no setting",
                where="--env",
                why="a setting is NAME=VALUE",
                remedy="write for example --env NCCL_P2P_LEVEL=SYS",
            )
        found[name.strip()] = value
    return found
