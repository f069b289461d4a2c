"""Topology: all components and directed links of a cluster, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wirespeed.topology.fabrics.wiring import Wiring
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.unit import Floats, Ints, Unit


@dataclass(frozen=True, slots=True, eq=False)
class Topology:
    """A cluster as a graph: units (nodes or racks) one after the other, then the fabric's switches.

    Links come in pairs: `link ^ 1` is the other direction. A *resource* is what can be a
    bottleneck: ids 0 … links-1 are the directed links, links + c is component c as a
    whole (a CPU's memory, a host bridge's peer-to-peer path).

    Attributes:
        kind, node, index, numa, model, rail, rate: [components] as in `Unit`, `node` counted over
            the cluster; a fabric switch has node -1.
        source, target, link_kind, lanes, bandwidth, latency: [links] wire rate [B/s] and one-way
            latency [s] as built.
        capacity: [links + components] what each resource can move now [B/s]: wire rate or
            throughput, less what changes took; 0 is down.
        units: the different units; `unit_class` [units in the cluster] says which one stands where.
        first_component, first_link: [units + 1] where each begins.
        labels: the machine's own names by component id.
        wiring: how the fabric carries a message from NIC to NIC; None without a fabric.
        altered: units whose resources a change touched, which have routes of their own.
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
    source: Ints
    target: Ints
    link_kind: npt.NDArray[np.uint8]
    lanes: Ints
    bandwidth: Floats
    latency: Floats
    capacity: Floats
    models: tuple[str, ...]
    units: tuple[Unit, ...]
    unit_class: Ints
    first_component: npt.NDArray[np.int64]
    first_link: npt.NDArray[np.int64]
    first_node: npt.NDArray[np.int64]
    labels: Mapping[int, str]
    wiring: Wiring | None = None
    altered: frozenset[int] = frozenset()

    @property
    def components(self) -> int:
        """Number of components."""
        return len(self.kind)

    @property
    def links(self) -> int:
        """Number of directed links."""
        return len(self.source)

    @property
    def resources(self) -> int:
        """Number of resources: directed links, then components."""
        return self.links + self.components

    def of_kind(self, kind: ComponentKind) -> Ints:
        """Ids of all components of a kind, in order of node and index."""
        return np.flatnonzero(self.kind == kind).astype(np.int32)

    def gpus(self, node: int | None = None) -> Ints:
        """Ids of all GPUs, or of one node's, in rank order."""
        ids = self.of_kind(ComponentKind.GPU)
        return ids if node is None else ids[self.node[ids] == node]

    def unit_of(self, component: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The unit of each component; the number of units for a fabric switch."""
        if len(self.units) == 1:
            whole = np.asarray(component, np.int64) // self.units[0].components
            return np.minimum(whole, len(self.unit_class))
        return np.searchsorted(self.first_component, component, side="right") - 1

    def unit_at(self, component: int) -> int:
        """The unit of one component; the number of units for a fabric switch."""
        if len(self.units) == 1:
            return min(component // self.units[0].components, len(self.unit_class))
        return int(np.searchsorted(self.first_component, component, side="right")) - 1

    def link_between(self, source: int, target: int, kind: LinkKind | None = None) -> Ints:
        """Ids of the links from one component to another."""
        found = (self.source == source) & (self.target == target)
        if kind is not None:
            found &= self.link_kind == kind
        return np.flatnonzero(found).astype(np.int32)

    def scaled(self, resource: npt.ArrayLike, factor: float) -> Topology:
        """The same with these resources at `factor` of what they have now; 0 takes them down."""
        ids = np.atleast_1d(np.asarray(resource, np.int64))
        capacity = self.capacity.copy()
        capacity[ids] = 0.0 if factor == 0 else capacity[ids] * factor
        is_link = ids < self.links
        cut = ids[is_link]
        parts = (self.source[cut], self.target[cut], ids[~is_link] - self.links)
        touched = np.concatenate([part.astype(np.int64) for part in parts])
        units = set(self.unit_of(touched).tolist()) - {len(self.unit_class)}
        return replace(self, capacity=capacity, altered=self.altered | units)
