"""PcieTree: one node's host bridges, PCIe switches and the links from devices up to the CPUs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from wirespeed.catalog import Gpu, hop_latency, pcie
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.node_design import NodeDesign, PcieGroup
from wirespeed.topology.unit import UnitBuilder
from wirespeed.units import GB, US

_DEVICE_TO_ROOT_US = 0.5
"""[us] one way without a switch between, where a generation states none; as those that do."""

Root = tuple[str, int]
"""A host bridge: ("root", its number), or with what has it alone: ("upper", number of the shared
switch), ("group", position)."""


@dataclass(slots=True)
class PcieTree:
    """The tree in the making. `cpus`, `gpus`, `nics` are component ids by number in the node.

    PCIe links have their wire rate. The link of a host bridge to its CPU is inside the chip: it
    carries all ports below it at once, so it is never the narrowest.
    """

    builder: UnitBuilder
    design: NodeDesign
    gpu: Gpu
    node: int
    cpus: Sequence[int]
    gpus: Sequence[int]
    nics: Sequence[int]
    _switches: set[int] = field(default_factory=set)
    _uppers: dict[int, int] = field(default_factory=dict)
    _into: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    """[B/s] of all links up into a component."""

    def add(self) -> None:
        """Adds all groups, in an order that does not depend on that of the design."""
        groups = sorted(self.design.pcie, key=_place)
        keys = [_root(position, group) for position, group in enumerate(groups)]
        roots = self._add_roots(groups, keys)
        for key, group in zip(keys, groups, strict=True):
            self._add_group(group, self._above(group, roots[key]))
        inside = hop_latency("root-complex").latency / 2
        homes = {roots[key]: group.numa for key, group in zip(keys, groups, strict=True)}
        for root, numa in homes.items():
            self.builder.connect(
                root,
                self.cpus[numa],
                LinkKind.ROOT,
                bandwidth=self._into[root],
                latency=inside,
            )

    def _add_roots(self, groups: Sequence[PcieGroup], keys: Sequence[Root]) -> dict[Root, int]:
        ports: defaultdict[Root, int] = defaultdict(int)
        numa: dict[Root, int] = {}
        uppers: set[int] = set()
        for key, group in zip(keys, groups, strict=True):
            if group.upper not in uppers:
                ports[key] += 1 if group.levels else len(group.gpus) + len(group.nics)
            if group.upper >= 0:
                uppers.add(group.upper)
            numa[key] = group.numa
        limit = self.design.cpu.root_p2p_GBps * GB
        return {
            key: self.builder.add(
                ComponentKind.ROOT,
                node=self.node,
                numa=numa[key],
                # Both directions of every port pass the bridge.
                throughput=2 * limit * count if limit else float("inf"),
            )
            for key, count in ports.items()
        }

    def _above(self, group: PcieGroup, root: int) -> int:
        """What the group hangs from: its host bridge, or a switch that it shares."""
        if group.upper < 0:
            return root
        if group.upper not in self._uppers:
            self._uppers[group.upper] = self._switch(group)
            self._uplink(self._uppers[group.upper], root, group)
        return self._uppers[group.upper]

    def _add_group(self, group: PcieGroup, above: int) -> None:
        if group.levels:
            shared = self._switch(group)
            self._uplink(shared, above, group)
            above = shared
        for g in sorted(group.gpus):
            generation = min(group.generation, self.gpu.pcie_generation)
            self._add_device(self.gpus[g], above, group, generation, group.lanes)
        for n in sorted(group.nics):
            nic = self.design.nic(n)
            generation = min(group.generation, nic.pcie_generation or group.generation)
            self._add_device(self.nics[n], above, group, generation, nic.pcie_lanes)

    def _add_device(
        self, device: int, above: int, group: PcieGroup, generation: int, lanes: int
    ) -> None:
        if group.levels > 1:
            lower = self._switch(group)
            self._link(lower, above, group.generation, 16, group.device_GBps)
            above = lower
        self._link(device, above, generation, lanes, group.device_GBps)

    def _switch(self, group: PcieGroup) -> int:
        switch = self.builder.add(
            ComponentKind.PCIE, node=self.node, numa=group.numa, model=group.model
        )
        self._switches.add(switch)
        return switch

    def _uplink(self, low: int, high: int, group: PcieGroup) -> None:
        generation = group.uplink_generation or group.generation
        self._link(low, high, generation, group.uplink_lanes, group.uplink_GBps)

    def _link(self, low: int, high: int, generation: int, lanes: int, rate_GBps: float) -> None:
        width = rate_GBps * GB or pcie(generation).bandwidth(lanes)
        latency = self._end(low, generation) + self._end(high, generation)
        self.builder.connect(
            low, high, LinkKind.PCIE, bandwidth=width, lanes=lanes, latency=latency
        )
        self._into[high] += width

    def _end(self, component: int, generation: int) -> float:
        """Latency [s] that this end adds to a link."""
        if component in self._switches:
            return hop_latency("pcie-switch").latency / 2
        return (pcie(generation).root_latency_us or _DEVICE_TO_ROOT_US) * US / 2


def _place(group: PcieGroup) -> tuple[bool, list[int], list[int]]:
    """Where a group stands, whatever its place in a file: those with GPUs first, in their order."""
    return not group.gpus, sorted(group.gpus), sorted(group.nics)


def _root(position: int, group: PcieGroup) -> Root:
    if group.root >= 0:
        return "root", group.root
    return ("upper", group.upper) if group.upper >= 0 else ("group", position)
