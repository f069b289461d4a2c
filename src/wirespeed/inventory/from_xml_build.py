"""HostBuilder: one host of a topology file, from facts to components and links."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

from wirespeed.catalog import Gpu, cpu_link, hop_latency, nic, pcie
from wirespeed.evidence._types import Value
from wirespeed.inventory.from_xml_facts import HostFacts, Notes, Table, whole
from wirespeed.inventory.from_xml_ids import (
    EMULATED_BRIDGES,
    cpu_names,
    network_of,
    nic_by_id,
)
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.unit import UnitBuilder
from wirespeed.units import GB, US, gbps

_NIC_CLASS = "0x02"
_DEFAULT_GENERATION = 3
"""NCCL's, where nothing is known of a link."""
_DEFAULT_NIC_GBPS = 100.0
"""NCCL's reference port."""
_ON_DIE = 400 * GB
"""Between NUMA nodes of which the CPU is not known: wide enough not to be the narrowest."""
_DEVICE_TO_ROOT_US = 0.5
_SLOW = 0.45
"""Share of what is below a bridge, under which its uplink looks wrong."""


@dataclass(slots=True)
class HostBuilder:
    """Adds one host to a unit, as its node `node`."""

    builder: UnitBuilder
    host: HostFacts
    node: int
    gpu_name: str
    gpu: Gpu | None
    notices: Notes
    oddities: Notes
    bus_ids: dict[int, str] = field(default_factory=dict)
    networks: list[str] = field(default_factory=list)
    cpus: dict[str, int] = field(default_factory=dict)
    """Component ids by the file's name, and of GPUs by bus id."""
    gpus: dict[str, int] = field(default_factory=dict)
    _ports: dict[str, list[int]] = field(default_factory=dict)
    _rates: dict[int, float] = field(default_factory=dict)
    _switches: set[int] = field(default_factory=set)

    def build(self) -> None:
        """Adds everything, devices in the order of their numbers."""
        self._add_cpus()
        self._add_gpus()
        self._add_nics()
        self._add_trees()

    # CPUs

    def _add_cpus(self) -> None:
        host = self.host
        if not host.cpus:
            host.cpus.append({})
            host.cpu_names.append("")
        named = host.sorted_cpus()
        link = ""
        for position, (name, cpu) in enumerate(named):
            numa = cpu.get("numa")
            words = [str(cpu.get(key, "")) for key in ("arch", "vendor")]
            numbers = [whole(cpu.get(key)) for key in ("family", "model_id")]
            _, model, link = cpu_names(words[0], words[1], numbers[0], numbers[1])
            self.cpus[name] = self.builder.add(
                ComponentKind.CPU,
                node=self.node,
                numa=numa if isinstance(numa, int) and numa >= 0 else position,
                model=model,
            )
        width = (cpu_link(link).bandwidth() if link else None) or _ON_DIE
        for a, b in combinations(self.cpus.values(), 2):
            latency = hop_latency("socket").latency
            self.builder.connect(a, b, LinkKind.CPU, bandwidth=width, latency=latency)

    # Devices

    def _add_gpus(self) -> None:
        for bus in self.host.gpu_buses():
            gpu = self.builder.add(
                ComponentKind.GPU,
                node=self.node,
                numa=self._numa_of(bus),
                model=self.gpu.name if self.gpu else self.gpu_name,
                label=bus,
            )
            self.gpus[bus] = gpu
            self.bus_ids[gpu] = bus

    def _add_nics(self) -> None:
        """Ports that the file names, by number; then cards of which it only states the class."""
        rail = 0
        for name in sorted(self.host.nics, key=lambda name: int(name[3:])):
            facts = self.host.nics[name]
            parent = str(facts.get("parent", ""))
            bus = parent.removeprefix("pci ") if parent.startswith("pci ") else ""
            used = "dev" in facts
            label = str(facts.get("name", "")) or bus
            rate = facts.get("rate_Gbps")
            self._add_nic(parent, bus, label, rate, rail if used else -1)
            rail += used
        for bus, pci in self.host.pcis.items():
            is_nic = str(pci.get("class", "")).startswith(_NIC_CLASS)
            if is_nic and bus not in self._ports and not self.host.below[f"pci {bus}"]:
                self._add_nic(f"pci {bus}", bus, bus, None, rail)
                rail += 1

    def _add_nic(self, parent: str, bus: str, label: str, rate: Value | None, rail: int) -> None:
        pci = self.host.pcis.get(bus, {})
        vendor, device = str(pci.get("vendor", "")), str(pci.get("device", ""))
        key = nic_by_id(vendor, device)
        if not isinstance(rate, int | float):
            rate = nic(key).rate_Gbps if key else _DEFAULT_NIC_GBPS
            text = f"the file does not say how fast {{}} is; {rate:g} Gb/s is assumed"
            self.notices.add("nic-rate-assumed", text, label)
        port = self.builder.add(
            ComponentKind.NIC,
            node=self.node,
            numa=self._numa_of(bus) if bus else self._numa_of_cpu(parent),
            model=nic(key).name if key else "",
            rail=rail,
            rate=gbps(rate),
            label=label,
        )
        self._rates[port] = gbps(rate)
        if bus:
            self.bus_ids[port] = bus
        self._ports.setdefault(bus or parent, []).append(port)
        self.networks.append(network_of(vendor, str(pci.get("class", "")), label))

    def _numa_of(self, bus: str) -> int:
        above = f"pci {bus}"
        for _ in range(64):
            above = str(self.host.pcis.get(above[4:], {}).get("parent", ""))
            if not above.startswith("pci "):
                break
        return self._numa_of_cpu(above)

    def _numa_of_cpu(self, name: str) -> int:
        for position, (other, cpu) in enumerate(self.host.sorted_cpus()):
            if other == name:
                numa = cpu.get("numa")
                return numa if isinstance(numa, int) and numa >= 0 else position
        return -1

    # The PCIe trees

    def _add_trees(self) -> None:
        unplaced = [b for b, pci in self.host.pcis.items() if not pci.get("parent")]
        first = next(iter(self.cpus))
        for name, cpu in self.cpus.items():
            tops = self.host.below[name] if name else []
            for bus in tops + (unplaced if name == first else []):
                if self._leads_to_device(bus):
                    self._below_root(cpu, bus, "")
            for port in self._ports.get(name, []):
                if port not in self.bus_ids:
                    self._below_root(cpu, "", name)

    def _below_root(self, cpu: int, bus: str, ports_of: str) -> None:
        inside = hop_latency("root-complex").latency / 2
        numa = self._numa_of(bus) if bus else self._numa_of_cpu(ports_of)
        root = self.builder.add(ComponentKind.ROOT, node=self.node, numa=numa)
        if bus:
            width = self._attach(bus, root)
        else:
            # A NIC without a PCI device of its own, such as eth0 of a virtual machine.
            ports = self._ports[ports_of]
            width = sum(self._rates[port] for port in ports)
            for port in ports:
                self._connect(port, root, self._rates[port], 1)
        self.builder.connect(root, cpu, LinkKind.ROOT, bandwidth=width, latency=inside)

    def _attach(self, bus: str, above: int) -> float:
        """Adds what is at a bus id below a component; the width of its link up [B/s]."""
        pci = self.host.pcis[bus]
        if bus in self.gpus:
            width, lanes = self._width(bus, self.gpu.pcie_generation if self.gpu else None)
            self._connect(self.gpus[bus], above, width, lanes)
            return width
        if bus in self._ports:
            return self._attach_ports(bus, above)
        switch = self.builder.add(
            ComponentKind.PCIE,
            node=self.node,
            numa=self._numa_of(bus),
            model=_switch_model(pci),
            label=bus,
        )
        if _is_one_switch(self.host.pcis.get(str(pci.get("parent", ""))[4:], {}), pci):
            text = "{}: a lower half of the switch above; newer NCCL counts both as one (PIX)"
            self.notices.add("two-level-switch", text, bus)
        self._switches.add(switch)
        self.bus_ids[switch] = bus
        widths = [
            self._attach(child, switch)
            for child in self.host.below[f"pci {bus}"]
            if self._leads_to_device(child)
        ]
        width, lanes = self._uplink(bus, pci, max(widths))
        self._connect(switch, above, width, lanes)
        return width

    def _attach_ports(self, bus: str, above: int) -> float:
        """The ports of one card share its slot: where it is too narrow, each gets its part."""
        ports = self._ports[bus]
        pci = self.host.pcis[bus]
        key = nic_by_id(str(pci.get("vendor", "")), str(pci.get("device", "")))
        slot, lanes = self._width(bus, None, otherwise=nic(key).pcie_generation if key else None)
        rates = [self._rates[port] for port in ports]
        narrow = sum(rates) > slot
        for port, rate in zip(ports, rates, strict=True):
            width = slot * rate / sum(rates) if narrow and len(ports) > 1 else slot
            self._connect(port, above, width, lanes)
        return slot

    def _uplink(self, bus: str, pci: Table, below: float) -> tuple[float, int]:
        width, lanes = self._width(bus, None)
        ids = str(pci.get("vendor", "")), str(pci.get("device", ""))
        if width >= below * _SLOW:
            return width, lanes
        written = f"{pci.get('link_speed', '')} x{pci.get('lanes', 16)}"
        planned = f"NCCL plans with {pci.get('nccl_GBps', 0):g} GB/s from there to the CPU"
        if ids in EMULATED_BRIDGES:
            text = (
                f"the hypervisor shows {{}} with {written}: {planned}; the devices' rate is taken"
            )
            self.oddities.add("emulated-bridge", text, bus)
            return below, 16
        rates = f"{width / GB:.1f} GB/s above devices of {below / GB:.1f} GB/s"
        self.oddities.add("slow-uplink", f"{{}}: {written} is {rates}; {planned}", bus)
        return width, lanes

    def _leads_to_device(self, bus: str) -> bool:
        if bus in self.gpus or bus in self._ports:
            return True
        children = self.host.below[f"pci {bus}"]
        class_ = str(self.host.pcis[bus].get("class", ""))
        if not children and not class_.startswith(("0x06", "0x08")):
            text = "the file does not say what is at {}: left out"
            self.notices.add("device-unknown", text, bus)
        return any([self._leads_to_device(child) for child in children])

    def _width(
        self, bus: str, best: int | None, *, otherwise: int | None = None
    ) -> tuple[float, int]:
        """Wire rate [B/s] and lanes of the link of a device that can do generation `best`.

        `otherwise` is the generation where the file states none.
        """
        pci = self.host.pcis.get(bus, {})
        lanes, rate = whole(pci.get("lanes")) or 16, pci.get("link_GTps")
        if not isinstance(rate, int | float):
            generation = best or otherwise or _DEFAULT_GENERATION
            text = f"the file states no PCIe speed of {{}}; Gen{generation} is assumed"
            self.notices.add("link-assumed", text, bus)
            return pcie(generation).bandwidth(lanes), lanes
        known = [g for g in range(1, 8) if pcie(g).lane_rate_GTps <= rate * 1.01] or [1]
        generation = min(known[-1], best or known[-1])
        if generation < known[-1]:
            text = f"{{}}: {rate:g} GT/s is more than the device can; Gen{generation} is taken"
            self.notices.add("link-above-device", text, bus)
        return pcie(generation).bandwidth(lanes), lanes

    def _connect(self, low: int, high: int, width: float, lanes: int) -> None:
        latency = self._end(low) + self._end(high)
        self.builder.connect(
            low, high, LinkKind.PCIE, bandwidth=width, lanes=lanes, latency=latency
        )

    def _end(self, component: int) -> float:
        """Latency [s] that this end adds to a PCIe link."""
        if component in self._switches:
            return hop_latency("pcie-switch").latency / 2
        return _DEVICE_TO_ROOT_US * US / 2


def _switch_model(pci: Table) -> str:
    """What the file says of a bridge: vendor and device; empty where it says nothing real."""
    vendor, device = str(pci.get("vendor", "")), str(pci.get("device", ""))
    if vendor in ("", "0x0000", "0xffff"):
        return ""
    return f"{vendor}:{device}"


def _is_one_switch(upper: Table, lower: Table) -> bool:
    """Whether NCCL takes two bridges for the halves of one Broadcom switch.

    Source: the rule by vendor, device and subsystem of NCCL's topology code.
    """
    if any(
        (end.get("vendor"), end.get("subsystem_vendor")) != ("0x1000", "0x1000")
        for end in (upper, lower)
    ):
        return False
    halves = [
        (str(end.get("device")), str(end.get("subsystem_device"))[:3]) for end in (upper, lower)
    ]
    return halves in (
        [("0xc010", "0xa"), ("0xc010", "0xa")],
        [("0xc030", "0x0"), ("0xc030", "0x1")],
    )
