"""UnitRoutes: how two devices inside one unit reach each other, over NVLink or over PCIe."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wirespeed.topology.kinds import ComponentKind, LinkKind, PathType
from wirespeed.topology.switched import Crossings, crossings
from wirespeed.topology.unit import Unit

_FABRIC = (LinkKind.NVLINK, LinkKind.XGMI)

# A packet stays as low in the PCIe tree as it can; C2C is shorter than any way over PCIe.
_HOP_COST: dict[int, float] = {
    LinkKind.PCIE: 1.0,
    LinkKind.ROOT: 1.5,
    LinkKind.CPU: 10.0,
    LinkKind.C2C: 0.5,
}
_TRANSIT = (ComponentKind.CPU, ComponentKind.ROOT, ComponentKind.PCIE)
# What crosses a CPU does not touch its memory, so a CPU's throughput counts at the ends only.
_COUNTED = (ComponentKind.ROOT, ComponentKind.PCIE, ComponentKind.NVSWITCH)


class Route(NamedTuple):
    """Resources (links, then components, counted in the unit) and the share that crosses each."""

    resource: tuple[int, ...]
    share: tuple[float, ...]


@dataclass(slots=True, eq=False)
class UnitRoutes:
    """Routes inside one unit as its resources are now; each is found once and kept.

    `capacity` [links + components] in B/s; a resource at 0 is down and no route crosses it.
    """

    unit: Unit
    capacity: npt.NDArray[np.float64]
    local_gpus: dict[int, int | None] = field(default_factory=dict)
    """Of each NIC, the GPU whose own NCCL makes it; kept by `path_types`."""
    types: dict[tuple[int, int], PathType] = field(default_factory=dict)
    locals: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    speeds: dict[tuple[int, int], float] = field(default_factory=dict)
    """By pair, what `path_types` and `nccl_speeds` found: worth keeping, since each asks often."""
    _source: list[int] = field(init=False)
    _out: dict[int, list[int]] = field(init=False)
    _fabric: dict[tuple[int, int], Route | None] = field(default_factory=dict)
    _host_out: dict[int, list[tuple[int, int, float]]] = field(default_factory=dict)
    _transit: list[bool] = field(init=False)
    _fabric_out: dict[int, list[tuple[int, int, float]]] = field(default_factory=dict)
    _fabric_into: dict[int, list[int]] = field(default_factory=dict)
    _ways: dict[int, dict[int, list[tuple[int, int, float]]]] = field(default_factory=dict)
    _indirect: set[tuple[int, int]] = field(default_factory=set)
    _trees: dict[int, dict[int, int]] = field(default_factory=dict)

    _spokes: dict[int, dict[int, int]] | None = field(init=False)
    _counted: list[bool] = field(init=False)
    _crossings: Crossings | None = None

    def __post_init__(self) -> None:
        self._out = {}
        self._source = self.unit.source.tolist()
        ends = zip(self._source, self.unit.target.tolist(), strict=True)
        fabric = np.isin(self.unit.link_kind, _FABRIC).tolist()
        cost = [_HOP_COST.get(kind) for kind in self.unit.link_kind.tolist()]
        self._transit = np.isin(self.unit.kind, _TRANSIT).tolist()
        for link, (source, target) in enumerate(ends):
            if self.capacity[link] <= 0:
                continue
            self._out.setdefault(source, []).append(link)
            if (hop := cost[link]) is not None:
                self._host_out.setdefault(source, []).append((link, target, hop))
            if fabric[link]:
                wide = float(self.unit.bandwidth[link])
                self._fabric_out.setdefault(source, []).append((link, target, wide))
                self._fabric_into.setdefault(target, []).append(source)
        self._spokes = self._star()
        limited = np.isfinite(self.capacity[self.unit.links :])
        self._counted = (limited & np.isin(self.unit.kind, _COUNTED)).tolist()

    def at_rates(self, capacity: npt.NDArray[np.float64]) -> UnitRoutes:
        """The routes at other rates, with what was found that hangs on what is up alone."""
        if ((capacity > 0) != (self.capacity > 0)).any():
            return UnitRoutes(self.unit, capacity)
        return UnitRoutes(
            self.unit,
            capacity,
            self.local_gpus,
            self.types,
            self.locals,
            self.speeds,
            _trees=self._trees,
        )

    def nvlink(self, source: int, target: int) -> Route | None:
        """The route of GPU to GPU over NVLink or xGMI, or None.

        Direct links first, then through NVSwitches (split over all that both reach, by their
        links), then through the one GPU that both see with the widest links (NCCL's NVB).
        """
        key = (source, target)
        if key not in self._fabric:
            find = self._switched if self._spokes is None else self._across_star
            route = find(source, target)
            if route is None and (route := self._through_gpu(source, target)):
                self._indirect.add(key)
            self._fabric[key] = route
        return self._fabric[key]

    def crossings(self) -> Crossings | None:
        """The ways through switches between all GPUs at once, where switches have several levels.

        None where one level joins all GPUs, or none does: then a route is found by itself as fast.
        """
        if self._spokes is not None or not (self.unit.kind == ComponentKind.NVSWITCH).any():
            return None
        if self._crossings is None:
            fabric = np.isin(self.unit.link_kind, _FABRIC)
            counted = np.array(self._counted, bool)
            self._crossings = crossings(self.unit, fabric, self.capacity, counted)
        return self._crossings

    def is_indirect(self, source: int, target: int) -> bool:
        """Whether the NVLink route passes another GPU."""
        return self.nvlink(source, target) is not None and (source, target) in self._indirect

    def pcie(self, source: int, target: int) -> Route | None:
        """The route over PCIe, host bridges, CPUs and C2C, or None.

        Host bridges and switches whose own throughput is limited are part of it; CPU memory is not.
        """
        links = self.pcie_links(source, target)
        if links is None:
            return None
        between = [int(self.unit.source[link]) for link in links[1:]]
        parts = [self.unit.links + c for c in between if self._counted[c]]
        resources = (*links, *parts)
        return Route(resources, (1.0,) * len(resources))

    def pcie_links(self, source: int, target: int) -> list[int] | None:
        """The links of that route in order, or None."""
        if source not in self._trees:
            self._trees[source] = self._shortest_from(source)
        arrived = self._trees[source]
        links: list[int] = []
        here = target
        while here != source:
            if here not in arrived:
                return None
            links.append(arrived[here])
            here = self._source[arrived[here]]
        return links[::-1]

    def _shortest_from(self, source: int) -> dict[int, int]:
        """The link by which the shortest way from a device arrives at each that it reaches."""
        distance = {source: 0.0}
        arrived: dict[int, int] = {}
        queue = [(0.0, source)]
        while queue:
            cost, here = heapq.heappop(queue)
            if cost > distance[here] or (here != source and not self._transit[here]):
                continue
            for link, there, hop in self._host_out.get(here, ()):
                if cost + hop >= distance.get(there, np.inf):
                    continue
                distance[there], arrived[there] = cost + hop, link
                heapq.heappush(queue, (cost + hop, there))
        return arrived

    def _star(self) -> dict[int, dict[int, int]] | None:
        """For each GPU its link to each NVSwitch, where one level of switches joins all GPUs."""
        unit, spokes = self.unit, dict[int, dict[int, int]]()
        links = np.flatnonzero(np.isin(unit.link_kind, _FABRIC))
        source, target = unit.source[links], unit.target[links]
        if (unit.kind[source] == unit.kind[target]).any():
            return None
        outward = unit.kind[source] == ComponentKind.GPU
        ends = (links[outward], source[outward], target[outward])
        for link, a, b in zip(*(column.tolist() for column in ends), strict=True):
            spokes.setdefault(a, {})[b] = link
        return spokes

    def _across_star(self, source: int, target: int) -> Route | None:
        """What `_switched` finds, where every way is one switch: there is no need to search."""
        spokes = self._spokes or {}
        out, back = spokes.get(source, {}), spokes.get(target, {})
        ways = [(s, link, back[s] ^ 1) for s, link in out.items() if s in back]
        ways = [(s, up, down) for s, up, down in ways if min(self.capacity[[up, down]]) > 0]
        if not ways:
            return None
        width = [min(self.unit.bandwidth[up], self.unit.bandwidth[down]) for _, up, down in ways]
        share = [float(w) for w in np.array(width) / sum(width)]
        counted = [k for k, (s, _, _) in enumerate(ways) if self._counted[s]]
        resource = [up for _, up, _ in ways] + [down for _, _, down in ways]
        resource += [self.unit.links + ways[k][0] for k in counted]
        return Route(tuple(resource), tuple(share * 2 + [share[k] for k in counted]))

    def _switched(self, source: int, target: int) -> Route | None:
        """NVLink with switches alone in between, split over the branches by their links."""
        if target not in self._ways:
            self._ways[target] = self._ways_to(target)
        ways = self._ways[target]
        if source not in ways:
            return None
        carried: dict[int, float] = {}
        level = {source: 1.0}
        while level and target not in level:
            below: dict[int, float] = {}
            for here, share in level.items():
                for link, there, part in ways[here]:
                    carried[link] = carried.get(link, 0.0) + share * part
                    below[there] = below.get(there, 0.0) + share * part
            for here, share in below.items():
                if here != target and self._counted[here]:
                    carried[self.unit.links + here] = share
            level = below
        return Route(tuple(carried), tuple(carried.values()))

    def _ways_to(self, target: int) -> dict[int, list[tuple[int, int, float]]]:
        """From all that reach a GPU through switches alone: (link, where to, share) towards it.

        Addresses are hashed over the links that are up, by their number: a link that only runs
        slower gets its full part all the same and holds the rest up. A branch that narrows further
        on gets no more than fits there.
        """
        switch = (self.unit.kind == ComponentKind.NVSWITCH).tolist()
        hops = {target: 0}
        width = {target: float("inf")}
        ways: dict[int, list[tuple[int, int, float]]] = {}
        level = [target]
        while level:
            found = [
                there
                for here in level
                for there in self._fabric_into.get(here, ())
                if there not in hops
            ]
            reached = dict.fromkeys(found, hops[level[0]] + 1)
            hops |= reached
            for here in reached:
                branches = [
                    (link, there, min(wide, width[there]))
                    for link, there, wide in self._fabric_out[here]
                    if hops.get(there, -1) == hops[here] - 1 and there in width
                ]
                total = sum(part for _, _, part in branches)
                ways[here] = [(link, there, part / total) for link, there, part in branches]
                if switch[here]:
                    width[here] = total
            level = [here for here in reached if here in width]
        return ways

    def _through_gpu(self, source: int, target: int) -> Route | None:
        best: tuple[float, int, Route, Route] | None = None
        for link in self._out.get(source, ()):
            middle = int(self.unit.target[link])
            if self.unit.kind[middle] != ComponentKind.GPU:
                continue
            second = self._switched(middle, target)
            if second is None:
                continue
            first = Route((link,), (1.0,))
            width = min(float(self.capacity[link]), *self.capacity[list(second.resource)].tolist())
            if best is None or (width, -middle) > (best[0], -best[1]):
                best = (width, middle, first, second)
        if best is None:
            return None
        _, _, first, second = best
        return Route(first.resource + second.resource, first.share + second.share)
