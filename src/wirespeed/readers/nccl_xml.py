"""NCCL's and RCCL's topology XML (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE): one host or several.

Facts, in the order of the file; where it holds several hosts, subjects begin with `node0/`:

| subject | attributes |
|---|---|
| `system` | version, library (nccl or rccl), hosts |
| `cpu0` | numa, affinity, arch, vendor, family, model_id, host_hash |
| `pci 0000:1b:00.0` | parent, class, link_speed and link_width (as written), link_GTps, lanes, |
| | nccl_GBps, vendor, device, subsystem_vendor, subsystem_device |
| `gpu0` | index, bus_id, sm or compute_units, rank, gdr, gcn, c2c_links, c2c_MBps |
| `gpu0>pci 0000:1c:00.0` | nvlink or xgmi (links), target_class |
| `nic0` | index, name, parent, dev, speed_Mbps (as written), rate_Gbps, port, latency_us, |
| | guid, maxconn, gdr, coll, keep, rail, plane |
| `pci …>pci …` | pcilink |

`link_GTps` is what the hardware does, `nccl_GBps` what NCCL takes it for. A `gpu` without `dev` is
numbered behind the others; so is a `net`, which NCCL then does not use.

Remarks: `not-well-formed`, `not-closed`, `not-opened`, `tag-cut`, `ampersand` (what was mended);
`unknown-element`, `value-unclear`, `no-busid` (left out); `no-rank`, `no-dev`, `no-arch` (what NCCL
ignores or refuses); `speed-misread`, `speed-unknown`, `width-unknown`, `net-speed` (what it takes
for something else); `self-link`, `twice` (an element that is there again).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Fact, Remark
from wirespeed.readers._format import Format
from wirespeed.readers.nccl_xml_text import KNOWN, Element, parse
from wirespeed.readers.nccl_xml_values import (
    bus_id,
    decimal,
    is_misread,
    lane_rate,
    lanes,
    nccl_pcie_GBps,
    net_rate,
    number,
)

NAME = "nccl-xml"

_SIGN = re.compile(r"<(?:cpu\s[^<>]*numaid|pci\s[^<>]*busid|system\s[^<>]*version)\s*=")
_CPU_NUMBERS = {"familyid": "family", "modelid": "model_id"}
_PCI_WORDS = ("vendor", "device", "subsystem_vendor", "subsystem_device")
_NET_NUMBERS = ("port", "maxconn", "keep", "coll", "rail", "plane")


def sniff(text: str) -> float:
    """1 where an element of the format stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of a topology file; raises InputError where it holds no device at all."""
    root, remarks = parse(text, file)
    hosts = _hosts(_systems(root))
    reading = _Reading(rccl=_is_rccl(root))
    found = False
    for index, elements in enumerate(hosts):
        host = _Host(reading, f"node{index}/" if len(hosts) > 1 else "", elements)
        _read_host(host)
        found |= any(name.startswith(("pci", "nic")) for name in host.names)
    if not found:
        raise InputError(
            "there is no device in this topology",
            where=file,
            why="no <pci> and no <net> could be read",
            remedy="set NCCL_TOPO_DUMP_FILE=topology.xml and run any NCCL program",
        )
    head = _head(root, reading.rccl, len(hosts))
    return Evidence(NAME, file, (*head, *reading.facts), (*remarks, *reading.noted()))


def _head(root: Element, rccl: bool, hosts: int) -> list[Fact]:
    systems = _systems(root)
    line = systems[0].line
    facts = [Fact("system", "library", "rccl" if rccl else "nccl", line)]
    version = number(systems[0].attributes.get("version", ""))
    if version is not None:
        facts.append(Fact("system", "version", version, line))
    facts.append(Fact("system", "hosts", hosts, line))
    return facts


def _is_rccl(root: Element) -> bool:
    pending = [root]
    while pending:
        element = pending.pop()
        if element.name == "xgmi" or "gcn" in element.attributes:
            return True
        pending += element.children
    return any(system.attributes.get("version") == "2" for system in _systems(root))


def _systems(root: Element) -> list[Element]:
    """All `system` elements; what stands outside of one is a system of its own."""
    if root.name == "system":
        return [root]
    systems = [child for child in root.children if child.name == "system"]
    if root.name in KNOWN:
        return [Element("system", {}, root.line, [root])]
    loose = [child for child in root.children if child.name in KNOWN and child.name != "system"]
    if loose or not systems:
        systems.append(Element("system", {}, root.line, loose))
    return systems


def _hosts(systems: list[Element]) -> list[list[Element]]:
    """The CPUs (or loose devices) of each host, told apart by system and `host_hash`."""
    hosts: dict[tuple[int, str], list[Element]] = {}
    for at, system in enumerate(systems):
        key = (at, "")
        for child in system.children:
            for element in child.children if child.name == "system" else [child]:
                if element.name == "cpu":
                    key = (at, element.attributes.get("host_hash", ""))
                hosts.setdefault(key, []).append(element)
    return list(hosts.values()) or [[]]


@dataclass(slots=True)
class _Reading:
    """Facts so far, and remarks by what they say, with the lines that they are about."""

    rccl: bool
    facts: list[Fact] = field(default_factory=list)
    notes: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def note(self, code: str, text: str, line: int) -> None:
        self.notes.setdefault((code, text), []).append(line)

    def noted(self) -> list[Remark]:
        remarks = []
        for (code, text), where in self.notes.items():
            more = f" ({len(where)} times)" if len(where) > 1 else ""
            remarks.append(Remark(code, text + more, where[0]))
        return remarks


@dataclass(slots=True)
class _Host:
    """One host in the making: names that are taken, devices that still need one."""

    reading: _Reading
    prefix: str
    elements: list[Element]
    names: set[str] = field(default_factory=set)
    waiting: list[tuple[str, Element, str]] = field(default_factory=list)
    """(kind, element, parent) of GPUs and nets without a usable number."""

    def state(
        self, subject: str, attribute: str, value: str | int | float | bool, line: int
    ) -> None:
        self.reading.facts.append(Fact(self.prefix + subject, attribute, value, line))

    def take(self, kind: str, wanted: int | None) -> str:
        """The wanted name of that kind, or the next free one."""
        index = wanted if wanted is not None and wanted >= 0 else 0
        while f"{kind}{index}" in self.names:
            index += 1
        self.names.add(f"{kind}{index}")
        return f"{kind}{index}"


def _read_host(host: _Host) -> None:
    for element in host.elements:
        if element.name == "cpu":
            _read_cpu(host, element)
        else:
            _read_child(host, element, "")
    for kind, element, parent in host.waiting:
        _READERS[kind](host, element, parent, host.take(kind, None))


def _read_cpu(host: _Host, cpu: Element) -> None:
    numa = number(cpu.attributes.get("numaid", ""))
    name = host.take("cpu", numa)
    if numa is None:
        fact = Fact(host.prefix + name, "numa", -1, cpu.line, inferred=True)
    else:
        fact = Fact(host.prefix + name, "numa", numa, cpu.line)
    host.reading.facts.append(fact)
    for attribute in ("affinity", "arch", "vendor", "host_hash"):
        if value := cpu.attributes.get(attribute, ""):
            host.state(name, attribute, value[:255], cpu.line)
    for attribute, ours in _CPU_NUMBERS.items():
        _state_number(host, name, ours, cpu, attribute)
    if not cpu.attributes.get("arch"):
        host.reading.note("no-arch", "a cpu without arch: NCCL completes it, or fails", cpu.line)
    for child in cpu.children:
        _read_child(host, child, name)


def _read_child(host: _Host, element: Element, parent: str) -> None:
    match element.name:
        case "pci":
            _read_pci(host, element, parent)
        case "nic":
            for child in element.children:
                _read_child(host, child, parent)
        case "gpu" | "net":
            _place_device(host, element, parent)
        case "pcilink":
            if target := element.attributes.get("target", ""):
                pair = f"{parent}>{host.prefix}pci {bus_id(target)}"
                host.state(pair, "pcilink", True, element.line)
        case name if name not in ("gin", "rma", "cpu", "system"):
            host.reading.note("unknown-element", f"<{name[:40]}> is not read", element.line)
        case "cpu":
            _read_cpu(host, element)
        case _:
            pass


def _read_pci(host: _Host, pci: Element, parent: str) -> None:
    written = pci.attributes.get("busid", "").strip()
    if not written:
        host.reading.note("no-busid", "a pci without busid is left out", pci.line)
        return
    name = f"pci {bus_id(written)}"
    if name in host.names:
        host.reading.note("twice", f"{name} is there again; the first one counts", pci.line)
        return
    host.names.add(name)
    if parent:
        host.state(name, "parent", host.prefix + parent, pci.line)
    if class_ := pci.attributes.get("class", "").strip().lower():
        host.state(name, "class", class_[:16], pci.line)
    _state_link(host, name, pci)
    for word in _PCI_WORDS:
        if value := pci.attributes.get(word, "").strip().lower():
            host.state(name, word, value[:16], pci.line)
    for child in pci.children:
        _read_child(host, child, name)


def _state_link(host: _Host, name: str, pci: Element) -> None:
    """The PCIe link of a device: as written, as the hardware does it, as NCCL takes it."""
    speed, width = (pci.attributes.get(key, "") for key in ("link_speed", "link_width"))
    note = host.reading.note
    if "link_speed" in pci.attributes:
        host.state(name, "link_speed", speed[:32], pci.line)
    rate = lane_rate(speed)
    if rate is not None:
        host.state(name, "link_GTps", rate, pci.line)
        if is_misread(speed):
            text = f"NCCL does not know {speed[:32]!r} and takes it for 8 GT/s (Gen3)"
            note("speed-misread", text, pci.line)
    elif "link_speed" in pci.attributes:
        text = f"link_speed {speed[:32]!r} says nothing; NCCL takes it for 8 GT/s (Gen3)"
        note("speed-unknown", text, pci.line)
    stated = number(width)
    if stated is not None:
        host.state(name, "link_width", stated, pci.line)
    if "link_width" in pci.attributes and (stated is None or stated <= 0):
        note("width-unknown", f"link_width {width[:16]!r} counts as 16 lanes", pci.line)
    if "link_speed" in pci.attributes or "link_width" in pci.attributes:
        host.state(name, "lanes", lanes(width), pci.line)
        host.state(name, "nccl_GBps", nccl_pcie_GBps(speed, width), pci.line)


def _place_device(host: _Host, element: Element, parent: str) -> None:
    """Names a GPU or a net after its `dev`; those without one follow when all others are named."""
    kind = "gpu" if element.name == "gpu" else "nic"
    dev = number(element.attributes.get("dev", ""))
    if dev is None or dev < 0 or f"{kind}{dev}" in host.names:
        host.waiting.append((kind, element, parent))
        return
    _READERS[kind](host, element, parent, host.take(kind, dev))


def _read_gpu(host: _Host, gpu: Element, parent: str, name: str) -> None:
    line, given = gpu.line, gpu.attributes
    host.state(name, "index", int(name.removeprefix("gpu")), line)
    if parent.startswith("pci "):
        host.state(name, "bus_id", parent.removeprefix("pci "), line)
    _state_number(host, name, "compute_units" if host.reading.rccl else "sm", gpu, "sm")
    _state_number(host, name, "rank", gpu, "rank")
    _state_flag(host, name, "gdr", gpu)
    if gcn := given.get("gcn", "").strip().lower():
        host.state(name, "gcn", gcn[:16] if gcn.startswith("gfx") else f"gfx{gcn[:13]}", line)
    if not given.get("rank"):
        host.reading.note("no-rank", "a gpu without rank: NCCL leaves it out", line)
    for link in gpu.children:
        if link.name in ("nvlink", "xgmi"):
            _read_link(host, link, name, parent)
        elif link.name == "c2c":
            _state_number(host, name, "c2c_links", link, "count")
            _state_number(host, name, "c2c_MBps", link, "bw")
        else:
            host.reading.note("unknown-element", f"<{link.name[:40]}> is not read", link.line)


def _read_link(host: _Host, link: Element, gpu: str, parent: str) -> None:
    target = bus_id(link.attributes.get("target", ""))
    count = number(link.attributes.get("count", ""))
    if not target or count is None or not 0 < count < 1000:
        text = f"a {link.name} without a target or a count of links is left out"
        host.reading.note("value-unclear", text, link.line)
        return
    if f"pci {target}" == parent:
        text = f"{link.name} from a GPU to itself: the other end is not known"
        host.reading.note("self-link", text, link.line)
    pair = f"{gpu}>{host.prefix}pci {target}"
    host.state(pair, link.name, count, link.line)
    if class_ := link.attributes.get("tclass", "").strip().lower():
        host.state(pair, "target_class", class_[:16], link.line)


def _read_net(host: _Host, net: Element, parent: str, name: str) -> None:
    line, given = net.line, net.attributes
    host.state(name, "index", int(name.removeprefix("nic")), line)
    if label := given.get("name", "").strip():
        host.state(name, "name", label[:255], line)
    if parent:
        host.state(name, "parent", host.prefix + parent, line)
    if number(given.get("dev", "")) is None:
        host.reading.note("no-dev", "a net without dev: NCCL does not use it", line)
    else:
        _state_number(host, name, "dev", net, "dev")
    _state_speed(host, name, net)
    for attribute in _NET_NUMBERS:
        _state_number(host, name, attribute, net, attribute)
    if (latency := decimal(given.get("latency", ""))) is not None:
        host.state(name, "latency_us", latency, line)
    if guid := given.get("guid", "").strip().lower():
        host.state(name, "guid", guid[:32], line)
    _state_flag(host, name, "gdr", net)


def _state_speed(host: _Host, name: str, net: Element) -> None:
    speed = number(net.attributes.get("speed", ""))
    if speed is None:
        return
    rate, plausible = net_rate(speed)
    host.state(name, "speed_Mbps", speed, net.line)
    host.state(name, "rate_Gbps", rate, net.line)
    if not plausible:
        text = f"a port of {speed} Mb/s cannot be; {rate:g} Gb/s is taken"
        host.reading.note("net-speed", text, net.line)


def _state_number(host: _Host, name: str, ours: str, element: Element, attribute: str) -> None:
    written = element.attributes.get(attribute, "")
    if not written:
        return
    value = number(written)
    if value is None:
        text = f"{attribute}={written[:32]!r} is no number"
        host.reading.note("value-unclear", text, element.line)
        return
    host.state(name, ours, value, element.line)


def _state_flag(host: _Host, name: str, attribute: str, element: Element) -> None:
    value = number(element.attributes.get(attribute, ""))
    if value is not None:
        host.state(name, attribute, value != 0, element.line)


_READERS: dict[str, Callable[[_Host, Element, str, str], None]] = {
    "gpu": _read_gpu,
    "nic": _read_net,
}

FORMAT = Format(NAME, "a topology XML of NCCL or RCCL (NCCL_TOPO_DUMP_FILE)", sniff, read)
