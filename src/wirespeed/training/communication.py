"""communication: what a job's collectives take on its cluster, with all that runs beside them.

Each kind of group (tensor, data, pipeline …) is a collective on the real graph; the other groups of
the kind that share a node with it do the same at the same time. Where parts of a cluster are slow
or down, all groups are looked at and the slowest counts, since a step waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.candidates import Options, options_of
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.topology.change import ChangeKind
from wirespeed.topology.cluster import Cluster, Group, everyone
from wirespeed.training.layout import Layout
from wirespeed.training.ranks import Kind, rank_groups

_MOST_GROUPS = 64
"""Groups behind a changed fabric that are looked at one by one."""
_MOST_SIBLINGS = 64

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Call:
    """One collective: its time [s], the share of each `Place` that it keeps busy, its channels."""

    seconds: float
    work: tuple[float, ...] = ()
    channels: int = 0


NOTHING = Call(0.0)


class Caller(Protocol):
    """Whoever says what a job's collectives take."""

    def call(self, kind: Kind, operation: Operation, size: float, stage: int = 0) -> Call:
        """A collective of `size` bytes in the groups of a kind."""

    def send(self, stage: int, size: float) -> Call:
        """A message of `size` bytes from a pipeline stage to the next."""


Shared = dict[tuple[Operation, bytes], Options]
"""What was laid out for an operation, a group and its siblings: other layouts have it as well."""


Key = tuple[str, Operation, int]


@dataclass(slots=True)
class Wires:
    """The groups of a layout on a cluster; what was laid out once is kept, `shared` by layouts."""

    cluster: Cluster
    layout: Layout
    shared: Shared = field(default_factory=dict)
    uneven: bool = field(init=False)
    """Whether parts of the cluster were changed, so that groups differ."""
    _gpus: Ids = field(init=False)
    _laid: dict[Key, list[Options]] = field(default_factory=dict)
    _calls: dict[tuple[Key, float], Call] = field(default_factory=dict)
    _ranks: dict[str, Ids] = field(default_factory=dict)
    _far: dict[int, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._gpus = everyone(self.cluster).gpus
        self.uneven = any(c.kind is ChangeKind.RESOURCE for c in self.cluster.changes)

    def call(self, kind: Kind, operation: Operation, size: float, stage: int = 0) -> Call:
        """A collective of `size` bytes, as nccl-tests counts them, in the groups of a kind."""
        if size <= 0 or self.members(kind) < 2:
            return NOTHING
        return self._slowest(self._group_key(kind, operation, stage), size)

    def laid(self, kind: Kind, operation: Operation) -> Options | None:
        """The ways to do it in the first group of a kind; None where nobody is in it but one."""
        if self.members(kind) < 2:
            return None
        return self._laid[self._group_key(kind, operation, 0)][0]

    def _group_key(self, kind: Kind, operation: Operation, stage: int) -> Key:
        """Where the groups are laid out."""
        key = (kind, operation, stage if self.uneven else 0)
        if key not in self._laid:
            self._laid[key] = self._options(operation, self._groups(kind, key[2]))
        return key

    def send(self, stage: int, size: float) -> Call:
        """A message of `size` bytes from a pipeline stage to the next (the last: to the first)."""
        if size <= 0 or self.layout.pp < 2:
            return NOTHING
        return self._slowest(self._pair_key(stage), size)

    def laid_to_next(self, stage: int) -> Options | None:
        """The ways of a message from a stage to the next; None where there is only one stage."""
        if self.layout.pp < 2:
            return None
        return self._laid[self._pair_key(stage)][0]

    def far(self, stage: int) -> bool:
        """Whether a stage and the next are on different nodes."""
        if stage not in self._far:
            self._far[stage] = bool(self._nodes(self._boundary(stage)[0]).size > 1)
        return self._far[stage]

    def _pair_key(self, stage: int) -> Key:
        """Where the pairs of a stage and the next are laid out."""
        place = stage if self.uneven else int(self.far(stage))
        key = ("pp", Operation.SENDRECV, place)
        if key not in self._laid:
            pairs = self._boundary(stage)
            chosen = differing(self.cluster, self._gpus[pairs]) if self.uneven else [0]
            groups = [self._with_siblings(pairs, k) for k in chosen]
            self._laid[key] = self._options(key[1], groups)
        return key

    def _options(
        self, operation: Operation, groups: list[tuple[Group, tuple[Group, ...]]]
    ) -> list[Options]:
        return [self._one(operation, group, beside) for group, beside in groups]

    def _one(self, operation: Operation, group: Group, beside: tuple[Group, ...]) -> Options:
        key = (operation, b"|".join(one.gpus.tobytes() for one in (group, *beside)))
        if key not in self.shared:
            collective = Collective(operation, dtype="bfloat16")
            self.shared[key] = options_of(collective, self.cluster, group, beside)
        return self.shared[key]

    def _slowest(self, key: Key, size: float) -> Call:
        known = (key, size)
        if known not in self._calls:
            taken = (_taken(options, size) for options in self._laid[key])
            self._calls[known] = max(taken, key=lambda call: call.seconds)
        return self._calls[known]

    def _of(self, kind: Kind) -> Ids:
        if kind not in self._ranks:
            self._ranks[kind] = rank_groups(self.layout, kind)
        return self._ranks[kind]

    def members(self, kind: Kind) -> int:
        """Ranks of a group of a kind."""
        return int(self._of(kind).shape[1])

    def _groups(self, kind: Kind, stage: int) -> list[tuple[Group, tuple[Group, ...]]]:
        groups = self._of(kind)
        if not self.uneven:
            return [self._with_siblings(groups, 0)]
        mine = np.flatnonzero((self._stage_of(groups) == stage).any(axis=1))
        chosen = differing(self.cluster, self._gpus[groups[mine]])
        return [self._with_siblings(groups, int(mine[k])) for k in chosen]

    def _with_siblings(self, groups: Ids, k: int) -> tuple[Group, tuple[Group, ...]]:
        """The k-th group, and the others that have a node in common with it."""
        node = self.cluster.topology.node[self._gpus[groups]]
        shared = np.asarray(np.isin(node, np.unique(node[k])).any(axis=1))
        shared[k] = False
        others = np.flatnonzero(shared)[:_MOST_SIBLINGS]
        return Group(self._gpus[groups[k]]), tuple(Group(self._gpus[groups[j]]) for j in others)

    def _stage_of(self, ranks: Ids) -> Ids:
        order = self._of("pp")
        stage = np.empty(self.layout.gpus, np.int64)
        stage[order] = np.arange(order.shape[1])
        return np.asarray(stage[ranks])

    def _boundary(self, stage: int) -> Ids:
        """[pairs, 2] ranks of a stage and of the one that follows."""
        order = self._of("pp")
        return order[:, [stage, (stage + 1) % self.layout.pp]]

    def _nodes(self, ranks: Sequence[int] | Ids) -> Ids:
        return np.unique(self.cluster.topology.node[self._gpus[np.asarray(ranks)]])


def differing(cluster: Cluster, groups: Ids) -> list[int]:
    """Which groups [groups, members] of GPUs to look at so that none can be slower than they are.

    Those in units that changes touched, one of each kind, and one of the others. Behind changed
    links of the fabric's own, groups all over it.
    """
    topology = cluster.topology
    unit = topology.unit_of(groups)
    place = groups - topology.first_component[unit]
    state = np.zeros(len(topology.unit_class), np.int64)
    known: dict[bytes, int] = {}
    for one in sorted(topology.altered):
        state[one] = known.setdefault(_capacities(cluster, one), len(known) + 1)
    touched = state[unit]
    keys = np.concatenate([touched, np.where(touched > 0, place, 0)], axis=1)
    chosen = set(np.unique(keys, axis=0, return_index=True)[1].tolist())
    if _fabric_altered(cluster):
        chosen |= set(np.linspace(0, len(groups) - 1, _MOST_GROUPS).astype(int).tolist())
    return sorted(chosen)


def _capacities(cluster: Cluster, unit: int) -> bytes:
    """What all that belongs to a unit can move, its cables to the fabric included."""
    topology = cluster.topology
    first, after = topology.first_component[unit], topology.first_component[unit + 1]
    inside = (topology.source >= first) & (topology.source < after)
    inside |= (topology.target >= first) & (topology.target < after)
    links = topology.capacity[: topology.links][inside]
    own = topology.capacity[topology.links + first : topology.links + after]
    return bytes(np.concatenate([links, own]).tobytes())


def _fabric_altered(cluster: Cluster) -> bool:
    """Whether links between switches of the fabric were changed, or switches."""
    topology = cluster.topology
    switch = topology.unit_of(np.arange(topology.components)) == len(topology.unit_class)
    between = switch[topology.source] & switch[topology.target]
    now = topology.capacity[: topology.links][between]
    return bool((now != topology.bandwidth[between]).any())


def _taken(options: Options, size: float) -> Call:
    sizes = np.array([size])
    candidate = options.candidates[int(options.choice(sizes)[0])]
    seconds = float(candidate.time(sizes)[0])
    work = tuple(min(w * size / seconds, 1.0) for w in candidate.work)
    return Call(seconds, work, candidate.channels)
