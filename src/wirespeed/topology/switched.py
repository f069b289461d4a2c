"""Crossings: ways through several levels of NVSwitches, between all GPUs of a unit at once.

What one GPU after the other would find, a table of all links and all GPUs to arrive at finds in as
many steps as there are levels: each step goes one link farther from all targets. What a crowd of
transfers puts on links then flows down the same table, without any pair's route being written down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.unit import Unit

Ids = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Crossings:
    """Ways from everywhere to each GPU of a unit through switches alone.

    Attributes:
        column: [components] the column of each GPU as a target; -1 for others.
        hops: [components, targets] links on the way; -1 where there is none.
        latency: [components, targets] s of the links on the way.
    """

    column: Ids
    hops: npt.NDArray[np.int16]
    latency: Floats
    _link: Ids
    _source: Ids
    _target: Ids
    _share: Floats
    _resources: int
    _counted: Bools

    def reached(self, source: Ids, target: Ids) -> Bools:
        """[n] whether there is a way between two GPUs (component ids of the unit)."""
        column = self.column[target]
        return (column >= 0) & (self.hops[source, column] > 0)

    def between(self, source: Ids, target: Ids) -> Floats:
        """[n] the latency of the links from GPU to GPU [s]."""
        return self.latency[source, self.column[target]]

    def loads(self, source: Ids, target: Ids, amount: Floats) -> Floats:
        """[links + components] what transfers of `amount` [n] put on each resource of the unit."""
        flow = np.zeros(self.hops.shape)
        np.add.at(flow, (source, self.column[target]), amount)
        loads = np.zeros(self._resources)
        links = self._resources - len(self.hops)
        for hop in range(int(self.hops.max(initial=0)), 0, -1):
            here = np.flatnonzero((self.hops[self._source] == hop).any(axis=1))
            leaving = self.hops[self._source[here]] == hop
            moved = np.where(leaving, flow[self._source[here]] * self._share[here], 0.0)
            loads[self._link[here]] += moved.sum(axis=1)
            np.add.at(flow, self._target[here], moved)
        # A GPU that is passed by is none of these ways: what a switch has seen is its load.
        passed = np.where(self._counted, flow.sum(axis=1), 0.0)
        loads[links:] += passed
        return loads


def crossings(unit: Unit, fabric: Bools, capacity: Floats, counted: Bools) -> Crossings:
    """The ways between the GPUs of a unit over its `fabric` [links], as far as these are up.

    `capacity` [links + components] in B/s; `counted` [components] are parts that can be full. Flow
    is shared among the next links by their rate, but a branch that narrows further on gets no more
    than fits there.
    """
    link = np.flatnonzero(fabric & (capacity[: unit.links] > 0))
    link = link[np.argsort(unit.source[link], kind="stable")].astype(np.int64)
    source, target = unit.source[link].astype(np.int64), unit.target[link].astype(np.int64)
    begin = np.flatnonzero(np.diff(source, prepend=-1)).astype(np.int64)
    gpus = unit.of_kind(ComponentKind.GPU)
    column = np.full(unit.components, -1, np.int64)
    column[gpus] = np.arange(len(gpus))
    switch = unit.kind == ComponentKind.NVSWITCH
    wide = unit.bandwidth[link][:, None]

    hops = np.full((unit.components, len(gpus)), -1, np.int16)
    width, latency = np.zeros(hops.shape), np.zeros(hops.shape)
    hops[gpus, np.arange(len(gpus))] = 0
    width[gpus, np.arange(len(gpus))] = np.inf
    share = np.zeros((len(link), len(gpus)))
    seconds, owner = unit.latency[link][:, None], source[begin]
    hop = 0
    while len(link):
        hop += 1
        # Links that end where the last step came to, and begin where none came yet.
        open_ = (hops[target] == hop - 1) & (width[target] > 0) & (hops[source] < 0)
        if not open_.any():
            break
        part = np.where(open_, np.minimum(wide, width[target]), 0.0)
        total = np.zeros(hops.shape)
        total[owner] = np.add.reduceat(part, begin, axis=0)
        fresh = total > 0
        share += np.divide(part, total[source], out=np.zeros_like(part), where=open_)
        delay = np.where(open_, share * (seconds + latency[target]), 0.0)
        latency[owner] += np.add.reduceat(delay, begin, axis=0)
        hops[fresh] = hop
        width = np.where(fresh & switch[:, None], total, width)
    return Crossings(
        column=column,
        hops=hops,
        latency=latency,
        _link=link,
        _source=source,
        _target=target,
        _share=share,
        _resources=unit.links + unit.components,
        _counted=counted & switch,
    )
