"""faults: every single fault of a cluster, ranked by what it costs one collective.

Faults that are alike (one NIC of 128) and cost alike are one class, evaluated once. A fault
is a change laid over the cluster: rings, trees and ways out of the nodes are formed anew on what is
left, as the library would.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
import numpy as np
import numpy.typing as npt

from wirespeed.catalog import gpu
from wirespeed.collectives.candidates import time_of
from wirespeed.collectives.forecast import at_median_seed
from wirespeed.collectives.loads import loads_of
from wirespeed.collectives.notes import slow_gpus
from wirespeed.collectives.operation import Collective
from wirespeed.errors import Infeasible
from wirespeed.topology.address import name_of
from wirespeed.topology.alike import cable_classes, colours_of, component_classes
from wirespeed.topology.change import Change, ChangeKind, render
from wirespeed.topology.cluster import Cluster, Group, changed, everyone
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.model import Topology
from wirespeed.topology.result import ParameterSet, Result
from wirespeed.units import US

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_SLOW_GPU = 0.8
_SLOW_NOTE = "the call takes as long, but a training step waits for the slow GPU"
_MOST_UNLIKE = 16
"""Classes that a kind is split into by load; of more the busiest stands for all."""
_PARTS = (
    ComponentKind.GPU,
    ComponentKind.NIC,
    ComponentKind.NVSWITCH,
    ComponentKind.PCIE,
    ComponentKind.LEAF,
    ComponentKind.SPINE,
    ComponentKind.CORE,
)
"""What breaks as a whole; a CPU that is gone takes its node along."""
_WITH_LANES = (LinkKind.NVLINK, LinkKind.XGMI, LinkKind.PCIE)


class FaultRow(msgspec.Struct, frozen=True):
    """A class of faults: what one of them does."""

    change: str
    """One of the class, the busiest, as `--change` takes it."""
    count: int
    """How many there are that are alike."""
    time_us: float | None
    """None where the collective cannot run at all."""
    slowdown: float | None
    """Time with the fault as a multiple of that without."""
    ranks: int
    """GPUs that still take part."""
    reason: str = ""
    """Why it cannot run."""
    down_us: float | None = None
    """Of a part or cable that runs at a share of its rate: the time with it out of service."""
    note: str = ""
    """What the time does not tell."""


class FaultReport(Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.faults/1"):
    """Faults, the costliest first."""

    machine: str
    gpu: str
    library: str
    fabric: str
    nodes: int
    ranks: int
    operation: str
    size_bytes: int
    time_us: float
    """Without any fault."""
    rows: tuple[FaultRow, ...]
    left_out: int = 0
    """Rows that stand below these and were not asked for."""


def faults(
    collective: Collective, cluster: Cluster, size: int, group: Group | None = None
) -> FaultReport:
    """What every single fault costs a collective of `size` bytes; all GPUs unless `group`.

    Where flows are routed by hash, by the seed that is in the middle without a fault.

    Raises Infeasible where it does not run without a fault either.
    """
    members = group or everyone(cluster)
    cluster = at_median_seed(collective, cluster, members, size)
    whole = _seconds(collective, cluster, members, size)
    busy = loads_of(collective, cluster, members, size).busy
    found = [
        (change, kind, _row(collective, cluster, members, size, whole, change, count))
        for change, count, kind in single_faults(cluster, members, busy)
    ]
    down = {change.subject: row.time_us for change, _, row in found if _is_gone(change)}
    rows = _joined(
        (
            (kind, change.value, msgspec.structs.replace(row, down_us=down.get(change.subject)))
            if change.kind is ChangeKind.RESOURCE and change.value
            else (kind, change.value, row)
        )
        for change, kind, row in found
    )
    return FaultReport(
        parameters=ParameterSet(cluster.parameters.digest),
        warnings=(*cluster.warnings, *slow_gpus(cluster, members)),
        machine=cluster.machine.name,
        gpu=gpu(cluster.machine.gpu).name,
        library=str(cluster.software),
        fabric=cluster.fabric,
        nodes=len(np.unique(cluster.topology.node[members.gpus])),
        ranks=len(members),
        operation=collective.operation.value,
        size_bytes=size,
        time_us=whole / US,
        rows=tuple(sorted(rows, key=_cost, reverse=True)),
    )


def _is_gone(change: Change) -> bool:
    return change.kind is ChangeKind.RESOURCE and change.value == 0


def _joined(found: Iterable[tuple[int, object, FaultRow]]) -> list[FaultRow]:
    """Rows of the same fault to parts of one kind are one where they cost the same."""
    rows: dict[tuple[object, ...], FaultRow] = {}
    for kind, value, row in found:
        cost = tuple(t and float(f"{t:.4g}") for t in (row.time_us, row.down_us))
        key = (kind, value, row.ranks, *cost)
        known = rows.get(key)
        rows[key] = msgspec.structs.replace(known, count=known.count + row.count) if known else row
    return list(rows.values())


def single_faults(
    cluster: Cluster, group: Group, busy: Floats
) -> Iterator[tuple[Change, int, int]]:
    """Every class of single faults: the change that one of them is, its size, its kind.

    Of one kind is what is alike in the machine. It may be loaded differently, by where rings and
    trees happen to lie, and on a mesh rings close in another way by which GPU is missing: then
    classes have a kind in common. Each is shown by the busiest, `busy` [resources] in seconds.
    """
    topology = cluster.topology
    colours = _marked(topology, colours_of(topology), group)
    on_link, on_part = _weights(topology, busy)
    up = topology.capacity[topology.links :] > 0
    for part in component_classes(topology, colours, on_part, _MOST_UNLIKE, _in_mesh(topology)):
        kind = ComponentKind(topology.kind[part.example])
        if kind not in _PARTS or not up[part.example] or _spare(topology, part.example):
            continue
        name = name_of(topology, part.example)
        yield Change(ChangeKind.RESOURCE, name, 0.0), part.count, 2 * part.kind
        yield Change(ChangeKind.RESOURCE, name, 0.5), part.count, 2 * part.kind
        if kind is ComponentKind.GPU:
            yield Change(ChangeKind.COMPUTE, name, _SLOW_GPU), part.count, 2 * part.kind
    for cable in cable_classes(topology, colours, on_link, _MOST_UNLIKE):
        kind_ = LinkKind(topology.link_kind[cable.example])
        ends = (int(topology.source[cable.example]), int(topology.target[cable.example]))
        # Inside a chip nothing breaks alone; a NIC that serves no rail carries no collective.
        idle = kind_ is LinkKind.ROOT or any(_spare(topology, end) for end in ends)
        if idle or topology.capacity[cable.example] == 0:
            continue
        name = "-".join(name_of(topology, end) for end in ends)
        for share in _shares(kind_, int(topology.lanes[cable.example])):
            change = Change(ChangeKind.RESOURCE, name, share)
            yield change, cable.count, 2 * cable.kind + 1
    yield from ((change, 1, -1 - k) for k, change in enumerate(_missing(cluster)))


def _in_mesh(topology: Topology) -> Ids:
    """[components] what tells GPUs apart where links join them directly; 0 elsewhere.

    That is their place in their unit, of few their place in the cluster.
    """
    gpu = topology.kind == ComponentKind.GPU
    fabric = np.isin(topology.link_kind, _WITH_LANES[:2])
    joined = fabric & gpu[topology.source] & gpu[topology.target]
    place = np.zeros(topology.components, np.int64)
    ends = np.unique(topology.source[joined])
    begin = topology.first_component[topology.unit_of(ends)]
    place[ends] = 1 + (ends if len(ends) <= _MOST_UNLIKE else ends - begin)
    return place


def _weights(topology: Topology, busy: Floats) -> tuple[Floats, Floats]:
    """[links] and [components] how busy each is; a component as its busiest link."""
    on_link = busy[: topology.links]
    on_part = busy[topology.links :].copy()
    np.maximum.at(on_part, topology.source, on_link)
    np.maximum.at(on_part, topology.target, on_link)
    return on_link, on_part


def _shares(kind: LinkKind, lanes: int) -> tuple[float, ...]:
    """Down, half, and of NVLinks one lost where there are several."""
    lost = (round((lanes - 1) / lanes, 4),) if kind in _WITH_LANES[:2] and lanes > 2 else ()
    return (0.0, 0.5, *lost)


def _missing(cluster: Cluster) -> Iterator[Change]:
    """Capabilities that the cluster has and could lack."""
    able, several = cluster.abilities, cluster.topology.wiring is not None

    def off(name: str) -> Change:
        return Change(ChangeKind.CAPABILITY, name, False)

    if able.p2p:
        yield off("p2p")
    if able.nvls and cluster.machine.has_nvswitch:
        yield off("nvls")
    if not able.acs:
        yield Change(ChangeKind.CAPABILITY, "acs", True)
    if not several:
        return
    for name, has in (("gdr", able.gdr), ("pxn", able.pxn), ("sharp", able.sharp)):
        if has:
            yield off(name)
    if not able.socket:
        yield Change(ChangeKind.CAPABILITY, "net", "socket")


def _marked(topology: Topology, colours: Ids, group: Group) -> Ids:
    """Colours that tell GPUs of the group, and what stands in their nodes, from all others."""
    nodes = np.zeros(topology.nodes + 1, bool)
    nodes[topology.node[group.gpus]] = True
    inside = nodes[topology.node] & (topology.node >= 0)
    member = np.zeros(topology.components, bool)
    member[group.gpus] = True
    return colours * 4 + inside * 2 + member


def _spare(topology: Topology, component: int) -> bool:
    """Whether it is a NIC that serves no rail."""
    return bool(topology.kind[component] == ComponentKind.NIC and topology.rail[component] < 0)


def _row(
    collective: Collective,
    cluster: Cluster,
    group: Group,
    size: int,
    whole: float,
    change: Change,
    count: int,
) -> FaultRow:
    after = changed(cluster, [change])
    up = after.topology.capacity[after.topology.links + group.gpus] > 0
    left = Group(group.gpus[up])
    try:
        seconds = _seconds(collective, after, left, size)
    except Infeasible as error:
        return FaultRow(render(change), count, None, None, len(left), error.what)
    note = _SLOW_NOTE if change.kind is ChangeKind.COMPUTE else ""
    times = seconds / US, seconds / whole
    return FaultRow(render(change), count, *times, len(left), note=note)


def _seconds(collective: Collective, cluster: Cluster, group: Group, size: int) -> float:
    """[s] of one call; Infeasible where it never ends."""
    seconds = time_of(collective, cluster, group, size)
    if not np.isfinite(seconds):
        raise Infeasible(
            f"{collective.operation} cannot run",
            why="a link that it needs is down and nothing stands in for it",
        )
    return seconds


def _cost(row: FaultRow) -> tuple[bool, float, int]:
    return row.time_us is None, row.time_us or 0.0, row.count
