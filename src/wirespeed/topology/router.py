"""Router: paths of many transfers at once, inside units and across the fabric."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from wirespeed.errors import Infeasible
from wirespeed.topology.address import name_of
from wirespeed.topology.kinds import ComponentKind, LinkKind, PathType
from wirespeed.topology.model import Topology
from wirespeed.topology.pairs import Pairs, counted, first_and_place, part_of, spread, table_of
from wirespeed.topology.path_types import nccl_path
from wirespeed.topology.paths import Paths, gather
from wirespeed.topology.switched import Crossings
from wirespeed.topology.unit import Unit
from wirespeed.topology.unit_routes import Route, UnitRoutes
from wirespeed.topology.ways import Way, find_route, memory_of

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
T = TypeVar("T")

_MANY = 2**10
"""Routes through several levels of switches that are looked for all at once."""


@dataclass(slots=True, eq=False)
class Router:
    """Finds paths on one topology and keeps what it found; equal units share their routes."""

    topology: Topology
    _classes: dict[int, UnitRoutes] = field(default_factory=dict)
    _rows: dict[tuple[int, int, int, Way], Route] = field(default_factory=dict)
    _nearest: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)
    _usable: npt.NDArray[np.bool_] | None = None
    _known: dict[tuple[int, int, Hashable], Any] = field(default_factory=dict)

    def on(self, topology: Topology) -> Router:
        """A router for the same cluster after changes; it knows the routes of units not touched."""
        if topology is self.topology:
            return self
        first = len(topology.units)
        kept = set(range(first))
        for unit in topology.altered & self.topology.altered:
            own = slice(topology.first_link[unit], topology.first_link[unit + 1])
            parts = slice(*(topology.links + topology.first_component[[unit, unit + 1]]))
            pairs = ((topology.capacity[k], self.topology.capacity[k]) for k in (own, parts))
            if all(np.array_equal(after, before) for after, before in pairs):
                kept.add(first + unit)
        return Router(
            topology,
            {key: value for key, value in self._classes.items() if key in kept},
            {key: value for key, value in self._rows.items() if key[0] in kept},
            # Cables are no part of a unit: a unit that is as it was may have lost one.
            {key: value for key, value in self._nearest.items() if key[0] < first},
            _known={key: value for key, value in self._known.items() if key[0] in kept},
        )

    def remember(self, unit: int, about: Hashable, find: Callable[[], T]) -> T:
        """What `find` finds out about a unit, kept until a change touches the unit.

        `about` says what it is, and all that it hangs on beside the unit.
        """
        key = (self.class_of(unit), unit, about)
        if key not in self._known:
            self._known[key] = find()
        found: T = self._known[key]
        return found

    def without(self, nics: Ids) -> Router:
        """A router for the same topology that never takes these NICs (component ids)."""
        usable = self.usable_nics().copy()
        usable[nics] = False
        if np.array_equal(usable, self.usable_nics()):
            return self
        return Router(self.topology, self._classes, self._rows, _usable=usable)

    def routes(self, unit: int) -> UnitRoutes:
        """The routes inside a unit of the cluster."""
        key = self.class_of(unit)
        if key not in self._classes:
            topology = self.topology
            shape = topology.units[topology.unit_class[unit]]
            links = slice(topology.first_link[unit], topology.first_link[unit] + shape.links)
            first = topology.links + topology.first_component[unit]
            capacity = np.concatenate(
                [topology.capacity[links], topology.capacity[first : first + shape.components]]
            )
            intact = self._classes.get(int(topology.unit_class[unit]))
            self._classes[key] = (
                intact.at_rates(capacity) if intact else UnitRoutes(shape, capacity)
            )
        return self._classes[key]

    def inside(self, source: npt.ArrayLike, target: npt.ArrayLike, way: Way) -> Paths:
        """[t] paths between devices (component ids) of the same unit.

        Raises Infeasible, naming the pair, where no such way exists.
        """
        pairs = self.pairs(source, target)
        everything = np.arange(len(pairs.example))
        table = table_of(self._rows_of(pairs, everything, way))
        return self._placed(table, pairs.row, pairs.unit)

    def inside_loads(
        self, source: npt.ArrayLike, target: npt.ArrayLike, way: Way, amount: Floats
    ) -> Floats:
        """[resources] what these transfers put on each resource: `amount` [t] times the shares."""
        (loads,) = self.pair_loads(self.pairs(source, target), way, amount)
        return np.zeros(self.topology.resources) if loads is None else loads

    def pair_loads(
        self, pairs: Pairs, way: Way, amount: Floats, *kinds: tuple[LinkKind, ...]
    ) -> list[Floats | None]:
        """[resources] what transfers put on each resource: `amount` [t] times the shares.

        One array for the links of each set of `kinds`, and a last one for all other resources; None
        where it would be empty. The same as adding up the paths of `inside`, without making them:
        transfers are counted by unit and by pair within the unit, and each pair's route is laid
        once for all units.
        """
        topology = self.topology
        loads: list[Floats | None] = [None] * (len(kinds) + 1)
        row_class = self._unit_classes()[pairs.unit[pairs.example]]
        for unit_class in np.unique(row_class):
            rows = np.flatnonzero(row_class == unit_class)
            units, sums = counted(pairs, rows, amount)
            shape = topology.units[topology.unit_class[units[0]]]
            crossed = self._crossings(pairs, rows, way)
            if crossed is None:
                own = table_of(self._rows_of(pairs, rows, way))
                used = own.resource
            else:
                ends = pairs.source[pairs.example[rows]], pairs.target[pairs.example[rows]]
                dense = np.array([crossed.loads(*ends, amounts) for amounts in sums])
                used = np.flatnonzero(dense.any(axis=0))
            part = part_of(shape, kinds)[used]
            for k in np.unique(part):
                if crossed is None:
                    columns, local = spread(sums, own, part == k)
                else:
                    columns = used[part == k]
                    local = dense[:, columns]
                whole = loads[k]
                if whole is None:
                    whole = loads[k] = np.zeros(topology.resources)
                self._place(whole, units, shape, columns, local)
        return loads

    def _crossings(self, pairs: Pairs, rows: Ids, way: Way) -> Crossings | None:
        """The ways of all these groups of transfers at once, where switches have several levels.

        `rows` are of one class of units. None where a few routes are found faster one by one, and
        where some of them are no ways through switches.
        """
        if way is not Way.DIRECT or len(rows) < _MANY:
            return None
        example = pairs.example[rows]
        found = self.routes(int(pairs.unit[example[0]])).crossings()
        if found is None or not found.reached(pairs.source[example], pairs.target[example]).all():
            return None
        return found

    def _place(self, loads: Floats, units: Ids, shape: Unit, columns: Ids, local: Floats) -> None:
        """Write what units have on some of their resources to where they stand in the cluster."""
        topology = self.topology
        link = columns < shape.links
        for first, width, own, values in (
            (topology.first_link, shape.links, columns[link], local[:, link]),
            (
                topology.links + topology.first_component,
                shape.components,
                columns[~link] - shape.links,
                local[:, ~link],
            ),
        ):
            if units[-1] - units[0] + 1 == len(units):
                begin = int(first[units[0]])
                beside = loads[begin : begin + len(units) * width].reshape(len(units), width)
                beside[:, own] = values
            else:
                loads[first[units][:, None] + own] = values

    def inside_latency(self, source: npt.ArrayLike, target: npt.ArrayLike, way: Way) -> Floats:
        """[t] the one-way latency of the links on each path [s]."""
        return self.pair_latency(self.pairs(source, target), way)

    def pair_latency(self, pairs: Pairs, way: Way) -> Floats:
        """[t] the one-way latency of the links on the path of each transfer [s]."""
        latency = np.zeros(len(pairs.example))
        row_class = self._unit_classes()[pairs.unit[pairs.example]]
        for unit_class in np.unique(row_class):
            rows = np.flatnonzero(row_class == unit_class)
            example = pairs.example[rows]
            crossed = self._crossings(pairs, rows, way)
            if crossed is not None:
                latency[rows] = crossed.between(pairs.source[example], pairs.target[example])
                continue
            table = table_of(self._rows_of(pairs, rows, way))
            shape = self.topology.units[self.topology.unit_class[pairs.unit[example[0]]]]
            on_link = table.resource < shape.links
            used = table.resource[on_link]
            seconds = table.share[on_link] * shape.latency[used]
            latency[rows] = np.bincount(table.owner()[on_link], seconds, minlength=len(rows))
        return latency[pairs.row]

    def path_types(self, pairs: Pairs) -> npt.NDArray[np.int64]:
        """[rows] NCCL's path type of each group of transfers between GPUs."""
        row_class = self._unit_classes()[pairs.unit[pairs.example]]
        found = np.empty(len(pairs.example), np.int64)
        for unit_class in np.unique(row_class):
            rows = np.flatnonzero(row_class == unit_class)
            if self._crossings(pairs, rows, Way.DIRECT) is not None:
                found[rows] = PathType.NVL
                continue
            routes = self.routes(int(pairs.unit[pairs.example[rows[0]]]))
            ends = (pairs.source[pairs.example[rows]], pairs.target[pairs.example[rows]])
            both = zip(*(column.tolist() for column in ends), strict=True)
            found[rows] = [nccl_path(routes, a, b) for a, b in both]
        return found

    def pairs(self, source: npt.ArrayLike, target: npt.ArrayLike) -> Pairs:
        """The transfers by what tells them apart: their unit's class and their places in it."""
        topology = self.topology
        a, b = np.asarray(source, np.int64), np.asarray(target, np.int64)
        unit = topology.unit_of(a)
        begin = topology.first_component[unit]
        span = int(np.diff(topology.first_component).max(initial=1)) + 1
        classes, number = np.unique(self._unit_classes(), return_inverse=True)
        a, b = a - begin, b - begin
        key = (number.reshape(-1)[unit] * span + a) * span + b
        example, row = first_and_place(key, len(classes) * span * span)
        return Pairs(a, b, unit, example, row)

    def nearest_nics(self, gpu: int) -> tuple[int, ...]:
        """The compute NICs closest to a GPU, by NCCL's path type, then by rail; may be empty."""
        topology = self.topology
        unit = topology.unit_at(gpu)
        begin = int(topology.first_component[unit])
        key = (self.class_of(unit), gpu - begin)
        if key not in self._nearest:
            self._nearest[key] = self._find_nearest(unit, gpu - begin)
        return tuple(begin + nic for nic in self._nearest[key])

    def memory_of(self, device: int) -> int:
        """The CPU whose memory is nearest to a device of its unit; Infeasible where none is."""
        unit = self.topology.unit_at(device)
        begin = int(self.topology.first_component[unit])
        memory = memory_of(self.routes(unit), device - begin)
        if memory is None:
            raise Infeasible(f"{name_of(self.topology, device)} reaches no CPU")
        return begin + memory

    def path_type(self, source: int, target: int, *, pxn: bool = True) -> PathType:
        """NCCL's path type of two devices (component ids); NET where the fabric lies between."""
        unit = self.topology.unit_at(source)
        if unit != self.topology.unit_at(target):
            return PathType.NET if self.topology.wiring is not None else PathType.DIS
        begin = int(self.topology.first_component[unit])
        return nccl_path(self.routes(unit), source - begin, target - begin, pxn=pxn)

    def _find_nearest(self, unit: int, gpu: int) -> tuple[int, ...]:
        routes = self.routes(unit)
        shape = routes.unit
        usable, begin = self.usable_nics(), int(self.topology.first_component[unit])
        nics = [
            int(n)
            for n in shape.of_kind(ComponentKind.NIC)
            if shape.rail[n] >= 0 and shape.node[n] == shape.node[gpu] and usable[begin + n]
        ]
        ways = [(nccl_path(routes, gpu, nic, pxn=False), int(shape.rail[nic]), nic) for nic in nics]
        ranked = sorted(way for way in ways if way[0] != PathType.DIS)
        return tuple(nic for kind, _, nic in ranked if kind == ranked[0][0])

    def usable_nics(self) -> npt.NDArray[np.bool_]:
        """[components] which are NICs that are up, on a cable that is, where there is a fabric.

        A NIC that is cut off from all GPUs of its node serves nobody.
        """
        if self._usable is None:
            topology = self.topology
            usable = topology.kind == ComponentKind.NIC
            usable &= topology.capacity[topology.links :] > 0
            if topology.wiring is not None:
                first = int(topology.first_link[-1])
                up = topology.capacity[first : topology.links].reshape(-1, 2).min(axis=1) > 0
                cabled = np.zeros(topology.components, bool)
                cabled[topology.source[first : topology.links : 2][up]] = True
                usable &= cabled
            usable[self._cut_off(np.flatnonzero(usable))] = False
            self._usable = usable
        return self._usable

    def _cut_off(self, nics: Ids) -> list[int]:
        """Those NICs of units with links that are down that no GPU of their node reaches."""
        topology = self.topology
        inside = slice(0, int(topology.first_link[-1]))
        cut = np.flatnonzero(topology.capacity[inside] == 0)
        units = np.unique(topology.unit_of(topology.source[cut]))
        found = []
        for nic in nics[np.isin(topology.unit_of(nics), units)].tolist():
            unit = topology.unit_at(nic)
            begin, routes = int(topology.first_component[unit]), self.routes(unit)
            node, gpus = routes.unit.node, routes.unit.of_kind(ComponentKind.GPU)
            mine = gpus[node[gpus] == node[nic - begin]].tolist()
            if all(routes.pcie_links(nic - begin, gpu) is None for gpu in mine):
                found.append(nic)
        return found

    def class_of(self, unit: int) -> int:
        """What tells units with different routes apart."""
        if unit in self.topology.altered:
            return len(self.topology.units) + unit
        return int(self.topology.unit_class[unit])

    def classes_of(self, unit: Ids) -> Ids:
        """[n] `class_of` each unit."""
        return self._unit_classes()[unit]

    def _unit_classes(self) -> Ids:
        """[units] `class_of` each."""
        ids = self.topology.unit_class.astype(np.int64)
        altered = list(self.topology.altered)
        ids[altered] = len(self.topology.units) + np.array(altered, np.int64)
        return ids

    def _row(self, unit: int, source: int, target: int, way: Way) -> Route:
        key = (self.class_of(unit), source, target, way)
        if key not in self._rows:
            route = find_route(way, self.routes(unit), source, target)
            if route is None:
                begin = int(self.topology.first_component[unit])
                pair = [name_of(self.topology, begin + c) for c in (source, target)]
                raise Infeasible(
                    f"no way from {pair[0]} to {pair[1]}",
                    why="every link between them is down or was never there",
                    remedy="leave one of them out, or bring a link up",
                )
            self._rows[key] = route
        return self._rows[key]

    def _rows_of(self, pairs: Pairs, rows: Ids, way: Way) -> list[Route]:
        return [
            self._row(int(pairs.unit[t]), int(pairs.source[t]), int(pairs.target[t]), way)
            for t in pairs.example[rows]
        ]

    def _placed(self, table: Paths, row: Ids, unit: Ids) -> Paths:
        """Rows of a table of unit-local resources as paths on the cluster's resources."""
        topology = self.topology
        paths = gather(table, row)
        owner = paths.owner()
        links = np.array([u.links for u in topology.units])[topology.unit_class[unit]][owner]
        is_link = paths.resource < links
        on_link = paths.resource + topology.first_link[unit][owner]
        on_part = paths.resource - links + topology.links + topology.first_component[unit][owner]
        return Paths(paths.first, np.where(is_link, on_link, on_part), paths.share)
