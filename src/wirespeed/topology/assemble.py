"""assemble: units in a row, and a fabric over their NICs, to one topology."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from wirespeed.topology.fabrics.wiring import Wiring
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.model import Topology
from wirespeed.topology.unit import Floats, Ints, Unit

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Ports:
    """The compute NICs that a fabric shall connect: [ports] each, in order of node and rail."""

    component: Ints
    node: Ints
    unit: Ints
    rail: Ints
    rate: Floats
    """Port rate [B/s] per direction."""


@dataclass(frozen=True, slots=True, eq=False)
class Laid:
    """What a fabric design lays down: switches and cables.

    `source` and `target` of a cable are component ids of the whole topology: switches count from
    `first_switch` on, as passed to `lay`. Cable k becomes the links first_link + 2k (source to
    target, towards the core) and first_link + 2k + 1 (back).
    """

    kind: npt.NDArray[np.uint8]
    index: Ints
    model: str
    source: Ints
    target: Ints
    bandwidth: Floats
    latency: Floats
    wiring: Wiring | None
    """None only where nothing is laid."""


class FabricDesign(Protocol):
    """A fabric before it is built."""

    def lay(self, ports: Ports, *, first_switch: int, first_link: int) -> Laid:
        """Switches, cables and wiring for these ports; Infeasible where they are too many."""
        ...


def assemble(
    name: str,
    units: Sequence[Unit],
    unit_class: npt.ArrayLike,
    fabric: FabricDesign | None = None,
) -> Topology:
    """A topology of `units[c] for c in unit_class`, joined by the fabric.

    Time and memory grow with the links; no Python object per component.
    """
    classes = np.asarray(unit_class, np.int32)
    models, remapped = _shared_models(units)
    row = _Row(remapped, classes)
    laid = _no_fabric()
    if fabric is not None:
        components, links = int(row.first_component[-1]), int(row.first_link[-1])
        laid = fabric.lay(_ports(row), first_switch=components, first_link=links)
        models = (*models, laid.model)
    switches, cables = len(laid.kind), len(laid.source)
    none = np.full(switches, -1, np.int32)
    ends = np.stack([laid.source, laid.target], axis=1)
    bandwidth = row.links("bandwidth", np.repeat(laid.bandwidth, 2))
    unlimited = np.full(switches, np.inf)
    return Topology(
        name=name,
        nodes=int(row.first_node[-1]),
        kind=row.components("kind", laid.kind),
        node=row.components("node", none, shift=row.first_node, absent=-1),
        index=row.components("index", laid.index),
        numa=row.components("numa", none),
        model=row.components("model", np.full(switches, len(models) - 1, np.int32)),
        rail=row.components("rail", none),
        rate=row.components("rate", np.zeros(switches)),
        source=row.links("source", ends.ravel(), shift=row.first_component),
        target=row.links("target", ends[:, ::-1].ravel(), shift=row.first_component),
        link_kind=row.links("link_kind", np.full(2 * cables, LinkKind.NETWORK, np.uint8)),
        lanes=row.links("lanes", np.ones(2 * cables, np.int32)),
        bandwidth=bandwidth,
        latency=row.links("latency", np.repeat(laid.latency, 2)),
        capacity=np.concatenate([bandwidth, row.components("throughput", unlimited)]),
        models=models,
        units=tuple(remapped),
        unit_class=classes,
        first_component=row.first_component,
        first_link=row.first_link,
        first_node=row.first_node,
        labels=_labels(row),
        wiring=laid.wiring,
    )


class _Row:
    """Units one after the other: where each begins, and their columns end to end."""

    def __init__(self, units: Sequence[Unit], classes: Ints) -> None:
        self.units, self.classes = units, classes
        self.first_component = self._firsts([unit.components for unit in units])
        self.first_link = self._firsts([unit.links for unit in units])
        self.first_node = self._firsts([unit.nodes for unit in units])
        # Where a run of equal units begins, and one past its end.
        cuts = np.flatnonzero(np.diff(classes)) + 1
        self._runs = list(zip([0, *cuts.tolist()], [*cuts.tolist(), len(classes)], strict=True))

    def components(
        self,
        name: str,
        more: npt.NDArray[Any],
        *,
        shift: Ids | None = None,
        absent: int | None = None,
    ) -> npt.NDArray[Any]:
        """A column of all components, and `more` for the fabric's; see `_column`."""
        return self._column(name, self.first_component, more, shift, absent)

    def links(
        self, name: str, more: npt.NDArray[Any], *, shift: Ids | None = None
    ) -> npt.NDArray[Any]:
        """A column of all links, and `more` for the fabric's; see `_column`."""
        return self._column(name, self.first_link, more, shift, None)

    def _firsts(self, sizes: Sequence[int]) -> Ids:
        counts = np.array(sizes, np.int64)[self.classes]
        return np.concatenate([[0], np.cumsum(counts)])

    def _column(
        self,
        name: str,
        first: Ids,
        more: npt.NDArray[Any],
        shift: Ids | None,
        absent: int | None,
    ) -> npt.NDArray[Any]:
        """Each unit's column plus its entry of `shift`, but `absent` stays what it is."""
        whole = np.empty(int(first[-1]) + len(more), getattr(self.units[0], name).dtype)
        whole[first[-1] :] = more
        for begin, end in self._runs:
            own = getattr(self.units[self.classes[begin]], name)
            part = whole[first[begin] : first[end]].reshape(end - begin, len(own))
            if shift is None:
                part[:] = own
                continue
            by = shift[begin:end, None].astype(own.dtype)
            np.add(own, by, out=part)
            if absent is not None:
                part[:, own == absent] = absent
        return whole


def _ports(row: _Row) -> Ports:
    """The compute NICs of all nodes (those on a rail), in order of node and rail."""
    found = [np.flatnonzero(_compute_nics(unit)) for unit in row.units]
    counts = np.array([len(nics) for nics in found], np.int64)[row.classes]
    unit = np.repeat(np.arange(len(row.classes), dtype=np.int32), counts)
    local = np.concatenate([found[c] for c in row.classes])

    def column(name: str) -> npt.NDArray[Any]:
        own = [getattr(u, name)[nics] for u, nics in zip(row.units, found, strict=True)]
        return np.concatenate([own[c] for c in row.classes])

    node = (column("node") + row.first_node[unit]).astype(np.int32)
    rail = column("rail")
    order = np.lexsort((rail, node))
    component = (row.first_component[unit] + local).astype(np.int32)
    return Ports(component[order], node[order], unit[order], rail[order], column("rate")[order])


def _compute_nics(unit: Unit) -> npt.NDArray[np.bool_]:
    on_rail: npt.NDArray[np.bool_] = (unit.kind == ComponentKind.NIC) & (unit.rail >= 0)
    return on_rail


def _no_fabric() -> Laid:
    none, nothing = np.empty(0, np.int32), np.empty(0)
    return Laid(np.empty(0, np.uint8), none, "", none, none, nothing, nothing, None)


def _labels(row: _Row) -> dict[int, str]:
    """The machine's own names by component id."""
    if not any(unit.labels for unit in row.units):
        return {}
    return {
        first + component: label
        for first, kind in zip(row.first_component[:-1].tolist(), row.classes, strict=True)
        for component, label in row.units[kind].labels.items()
    }


def _shared_models(units: Sequence[Unit]) -> tuple[tuple[str, ...], list[Unit]]:
    names: dict[str, int] = {}
    remapped = []
    for unit in units:
        table = np.array([names.setdefault(m, len(names)) for m in unit.models] + [-1], np.int32)
        remapped.append(replace(unit, model=table[unit.model]))
    return tuple(names), [replace(u, models=tuple(names)) for u in remapped]
