"""Clos designs: one switch, leaf-spine and fat trees of three tiers, with or without rails."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from wirespeed.errors import Infeasible
from wirespeed.topology.assemble import Laid, Ports
from wirespeed.topology.fabrics.clos_wiring import ClosWiring
from wirespeed.topology.fabrics.latency import Network, cable_latency
from wirespeed.topology.fabrics.placement import (
    Census,
    Placed,
    Placement,
    census,
    leaves_needed,
    place,
)
from wirespeed.topology.fabrics.port_table import port_table
from wirespeed.topology.fabrics.sizing import Shape, Tier, three_tiers, two_tiers
from wirespeed.topology.kinds import ComponentKind

Ids = npt.NDArray[np.int64]
_MOST_NODES = 2**22


@dataclass(frozen=True, slots=True)
class ClosDesign:
    """A fabric of leaves, spines and cores before it is built.

    Attributes:
        name: what it is called in output.
        placement: what shares a leaf.
        leaf, spine: ports of these tiers; a spine without cores above it has all ports down.
        core_ports: ports of a core.
        tiers: least and most tiers; the least that holds the ports is built.
        rails_apart: one tree a rail: NICs of different rails do not reach each other.
        pods_of_rails: with three tiers a pod holds leaves of one rail, else whole groups of nodes.
        planes: equal networks side by side; each NIC has one port of rate / planes on each.
        uplink_speed: rate of a cable between switches, in rates of a NIC's port.
        nodes_per_leaf: where fewer than the ports would allow.
        spines: spines (of a pod), where more than needed.
        sizes: node counts that the design is published for, rising; a cluster is laid as a part
            of the smallest that holds it. Empty: it grows with the cluster.
        network, switch_latency, link_latency: see `cable_latency`.
    """

    name: str
    placement: Placement
    leaf: Tier = field(default_factory=Tier)
    spine: Tier = field(default_factory=Tier)
    core_ports: int = 64
    tiers: tuple[int, int] = (2, 3)
    rails_apart: bool = False
    pods_of_rails: bool = True
    planes: int = 1
    uplink_speed: float = 1.0
    nodes_per_leaf: int | None = None
    spines: int | None = None
    sizes: tuple[int, ...] = ()
    network: Network = Network.INFINIBAND
    switch_latency: float | None = None
    link_latency: float | None = None

    def lay(self, ports: Ports, *, first_switch: int, first_link: int) -> Laid:
        """Switches, cables and wiring for these ports.

        Raises Infeasible, with the largest number of nodes that would fit, where they are too many.
        """
        table = port_table(self.name, ports)
        count = census(ports)
        shape = self.shape(count)
        if shape is None:
            raise self._too_small(count)
        placed = place(ports, self.placement, shape.per_leaf)
        plan = _pods(self, shape, placed)
        wiring = ClosWiring(
            name=self.name,
            description=_describe(self, shape, plan),
            table=table,
            shape=shape,
            planes=self.planes,
            leaf=placed.leaf,
            slot=placed.slot,
            pod=plan.pod,
            place=plan.place,
            tree=plan.tree,
            first_link=first_link,
        )
        return _cables(self, wiring, first_switch)

    def shape(self, count: Census) -> Shape | None:
        """Counts of one plane for so many nodes; None where they do not fit."""
        if not self.sizes:
            return self._shape(count)
        if count.nodes > self.sizes[-1]:
            return None
        whole = next(size for size in self.sizes if size >= count.nodes)
        # Nodes with more NICs than the design was published for fill it sooner.
        return self._shape(replace(count, nodes=whole)) or self._shape(count)

    def _shape(self, count: Census) -> Shape | None:
        per_leaf, uplinks = self._leaf_ports(count)
        if not 1 <= per_leaf <= self.leaf.radix - uplinks:
            return None
        of_rail, rails = leaves_needed(count, self.placement, per_leaf)
        of_tree = of_rail if self.rails_apart else of_rail * rails
        if of_tree == 1:
            return Shape(per_leaf, 1)
        if self.tiers[0] <= 2 <= self.tiers[1]:
            shape = two_tiers(per_leaf, of_tree, uplinks, self.spine.radix, self.spines)
            if shape is not None:
                return shape
        if self.tiers[1] < 3:
            return None
        leaves, pods = self._pod_size(of_rail, rails)
        pod = two_tiers(per_leaf, leaves, uplinks, self.spine.split()[0], self.spines)
        if pod is None or pods == 1:
            return pod
        return three_tiers(pod, pods, self.spine, self.core_ports)

    def largest(self, count: Census) -> int:
        """The most nodes, equal to those counted, that fit."""
        low, high = 0, self.sizes[-1] if self.sizes else _MOST_NODES
        while low < high:
            middle = (low + high + 1) // 2
            if self.shape(replace(count, nodes=middle)) is None:
                high = middle - 1
            else:
                low = middle
        return low

    def _leaf_ports(self, count: Census) -> tuple[int, int]:
        """Ports down and up of a leaf; all are down where one switch holds a whole tree."""
        of_node = count.per_rail if self.placement is Placement.RAIL else count.nics
        if self.nodes_per_leaf is not None:
            return self.leaf.split(self.nodes_per_leaf * of_node)
        if self.tiers[0] == 1 and count.nodes * of_node <= self.leaf.radix:
            return self.leaf.radix, 0
        return (0, 0) if self.tiers[1] == 1 else self.leaf.split()

    def _pod_size(self, of_rail: int, rails: int) -> tuple[int, int]:
        """Leaves of a full pod and number of pods of a tree of three tiers."""
        most = self.spine.split()[0]
        if self.placement is Placement.RAIL and not (self.pods_of_rails or self.rails_apart):
            blocks = max(1, min(of_rail, most // rails))
            return blocks * rails, -(-of_rail // blocks)
        leaves = min(of_rail, most)
        pods = -(-of_rail // leaves)
        return leaves, pods if self.rails_apart else pods * rails

    def _too_small(self, count: Census) -> Infeasible:
        largest = self.largest(count)
        nodes = f"{count.nodes:,} node{'s' if count.nodes > 1 else ''}"
        nics = f"{count.nics} NIC{'s' if count.nics > 1 else ''}"
        if largest < 1:
            why = f"a node has {count.nics} NICs and a leaf {self.leaf.radix} ports"
        else:
            why = f"the largest that it can hold is {largest:,} nodes of {nics}"
        return Infeasible(
            f"fabric {self.name} cannot hold {nodes}",
            why=why,
            remedy="take fewer nodes, a larger radix or more tiers, or another fabric",
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Pods:
    """[leaves] pod and position in it, [pods] tree."""

    pod: Ids
    place: Ids
    tree: Ids


def _pods(design: ClosDesign, shape: Shape, placed: Placed) -> _Pods:
    """Which leaves form a pod, and which pods a tree; pods without leaves are left out."""
    rails = int(placed.rail.max()) + 1
    by_rail = design.placement is Placement.RAIL
    if design.rails_apart or (by_rail and design.pods_of_rails and shape.tiers == 3):
        row, place = np.divmod(placed.block, shape.leaves)
        key, tree = row * rails + placed.rail, placed.rail
    elif shape.tiers == 3 and by_rail:
        row, block = np.divmod(placed.block, shape.leaves // rails)
        key, place = row, block * rails + placed.rail
    elif shape.tiers == 3:
        key, place = np.divmod(placed.block, shape.leaves)
    else:
        place = np.arange(len(placed.rail))
        key = np.zeros_like(place)
    if not design.rails_apart:
        tree = np.zeros_like(key)
    taken, first, pod = np.unique(key, return_index=True, return_inverse=True)
    return _Pods(pod.reshape(-1), place, tree[first] if len(taken) else tree)


def _cables(design: ClosDesign, wiring: ClosWiring, first_switch: int) -> Laid:
    """All switches and cables: NICs' first, then leaf to spine, then spine to core."""
    shape, planes, ports = wiring.shape, wiring.planes, wiring.table.ports
    leaves, spines, cores = wiring.leaves, wiring.spines, wiring.cores
    first_spine = first_switch + planes * leaves
    first_core = first_spine + planes * spines
    plane = np.arange(planes)
    nic_source = np.tile(ports.component, planes)
    nic_target = first_switch + (plane[:, None] * leaves + wiring.leaf).ravel()

    uplink = np.arange(shape.uplinks)
    spine = wiring.pod[:, None] * shape.spines + uplink % max(shape.spines, 1)
    leaf_source = first_switch + np.repeat(np.arange(planes * leaves), shape.uplinks)
    leaf_target = first_spine + (plane[:, None] * spines + spine.ravel()).ravel()

    uplink = np.arange(shape.spine_uplinks)
    group = np.arange(shape.spines) // max(shape.spines_per_group, 1)
    core = group[:, None] * shape.cores + uplink % max(shape.cores, 1)
    core = wiring.tree[:, None] * shape.groups * shape.cores + core.ravel()
    spine_source = first_spine + np.repeat(np.arange(planes * spines), shape.spine_uplinks)
    spine_target = first_core + (plane[:, None] * cores + core.ravel()).ravel()

    rate = float(ports.rate.max())
    latency = cable_latency(
        design.network, rate, switch=design.switch_latency, link=design.link_latency
    )
    between = rate / planes * design.uplink_speed
    counts = [len(nic_source), len(leaf_source), len(spine_source)]
    numbers = [np.arange(planes * n) for n in (leaves, spines, cores)]
    kinds = (ComponentKind.LEAF, ComponentKind.SPINE, ComponentKind.CORE)
    return Laid(
        kind=np.repeat(np.array(kinds, np.uint8), [len(n) for n in numbers]),
        index=np.concatenate(numbers).astype(np.int32),
        model=design.name,
        source=np.concatenate([nic_source, leaf_source, spine_source]).astype(np.int32),
        target=np.concatenate([nic_target, leaf_target, spine_target]).astype(np.int32),
        bandwidth=np.concatenate(
            [np.tile(ports.rate / planes, planes), np.full(counts[1] + counts[2], between)]
        ),
        latency=np.repeat([latency.nic, latency.spine, latency.core], counts),
        wiring=wiring,
    )


def _describe(design: ClosDesign, shape: Shape, plan: _Pods) -> str:
    """Tiers, switches, ports and oversubscription in one line."""
    planes, pods, trees = design.planes, len(plan.tree), int(plan.tree.max()) + 1
    counts = [f"{planes * len(plan.pod)} leaf"]
    ratios = []
    if shape.spines:
        counts.append(f"{planes * pods * shape.spines} spine")
        ratios.append(shape.per_leaf / (shape.uplinks * design.uplink_speed))
    if shape.cores:
        counts.append(f"{planes * trees * shape.groups * shape.cores} core")
        ratios.append(shape.leaves * shape.trunk / shape.spine_uplinks)
    parts = [
        f"{shape.tiers} tier{'s' if shape.tiers > 1 else ''}",
        f"{', '.join(counts)} switch{'es' if len(plan.pod) > 1 or shape.spines else ''}",
        f"radix {design.leaf.radix}",
    ]
    if ratios:
        parts.append("oversubscription " + ", ".join(f"{ratio:.3g}:1" for ratio in ratios))
    if planes > 1:
        parts.append(f"{planes} planes")
    if design.rails_apart and trees > 1:
        parts.append("one tree a rail")
    return "; ".join(parts)
