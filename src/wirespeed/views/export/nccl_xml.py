"""nccl_xml: a machine as the topology file that NCCL and RCCL read (NCCL_TOPO_FILE)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

import numpy as np

from wirespeed.catalog import nic, pcie_generations
from wirespeed.errors import Infeasible, UnknownName
from wirespeed.inventory.from_xml_ids import cpu_ids, gcn_of, gpu_row, ids_of_gpu, ids_of_nic
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.unit import Unit

_BUS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")
_DISPLAY_CLASS = ("MI50", "MI60", "MI100", "MI250X")
"""AMD's older parts call themselves display controllers."""
_NETWORK_CLASS = {"infiniband": "0x020700"}
_SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0", 7: "128.0"}
_NO_PCIE_RATE = 0.03
"""A link that is so far from every PCIe rate is none: a NIC inside a virtual machine."""


def nccl_xml(
    unit: Unit,
    *,
    library: str = "nccl",
    network: str = "infiniband",
    gdr: bool = True,
    bus_ids: Mapping[int, str] | None = None,
) -> str:
    """The topology XML of a node or rack, every node of it a host.

    Bus ids come from `bus_ids` (by component) and from labels that are some; the rest are counted
    up. `network` is infiniband, ethernet, efa, slingshot or socket. NICs with one bus id are ports
    of one card. Host bridges, the rate of links between CPUs and trunks between NVSwitches have no
    place in the format, nor have PCIe links at another rate than a generation's; a compute NIC's
    number is its rail.
    Raises Infeasible where no device is known.
    """
    if not any((unit.kind == kind).any() for kind in (ComponentKind.GPU, ComponentKind.NIC)):
        raise Infeasible(
            f"{unit.name} has no device to write down",
            why="neither a GPU nor a NIC of it is known",
            remedy="read it together with the output of nvidia-smi topo -m",
        )
    writer = _Writer(unit, library, network, gdr, dict(bus_ids or {}))
    return "\n".join([*writer.lines(), ""])


@dataclass(slots=True)
class _Writer:
    unit: Unit
    library: str
    network: str
    gdr: bool
    bus: dict[int, str]
    _links: dict[int, list[int]] = field(init=False)
    """Links out of each component."""

    def __post_init__(self) -> None:
        self._links = {}
        for link, source in enumerate(self.unit.source.tolist()):
            self._links.setdefault(source, []).append(link)
        for node in range(-1, self.unit.nodes):
            self._number(node)

    def _number(self, node: int) -> None:
        """Gives bus ids to what has none, in the order of the components."""
        unit = self.unit
        mine = [c for c in range(unit.components) if unit.node[c] == node]
        with_bus = (
            ComponentKind.GPU,
            ComponentKind.NIC,
            ComponentKind.PCIE,
            ComponentKind.NVSWITCH,
        )
        for c in mine:
            label = unit.labels.get(c, "")
            if _BUS.fullmatch(label):
                self.bus.setdefault(c, label)
        taken = {self.bus[c] for c in mine if c in self.bus}
        # NVSwitches of a rack are on no host's bus; a name that is no bus id says so.
        shape = "fffffff:ffff:{low:02x}" if node < 0 else "{high:04x}:{low:02x}:00.0"
        free = (
            name
            for count in range(1, 1 << 16)
            if (name := shape.format(high=count >> 8, low=count & 255)) not in taken
        )
        for c in mine:
            if unit.kind[c] in with_bus and c not in self.bus:
                self.bus[c] = next(free)

    def lines(self) -> Iterator[str]:
        version = 2 if self.library == "rccl" else 1
        yield f'<system version="{version}">'
        for cpu in self.unit.of_kind(ComponentKind.CPU).tolist():
            yield from self._cpu(cpu)
        yield "</system>"

    def _cpu(self, cpu: int) -> Iterator[str]:
        unit = self.unit
        model = unit.models[unit.model[cpu]] if unit.model[cpu] >= 0 else ""
        arch, vendor, family, number = cpu_ids(model)
        attributes: dict[str, object] = {}
        if unit.nodes > 1:
            attributes["host_hash"] = f"0x{unit.node[cpu] + 1:016x}"
        attributes |= {"numaid": unit.numa[cpu], "arch": arch, "vendor": vendor}
        attributes |= {"familyid": family, "modelid": number}
        inside = [line for root in self._roots(cpu) for line in self._below(root, root, 4)]
        inside += self._without_pcie(cpu)
        yield from _element("cpu", attributes, inside, 2)

    def _roots(self, cpu: int) -> Iterable[int]:
        ends = (int(self.unit.target[link]) for link in self._of(cpu, LinkKind.ROOT))
        return sorted(ends)

    def _of(self, component: int, *kinds: LinkKind) -> list[int]:
        links = self._links.get(component, ())
        return [link for link in links if self.unit.link_kind[link] in kinds]

    def _below(self, here: int, above: int, indent: int) -> Iterator[str]:
        """Everything below a host bridge or switch; NICs with one bus id together."""
        unit = self.unit
        cards: dict[str, list[tuple[int, int]]] = {}
        for link in self._of(here, LinkKind.PCIE):
            there = int(unit.target[link])
            if there == above or unit.kind[there] == ComponentKind.ROOT:
                continue
            match ComponentKind(unit.kind[there]):
                case ComponentKind.NIC:
                    cards.setdefault(self.bus[there], []).append((there, link))
                case ComponentKind.GPU:
                    yield from self._gpu(there, link, indent)
                case _:
                    inside = list(self._below(there, here, indent + 2))
                    yield from _element("pci", self._bridge(there, link), inside, indent)
        for bus, ports in cards.items():
            yield from self._card(bus, ports, unit.kind[here] == ComponentKind.ROOT, indent)

    def _bridge(self, switch: int, link: int) -> dict[str, object]:
        model = self.unit.models[self.unit.model[switch]] if self.unit.model[switch] >= 0 else ""
        vendor, _, device = model.partition(":") if model.startswith("0x") else ("", "", "")
        return self._pci(self.bus[switch], "0x060400", vendor, device) | self._speed(link)

    @staticmethod
    def _pci(bus: str, class_: str, vendor: str, device: str) -> dict[str, object]:
        attributes: dict[str, object] = {"busid": bus, "class": class_}
        if vendor:
            attributes |= {"vendor": vendor, "device": device}
        return attributes

    def _speed(self, *links: int) -> dict[str, object]:
        """The attributes of the PCIe link that these links share, nearest in rate."""
        unit = self.unit
        lanes, width = max(1, int(unit.lanes[links[0]])), float(unit.bandwidth[links[0]])
        # Ports that want more than one of these links have a part each of one slot.
        if sum(float(unit.rate[unit.target[link]]) for link in links) > width:
            width = sum(float(unit.bandwidth[link]) for link in links)
        nearest = min(pcie_generations(), key=lambda row: abs(row.bandwidth(lanes) - width))
        return {"link_speed": f"{_SPEEDS[nearest.generation]} GT/s PCIe", "link_width": lanes}

    def _is_pcie_rate(self, link: int) -> bool:
        lanes, width = max(1, int(self.unit.lanes[link])), float(self.unit.bandwidth[link])
        rates = (row.bandwidth(lanes) for row in pcie_generations())
        return any(abs(rate / width - 1) < _NO_PCIE_RATE for rate in rates if width)

    def _gpu(self, gpu: int, link: int | None, indent: int) -> Iterator[str]:
        unit = self.unit
        model = unit.models[unit.model[gpu]] if unit.model[gpu] >= 0 else ""
        row = gpu_row(model)
        attributes = self._pci(self.bus[gpu], self._gpu_class(model), *ids_of_gpu(model))
        if link is not None:
            attributes |= self._speed(link)
        given: dict[str, object] = {"dev": unit.index[gpu]}
        if self.library == "rccl":
            units = (row.sm_count or 0) // row.devices if row else 0
            given |= {"sm": units, "gcn": gcn_of(model)}
        else:
            given["sm"] = (row.cc if row else None) or 0
        given |= {"rank": self._rank(gpu), "gdr": int(self.gdr)}
        ends = _element("gpu", given, self._ends(gpu, model, indent + 4), indent + 2)
        yield from _element("pci", attributes, ends, indent)

    def _rank(self, gpu: int) -> int:
        return int(np.searchsorted(self.unit.of_kind(ComponentKind.GPU), gpu))

    def _gpu_class(self, model: str) -> str:
        if self.library != "rccl":
            return "0x030200"
        return "0x038000" if model in _DISPLAY_CLASS else "0x120000"

    def _ends(self, gpu: int, model: str, indent: int) -> Iterator[str]:
        """The links of a GPU beside PCIe."""
        unit = self.unit
        for link in self._of(gpu, LinkKind.NVLINK, LinkKind.XGMI):
            target = int(unit.target[link])
            to_switch = unit.kind[target] == ComponentKind.NVSWITCH
            class_ = "0x068000" if to_switch else self._gpu_class(model)
            name = "xgmi" if unit.link_kind[link] == LinkKind.XGMI else "nvlink"
            end = {"target": self.bus[target], "count": unit.lanes[link], "tclass": class_}
            yield from _element(name, end, (), indent)
        for link in self._of(gpu, LinkKind.C2C):
            count = int(unit.lanes[link])
            end = {"bw": round(float(unit.bandwidth[link]) / 1e6 / count), "count": count}
            yield from _element("c2c", end, (), indent)

    def _card(
        self, bus: str, ports: list[tuple[int, int]], at_root: bool, indent: int
    ) -> Iterator[str]:
        """A card with its ports; one that is on no PCIe link stands below the CPU itself."""
        nics = [port for port, _ in ports]
        links = [link for _, link in ports]
        inner = 0 if self._is_virtual(links, at_root) else 2
        nets = [line for n, nic_ in enumerate(nics) for line in self._net(nic_, n, indent + inner)]
        card = list(_element("nic", {}, nets, indent + inner))
        if not inner:
            yield from card
            return
        model = self.unit.models[self.unit.model[nics[0]]] if self.unit.model[nics[0]] >= 0 else ""
        vendor, device = _adapter_ids(model, self.network)
        class_ = _NETWORK_CLASS.get(self.network, "0x020000")
        attributes = self._pci(bus, class_, vendor, device) | self._speed(*links)
        yield from _element("pci", attributes, card, indent)

    def _is_virtual(self, links: list[int], at_root: bool) -> bool:
        one = len(links) == 1 and self.unit.lanes[links[0]] == 1
        return at_root and one and not self._is_pcie_rate(links[0])

    def _net(self, nic_: int, port: int, indent: int) -> Iterator[str]:
        unit = self.unit
        label = unit.labels.get(nic_, "")
        attributes: dict[str, object] = {
            "name": label if label and not _BUS.fullmatch(label) else self._port_name(nic_)
        }
        if unit.rail[nic_] >= 0:
            attributes["dev"] = unit.rail[nic_]
        attributes |= {
            "speed": round(float(unit.rate[nic_]) * 8 / 1e6),
            "port": port + 1,
            "latency": "0.000000",
            "guid": f"0x{_card_number(self.bus[nic_]):x}",
            "maxconn": 131072,
            "gdr": int(self.gdr and self.network != "socket"),
        }
        yield from _element("net", attributes, (), indent + 2)

    def _port_name(self, nic_: int) -> str:
        """A name of the kind that the driver would give."""
        return f"{'eth' if self.network == 'socket' else 'nic'}{self.unit.index[nic_]}"

    def _without_pcie(self, cpu: int) -> Iterator[str]:
        """GPUs that reach their CPU over C2C alone."""
        for link in self._of(cpu, LinkKind.C2C):
            gpu = int(self.unit.target[link])
            if not self._of(gpu, LinkKind.PCIE):
                yield from self._gpu(gpu, None, 4)


def _element(
    name: str, attributes: Mapping[str, object], inside: Iterable[str], indent: int
) -> Iterator[str]:
    """The lines of an element; `inside` is indented already."""
    head = f"{' ' * indent}<{name}"
    head += "".join(f" {key}={quoteattr(str(value))}" for key, value in attributes.items())
    lines = list(inside)
    if not lines:
        yield f"{head}/>"
        return
    yield f"{head}>"
    yield from lines
    yield f"{' ' * indent}</{name}>"


def _adapter_ids(model: str, network: str) -> tuple[str, str]:
    try:
        key = nic(model).key if model else ""
    except UnknownName:
        key = ""
    if network == "efa":
        return "0x1d0f", "0xefa0"
    return ids_of_nic(key) if key else ("", "")


def _card_number(bus: str) -> int:
    """A number that ports of one card share and no two cards do."""
    return int(re.sub(r"[^0-9a-f]", "", bus) or "0", 16)
