"""join_gpus: NVLink and xGMI of one unit, as a mesh or through NVSwitches."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from wirespeed.catalog import Gpu, hop_latency, nvlink_of, xgmi
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.node_design import GpuLinks, NodeDesign
from wirespeed.topology.unit import UnitBuilder
from wirespeed.units import GB


def join_gpus(
    builder: UnitBuilder, design: NodeDesign, model: Gpu, by_node: Sequence[Sequence[int]]
) -> None:
    """Adds the links between the GPUs (component ids by node) and the switches that they need."""
    links = design.nvlink
    if links.style == "mesh":
        kind = LinkKind.XGMI if model.xgmi else LinkKind.NVLINK
        rate, latency = link_bandwidth(links, model), hop_latency("nvlink").latency
        for gpus in by_node:
            for a, b, count in links.pairs(len(gpus)):
                builder.connect(
                    gpus[a], gpus[b], kind, bandwidth=count * rate, lanes=count, latency=latency
                )
    elif links.style == "switch":
        flat = [g for gpus in by_node for g in gpus]
        # The switches of a rack stand in trays of their own.
        node = -1 if design.nodes_per_unit > 1 else 0
        _Switched(builder, links, link_bandwidth(links, model), node).join(flat)


def link_bandwidth(links: GpuLinks, model: Gpu) -> float:
    """Rate of one link between GPUs [B/s], one direction; 0 where the GPU has none."""
    if links.link_GBps:
        return links.link_GBps * GB
    if model.xgmi:
        return xgmi(model.xgmi).bandwidth or 0.0
    fabric = nvlink_of(model)
    return fabric[0].bandwidth() if fabric else 0.0


class _Switched:
    """NVSwitches in groups, each with the GPUs below it, and trunks between groups."""

    def __init__(self, builder: UnitBuilder, links: GpuLinks, rate: float, node: int) -> None:
        self.builder = builder
        self.links = links
        self.rate = rate
        self.node = node
        self.crossing = hop_latency("nvswitch").latency

    def join(self, gpus: Sequence[int]) -> None:
        size = self.links.trunk.group or len(gpus)
        groups = [self._add_group(gpus[i : i + size]) for i in range(0, len(gpus), size)]
        if len(groups) > 1 and self.links.trunk.upper_switches:
            self._join_above(groups)
        elif len(groups) > 1:
            self._join_across(groups)

    def _add_group(self, gpus: Sequence[int]) -> list[int]:
        switches = [self._add_switch() for _ in range(self.links.switches)]
        # A way through a switch is a direct hop and a crossing, in two links.
        latency = (hop_latency("nvlink").latency + self.crossing) / 2
        for g in gpus:
            for s, switch in enumerate(switches):
                self._connect(g, switch, self.links.links_to(s), latency)
        return switches

    def _join_across(self, groups: Sequence[Sequence[int]]) -> None:
        for one, other in combinations(groups, 2):
            for a, b in zip(one, other, strict=True):
                self._connect(a, b, self.links.trunk.links, self.crossing)

    def _join_above(self, groups: Sequence[Sequence[int]]) -> None:
        uppers = [self._add_switch() for _ in range(self.links.trunk.upper_switches)]
        share = len(uppers) // self.links.switches
        for switches in groups:
            for s, switch in enumerate(switches):
                for upper in uppers[s * share : (s + 1) * share]:
                    self._connect(switch, upper, self.links.trunk.links, self.crossing)

    def _add_switch(self) -> int:
        model = f"NVSwitch {self.links.switch_generation}"
        return self.builder.add(ComponentKind.NVSWITCH, node=self.node, model=model)

    def _connect(self, a: int, b: int, count: int, latency: float) -> None:
        self.builder.connect(
            a, b, LinkKind.NVLINK, bandwidth=count * self.rate, lanes=count, latency=latency
        )
