"""Unit: what a cluster repeats. A node, or a rack whose NVLink domain spans its nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from wirespeed.topology.kinds import ComponentKind, LinkKind

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Components and directed links of one node or rack, with ids that count from 0.

    Links come in pairs: link 2k and link 2k+1 are the two directions of one cable or bus.

    Attributes:
        kind, node, index, numa, model, rail: [components]; `node` counts inside the unit and is -1
            for what belongs to the rack (its NVSwitches), `index` counts a kind inside its node,
            `model` points into `models` (-1: none), `rail` is a compute NIC's rail (-1: another
            NIC, or none).
        rate: [components] a NIC's port rate [B/s]; 0 elsewhere.
        throughput: [components] what the component as a whole can move [B/s]; inf: no limit known.
        source, target, link_kind, lanes, bandwidth, latency: [links]; wire bandwidth after encoding
            [B/s], one-way latency [s].
        labels: the machine's own names (mlx5_0, 0000:1b:00.0) by component.
    """

    name: str
    nodes: int
    kind: npt.NDArray[np.uint8]
    node: Ints
    index: Ints
    numa: Ints
    model: Ints
    rail: Ints
    rate: Floats
    throughput: Floats
    source: Ints
    target: Ints
    link_kind: npt.NDArray[np.uint8]
    lanes: Ints
    bandwidth: Floats
    latency: Floats
    models: tuple[str, ...]
    labels: Mapping[int, str]

    @property
    def components(self) -> int:
        """Number of components."""
        return len(self.kind)

    @property
    def links(self) -> int:
        """Number of directed links, two a cable."""
        return len(self.source)

    def of_kind(self, kind: ComponentKind) -> Ints:
        """Ids of the components of a kind, by node and index."""
        return np.flatnonzero(self.kind == kind).astype(np.int32)


@dataclass(slots=True)
class UnitBuilder:
    """Collects components and cables of one unit, then freezes them."""

    name: str
    nodes: int = 1
    _components: list[tuple[int, int, int, int, int, int, float, float]] = field(
        default_factory=list
    )
    _links: list[tuple[int, int, int, int, float, float]] = field(default_factory=list)
    _models: dict[str, int] = field(default_factory=dict)
    _labels: dict[int, str] = field(default_factory=dict)
    _next: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(
        self,
        kind: ComponentKind,
        *,
        node: int = 0,
        index: int | None = None,
        numa: int = -1,
        model: str = "",
        rail: int = -1,
        rate: float = 0.0,
        throughput: float = float("inf"),
        label: str = "",
    ) -> int:
        """The id of a new component; without `index` it is the next of its kind in that node."""
        key = (int(kind), node)
        number = self._next.get(key, 0) if index is None else index
        self._next[key] = max(number + 1, self._next.get(key, 0))
        model_id = self._models.setdefault(model, len(self._models)) if model else -1
        self._components.append((int(kind), node, number, numa, model_id, rail, rate, throughput))
        if label:
            self._labels[len(self._components) - 1] = label
        return len(self._components) - 1

    def connect(
        self,
        a: int,
        b: int,
        kind: LinkKind,
        *,
        bandwidth: float,
        lanes: int = 1,
        latency: float = 0.0,
        back: float | None = None,
    ) -> int:
        """The id of the link a>b; b>a is the next. `back` [B/s] where the ways differ."""
        self._links.append((a, b, int(kind), lanes, bandwidth, latency))
        reverse = bandwidth if back is None else back
        self._links.append((b, a, int(kind), lanes, reverse, latency))
        return len(self._links) - 2

    def build(self) -> Unit:
        """The finished unit."""
        columns = list(zip(*self._components, strict=True)) or [()] * 8
        ends = list(zip(*self._links, strict=True)) or [()] * 6
        return Unit(
            name=self.name,
            nodes=self.nodes,
            kind=np.array(columns[0], np.uint8),
            node=np.array(columns[1], np.int32),
            index=np.array(columns[2], np.int32),
            numa=np.array(columns[3], np.int32),
            model=np.array(columns[4], np.int32),
            rail=np.array(columns[5], np.int32),
            rate=np.array(columns[6], np.float64),
            throughput=np.array(columns[7], np.float64),
            source=np.array(ends[0], np.int32),
            target=np.array(ends[1], np.int32),
            link_kind=np.array(ends[2], np.uint8),
            lanes=np.array(ends[3], np.int32),
            bandwidth=np.array(ends[4], np.float64),
            latency=np.array(ends[5], np.float64),
            models=tuple(self._models),
            labels=dict(self._labels),
        )


def first_nodes(unit: Unit, nodes: int) -> Unit:
    """The unit with only its first `nodes` nodes; what belongs to the rack stays."""
    kept = unit.node < nodes
    renumbered = np.cumsum(kept) - 1
    cables = kept[unit.source] & kept[unit.target]
    return replace(
        unit,
        nodes=nodes,
        **{name: getattr(unit, name)[kept] for name in _PER_COMPONENT},
        source=renumbered[unit.source[cables]].astype(np.int32),
        target=renumbered[unit.target[cables]].astype(np.int32),
        **{name: getattr(unit, name)[cables] for name in _PER_LINK},
        labels={int(renumbered[c]): label for c, label in unit.labels.items() if kept[c]},
    )


_PER_COMPONENT = ("kind", "node", "index", "numa", "model", "rail", "rate", "throughput")
_PER_LINK = ("link_kind", "lanes", "bandwidth", "latency")
