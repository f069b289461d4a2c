"""What nvidia-smi would print of a design: read off its description, no graph built."""

from __future__ import annotations

from dataclasses import dataclass, field

from wirespeed.topology.kinds import SmiWord
from wirespeed.topology.node_design import NodeDesign, PcieGroup

Device = str


@dataclass(slots=True)
class DesignWords:
    """Words between the devices (gpu0, nic3) of one node of a design."""

    design: NodeDesign
    _place: dict[Device, tuple[int, PcieGroup]] = field(init=False)
    _edges: dict[tuple[int, int], int] = field(init=False)

    def __post_init__(self) -> None:
        self._place = {}
        for position, group in enumerate(self.design.pcie):
            for kind, numbers in (("gpu", group.gpus), ("nic", group.nics)):
                self._place.update({f"{kind}{n}": (position, group) for n in numbers})
        links = self.design.nvlink
        found = links.pairs(self.design.gpus) if links.style == "mesh" else ()
        self._edges = {(a, b): count for a, b, count in found}

    def links(self, a: int, b: int) -> int:
        """NVLinks bonded between two GPUs, by number."""
        links = self.design.nvlink
        if links.style == "switch":
            return sum(links.links_to(switch) for switch in range(links.switches))
        return self._edges.get((min(a, b), max(a, b)), 0)

    def has(self, device: Device) -> bool:
        """Whether the device stands in the PCIe tree."""
        return device in self._place

    def group(self, device: Device) -> PcieGroup | None:
        """The PCIe group of a device."""
        found = self._place.get(device)
        return None if found is None else found[1]

    def numa(self, device: Device) -> int | None:
        """The NUMA node of a device."""
        homes = self.design.host_link.numa
        if device.startswith("gpu") and homes and int(device[3:]) < len(homes):
            return homes[int(device[3:])]
        group = self.group(device)
        return None if group is None else group.numa

    def _is_coherent(self, *devices: Device) -> bool:
        """Whether one of them is a GPU with a link of its own to the CPU, which is shorter."""
        return self.design.host_link.kind != "none" and any(d.startswith("gpu") for d in devices)

    def word(self, a: Device, b: Device) -> SmiWord | None:
        """The distance of two devices over PCIe; None where one is not in the tree."""
        if a not in self._place or b not in self._place:
            return None
        (here, one), (there, other) = self._place[a], self._place[b]
        if here == there and one.levels:
            return SmiWord.PIX if one.levels == 1 else SmiWord.PXB
        if one.upper >= 0 and one.upper == other.upper and (here != there or not one.levels):
            return SmiWord.PXB if one.levels or other.levels else SmiWord.PIX
        if here != there and self._is_coherent(a, b):
            return SmiWord.SYS
        if here == there or (one.root >= 0 and one.root == other.root):
            return SmiWord.PHB
        # Host bridges of a CPU with coherent links are PCIe domains of their own.
        apart = one.numa != other.numa or self.design.host_link.kind != "none"
        return SmiWord.SYS if apart else SmiWord.NODE
