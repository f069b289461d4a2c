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
    wiring: Wiring


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
    sizes = np.array([u.components for u in units], np.int64)[classes]
    links = np.array([u.links for u in units], np.int64)[classes]
    nodes = np.array([u.nodes for u in units], np.int64)[classes]
    first_component = np.concatenate([[0], np.cumsum(sizes)])
    first_link = np.concatenate([[0], np.cumsum(links)])
    first_node = np.concatenate([[0], np.cumsum(nodes)])
    models, remapped = _shared_models(units)

    def column(name: str) -> npt.NDArray[Any]:
        return _laid([getattr(u, name) for u in remapped], classes)

    node = column("node")
    in_node = node >= 0
    node[in_node] += np.repeat(first_node[:-1], sizes)[in_node]
    shift = np.repeat(first_component[:-1], links).astype(np.int32)
    bandwidth = column("bandwidth")
    labels = {
        int(first_component[u]) + c: label
        for u, kind in enumerate(classes if _any_labels(units) else ())
        for c, label in units[kind].labels.items()
    }
    bare = Topology(
        name=name,
        nodes=int(first_node[-1]),
        kind=column("kind"),
        node=node,
        index=column("index"),
        numa=column("numa"),
        model=column("model"),
        rail=column("rail"),
        rate=column("rate"),
        source=column("source") + shift,
        target=column("target") + shift,
        link_kind=column("link_kind"),
        lanes=column("lanes"),
        bandwidth=bandwidth,
        latency=column("latency"),
        capacity=np.concatenate([bandwidth, column("throughput")]),
        models=models,
        units=tuple(remapped),
        unit_class=classes,
        first_component=first_component,
        first_link=first_link,
        first_node=first_node,
        labels=labels,
    )
    return bare if fabric is None else _joined(bare, fabric)


def ports_of(topology: Topology) -> Ports:
    """The compute NICs of all nodes (those on a rail), in order of node and rail."""
    nics = topology.of_kind(ComponentKind.NIC)
    nics = nics[topology.rail[nics] >= 0]
    nics = nics[np.lexsort((topology.rail[nics], topology.node[nics]))]
    return Ports(
        component=nics,
        node=topology.node[nics],
        unit=topology.unit_of(nics).astype(np.int32),
        rail=topology.rail[nics],
        rate=topology.rate[nics],
    )


def _joined(bare: Topology, design: FabricDesign) -> Topology:
    laid = design.lay(ports_of(bare), first_switch=bare.components, first_link=bare.links)
    switches, cables = len(laid.kind), len(laid.source)
    models = (*bare.models, laid.model)
    none = np.full(switches, -1, np.int32)
    ends = np.stack([laid.source, laid.target], axis=1)
    bandwidth = np.concatenate([bare.bandwidth, np.repeat(laid.bandwidth, 2)])
    return replace(
        bare,
        kind=np.concatenate([bare.kind, laid.kind]),
        node=np.concatenate([bare.node, none]),
        index=np.concatenate([bare.index, laid.index]),
        numa=np.concatenate([bare.numa, none]),
        model=np.concatenate([bare.model, np.full(switches, len(models) - 1, np.int32)]),
        rail=np.concatenate([bare.rail, none]),
        rate=np.concatenate([bare.rate, np.zeros(switches)]),
        source=np.concatenate([bare.source, ends.ravel()]),
        target=np.concatenate([bare.target, ends[:, ::-1].ravel()]),
        link_kind=np.concatenate([bare.link_kind, np.full(2 * cables, LinkKind.NETWORK, np.uint8)]),
        lanes=np.concatenate([bare.lanes, np.ones(2 * cables, np.int32)]),
        bandwidth=bandwidth,
        latency=np.concatenate([bare.latency, np.repeat(laid.latency, 2)]),
        capacity=np.concatenate(
            [bandwidth, bare.capacity[bare.links :], np.full(switches, np.inf)]
        ),
        models=models,
        wiring=laid.wiring,
    )


def _shared_models(units: Sequence[Unit]) -> tuple[tuple[str, ...], list[Unit]]:
    names: dict[str, int] = {}
    remapped = []
    for unit in units:
        table = np.array([names.setdefault(m, len(names)) for m in unit.models] + [-1], np.int32)
        remapped.append(replace(unit, model=table[unit.model]))
    return tuple(names), [replace(u, models=tuple(names)) for u in remapped]


def _any_labels(units: Sequence[Unit]) -> bool:
    return any(unit.labels for unit in units)


def _laid(columns: Sequence[npt.NDArray[Any]], classes: Ints) -> npt.NDArray[Any]:
    if len(columns) == 1:
        return np.tile(columns[0], len(classes))
    return np.concatenate([columns[c] for c in classes])
