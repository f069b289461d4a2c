"""communication: what a job's collectives take on its cluster, with all that runs beside them.

Each kind of group (tensor, data, pipeline …) is a collective on the real graph; the other groups of
the kind that share a node with it do the same at the same time. Where parts of a cluster are slow
or down, all groups are looked at and the slowest counts, since a step waits for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.candidates import Options, options_of
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.topology.cluster import Cluster, Group, everyone
from wirespeed.training.layout import Layout
from wirespeed.training.ranks import Kind, rank_groups

_MOST_GROUPS = 64
"""Groups of a changed cluster that are looked at one by one."""
_MOST_SIBLINGS = 64

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Call:
    """One collective: its time [s], the share of each `Place` that it keeps busy, its channels."""

    seconds: float
    work: tuple[float, ...] = ()
    channels: int = 0


NOTHING = Call(0.0)


@dataclass(slots=True)
class Wires:
    """The groups of a layout on a cluster; what was laid out once is kept."""

    cluster: Cluster
    layout: Layout
    _gpus: Ids = field(init=False)
    _laid: dict[tuple[str, Operation, int], list[Options]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._gpus = everyone(self.cluster).gpus

    def call(self, kind: Kind, operation: Operation, size: float, stage: int = 0) -> Call:
        """A collective of `size` bytes, as nccl-tests counts them, in the groups of a kind."""
        if size <= 0 or self.members(kind) < 2:
            return NOTHING
        key = (kind, operation, stage if self.cluster.changes else 0)
        if key not in self._laid:
            self._laid[key] = [
                options_of(Collective(operation, dtype="bfloat16"), self.cluster, group, beside)
                for group, beside in self._groups(kind, key[2])
            ]
        return max((_taken(o, size) for o in self._laid[key]), key=lambda c: c.seconds)

    def send(self, stage: int, size: float) -> Call:
        """A message of `size` bytes from a pipeline stage to the next (the last: to the first)."""
        if size <= 0 or self.layout.pp < 2:
            return NOTHING
        pairs = self._boundary(stage)
        far = bool(self._nodes(pairs[0]).size > 1)
        key = ("pp", Operation.SENDRECV, stage if self.cluster.changes else int(far))
        if key not in self._laid:
            group, beside = self._with_siblings(pairs, 0)
            one = Collective(Operation.SENDRECV, dtype="bfloat16")
            self._laid[key] = [options_of(one, self.cluster, group, beside)]
        return max((_taken(o, size) for o in self._laid[key]), key=lambda c: c.seconds)

    def members(self, kind: Kind) -> int:
        """Ranks of a group of a kind."""
        return int(rank_groups(self.layout, kind).shape[1])

    def _groups(self, kind: Kind, stage: int) -> list[tuple[Group, tuple[Group, ...]]]:
        groups = rank_groups(self.layout, kind)
        if not self.cluster.changes:
            return [self._with_siblings(groups, 0)]
        mine = np.flatnonzero((self._stage_of(groups) == stage).any(axis=1))[:_MOST_GROUPS]
        return [self._with_siblings(groups, int(k)) for k in mine]

    def _with_siblings(self, groups: Ids, k: int) -> tuple[Group, tuple[Group, ...]]:
        """The k-th group, and the others that have a node in common with it."""
        node = self.cluster.topology.node[self._gpus[groups]]
        shared = np.isin(node, np.unique(node[k])).any(axis=1)
        shared[k] = False
        others = np.flatnonzero(shared)[:_MOST_SIBLINGS]
        return Group(self._gpus[groups[k]]), tuple(Group(self._gpus[groups[j]]) for j in others)

    def _stage_of(self, ranks: Ids) -> Ids:
        order = rank_groups(self.layout, "pp")
        stage = np.empty(self.layout.gpus, np.int64)
        stage[order] = np.arange(order.shape[1])
        return np.asarray(stage[ranks])

    def _boundary(self, stage: int) -> Ids:
        """[pairs, 2] ranks of a stage and of the one that follows."""
        order = rank_groups(self.layout, "pp")
        return order[:, [stage, (stage + 1) % self.layout.pp]]

    def _nodes(self, ranks: Sequence[int] | Ids) -> Ids:
        return np.unique(self.cluster.topology.node[self._gpus[np.asarray(ranks)]])


def _taken(options: Options, size: float) -> Call:
    sizes = np.array([size])
    candidate = options.candidates[int(options.choice(sizes)[0])]
    seconds = float(candidate.time(sizes)[0])
    work = tuple(min(w * size / seconds, 1.0) for w in candidate.work)
    return Call(seconds, work, candidate.channels)
