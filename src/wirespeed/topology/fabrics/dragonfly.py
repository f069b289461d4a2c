"""Dragonfly: groups of switches joined all to all, groups joined by global cables."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wirespeed.errors import Infeasible
from wirespeed.topology.assemble import Laid, Ports
from wirespeed.topology.fabrics.dragonfly_wiring import DragonflyWiring
from wirespeed.topology.fabrics.latency import Network, cable_latency
from wirespeed.topology.fabrics.placement import Census, Placement, census, leaves_needed, place
from wirespeed.topology.fabrics.port_table import port_table
from wirespeed.topology.kinds import ComponentKind


@dataclass(frozen=True, slots=True)
class DragonflyDesign:
    """A dragonfly before it is built.

    Attributes:
        name: what it is called in output.
        placement: whether a switch takes all NICs of its nodes or one rail of them.
        ports: ports for NICs on a switch.
        switches: switches of a group, each joined to each other by one cable.
        global_ports: ports for global cables on a switch.
        groups: groups of the largest system.
        pair_links: cables between any two groups; None: as many as the global ports allow.
        network, switch_latency, link_latency: see `cable_latency`.
    """

    name: str
    placement: Placement
    ports: int = 16
    switches: int = 32
    global_ports: int = 16
    groups: int = 74
    pair_links: int | None = None
    network: Network = Network.SLINGSHOT
    switch_latency: float | None = None
    link_latency: float | None = None

    @property
    def links_of_pair(self) -> int:
        """Cables between any two groups."""
        if self.pair_links is not None:
            return self.pair_links
        return self.switches * self.global_ports // max(self.groups - 1, 1)

    def lay(self, ports: Ports, *, first_switch: int, first_link: int) -> Laid:
        """Switches, cables and wiring for these ports; whole groups are laid.

        Raises Infeasible, with the largest number of nodes that would fit, where they are too many.
        """
        table = port_table(self.name, ports)
        count = census(ports)
        if not self._fits(count):
            raise self._too_small(count)
        placed = place(ports, self.placement, self.ports)
        groups = (len(placed.rail) - 1) // self.switches + 1
        wiring = DragonflyWiring(
            name=self.name,
            description=self._describe(groups),
            table=table,
            switch=placed.leaf,
            slot=placed.slot,
            switches=self.switches,
            groups=groups,
            pair_links=self.links_of_pair,
            first_link=first_link,
        )
        return self._cables(wiring, first_switch)

    def _cables(self, wiring: DragonflyWiring, first_switch: int) -> Laid:
        ports = wiring.table.ports
        low, high = np.triu_indices(self.switches, 1)
        group = np.arange(wiring.groups)[:, None] * self.switches
        here, there = wiring.global_ends()
        ends = [
            (ports.component, first_switch + wiring.switch),
            (first_switch + (group + low).ravel(), first_switch + (group + high).ravel()),
            (first_switch + here, first_switch + there),
        ]
        counts = [len(source) for source, _ in ends]
        rate = float(ports.rate.max())
        latency = cable_latency(
            self.network, rate, switch=self.switch_latency, link=self.link_latency
        )
        switches = wiring.groups * self.switches
        return Laid(
            kind=np.full(switches, ComponentKind.LEAF, np.uint8),
            index=np.arange(switches, dtype=np.int32),
            model=self.name,
            source=np.concatenate([source for source, _ in ends]).astype(np.int32),
            target=np.concatenate([target for _, target in ends]).astype(np.int32),
            bandwidth=np.concatenate([ports.rate, np.full(counts[1] + counts[2], rate)]),
            latency=np.repeat([latency.nic, latency.spine, latency.core], counts),
            wiring=wiring,
        )

    def _describe(self, groups: int) -> str:
        return (
            f"dragonfly; {groups} group{'s' if groups > 1 else ''} of {self.switches} switches; "
            f"{self.ports} ports for NICs a switch; {self.links_of_pair} links a pair of groups"
        )

    def _fits(self, count: Census) -> bool:
        of_rail, rails = leaves_needed(count, self.placement, self.ports)
        return of_rail * rails <= self.switches * self.groups

    def _too_small(self, count: Census) -> Infeasible:
        low, high = 0, count.nodes
        while low < high:
            middle = (low + high + 1) // 2
            fits = self._fits(replace(count, nodes=middle))
            low, high = (middle, high) if fits else (low, middle - 1)
        nics = f"{count.nics} NIC{'s' if count.nics > 1 else ''}"
        return Infeasible(
            f"fabric {self.name} cannot hold {count.nodes:,} nodes",
            why=f"the largest that it can hold is {low:,} nodes of {nics}",
            remedy="take fewer nodes, more groups, or another fabric",
        )
