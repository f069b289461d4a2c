"""machines_of_xml: the graph that a topology XML of NCCL or RCCL describes.

Each `cpu` is a NUMA node, each device directly below it has a host bridge of its own (the file does
not tell host bridges apart), bridges are PCIe switches. Rates are the hardware's, not NCCL's. A GPU
or NIC of which the file only states the PCI class is there too, without links between GPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from wirespeed.evidence import Evidence
from wirespeed.evidence._types import Value
from wirespeed.inventory.from_xml_build import HostBuilder
from wirespeed.inventory.from_xml_facts import HostFacts, Link, Notes, whole
from wirespeed.inventory.from_xml_ids import cpu_names, gpu_by_id, gpu_row, gpus_by_architecture
from wirespeed.inventory.from_xml_links import GpuJoiner
from wirespeed.topology.machine import Basis, Machine
from wirespeed.topology.software import Abilities, Notice
from wirespeed.topology.unit import Unit, UnitBuilder

_PREFIX = re.compile(r"(?:node(\d+)/)?(.*)", re.DOTALL)
_SWITCH = "0x0680"
_ACCELERATOR = "0x0302"
_BUS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]")


@dataclass(frozen=True, slots=True, eq=False)
class XmlMachine:
    """One machine of a file, with all that the graph does not say.

    Attributes:
        unit: the node; or the rack, where several hosts share NVSwitches.
        nodes: how many nodes of the file look like this, the rack's own included.
        gpu: the catalog's key; empty where the file names a part that the catalog has not, or none.
        gpu_read: True where a PCI id says it, False where it is the likeliest of its architecture.
        gpu_alternatives: other parts of that architecture with as many links.
        library: nccl or rccl. network: what the NICs speak. socket: no NIC has RDMA.
        gdr: whether GPUs and NICs say that they do GPUDirect; None where nothing is said.
        displays: whether some GPU is a display controller (VGA), or none says what it is.
        bus_ids: PCI bus id by component.
        complete: False for a skeleton that NCCL completes itself: GPUs without names or links.
        notices: what was assumed; oddities: what looks wrong on the machine.
    """

    unit: Unit
    nodes: int
    gpu: str
    gpu_read: bool
    gpu_alternatives: tuple[str, ...]
    library: str
    network: str
    socket: bool
    gdr: bool | None
    cpu_vendor: str
    cpu_model: str
    displays: bool
    bus_ids: Mapping[int, str]
    complete: bool
    notices: tuple[Notice, ...]
    oddities: tuple[Notice, ...]

    def as_machine(self, name: str) -> Machine:
        """The machine as it stands, nothing completed from presets; its GPU may be unknown ("")."""
        return Machine(
            name=name,
            unit=self.unit,
            gpu=self.gpu,
            library=self.library,
            network="socket" if self.socket else self.network,
            cpu_vendor=self.cpu_vendor,
            basis=Basis("read" if self.gpu_read else "preset", "", self.gpu_alternatives),
            abilities=Abilities(gdr=self.gdr is not False, socket=self.socket),
            warnings=self.notices,
            oddities=self.oddities,
        )


def machines_of_xml(evidence: Evidence) -> tuple[XmlMachine, ...]:
    """The machines of a topology file, equal ones once, in the order of the file."""
    hosts = list(_hosts(evidence))
    library = str(evidence.value("system", "library") or "nccl")
    if len(hosts) > 1 and any(_is_far(link) for host in hosts for link in host.links):
        return (_machine(hosts, library, evidence.file),)
    found: list[XmlMachine] = []
    for host in hosts:
        machine = _machine([host], library, evidence.file)
        for at, other in enumerate(found):
            if _same(machine.unit, other.unit):
                found[at] = replace(other, nodes=other.nodes + 1)
                break
        else:
            found.append(machine)
    return tuple(found)


def _is_far(link: Link) -> bool:
    """Whether it ends on switches outside of the host: racks name them by no bus id."""
    return link.target_class.startswith(_SWITCH) and not _BUS.fullmatch(link.target)


def _hosts(evidence: Evidence) -> Iterator[HostFacts]:
    """The facts of each host by subject, without the host's name."""
    tables: dict[str, dict[str, dict[str, Value]]] = {}
    for fact in evidence.facts:
        match = _PREFIX.fullmatch(fact.subject)
        node, subject = (match[1] or "", match[2]) if match else ("", fact.subject)
        if subject != "system":
            subject = subject.replace(f">node{node}/", ">") if node else subject
            of_host = tables.setdefault(node, {}).setdefault(subject, {})
            value = fact.value
            if node and isinstance(value, str):
                value = value.removeprefix(f"node{node}/")
            of_host.setdefault(fact.attribute, value)
    for table in tables.values():
        yield HostFacts.of(table)


def _machine(hosts: list[HostFacts], library: str, file: str) -> XmlMachine:
    notices, oddities = Notes(), Notes()
    gpu, read, alternatives = _gpu(hosts, notices)
    row = gpu_row(gpu)
    builder = UnitBuilder(file, nodes=len(hosts))
    joiner = GpuJoiner(builder, gpu, row, -1 if len(hosts) > 1 else 0, notices, oddities)
    parts = [
        HostBuilder(builder, host, node, gpu, row, notices, oddities)
        for node, host in enumerate(hosts)
    ]
    for part in parts:
        part.build()
    for part in parts:
        joiner.join(part)
    joiner.join_switches()
    first = hosts[0].cpus[0] if hosts[0].cpus else {}
    vendor, model, _ = cpu_names(
        str(first.get("arch", "")),
        str(first.get("vendor", "")),
        whole(first.get("family")),
        whole(first.get("model_id")),
    )
    nics = [nic for host in hosts for nic in host.nics.values()]
    networks = [word for part in parts for word in part.networks]
    return XmlMachine(
        unit=builder.build(),
        nodes=len(hosts),
        gpu=row.key if row else "",
        gpu_read=read,
        gpu_alternatives=alternatives,
        library="rccl" if row is not None and row.vendor == "AMD" else library,
        network=max(networks, key=networks.count, default="infiniband"),
        socket=bool(nics) and all(nic.get("gdr") is False and _is_host_nic(nic) for nic in nics),
        gdr=_gdr(hosts),
        cpu_vendor=vendor,
        cpu_model=model,
        displays=not _are_accelerators(hosts),
        bus_ids={c: bus for part in parts for c, bus in part.bus_ids.items()} | joiner.bus_ids,
        complete=all(host.gpus for host in hosts),
        notices=notices.notices(),
        oddities=oddities.notices(),
    )


def _are_accelerators(hosts: list[HostFacts]) -> bool:
    """Whether every GPU calls itself a 3D controller, without a display, as no GeForce does."""
    classes = [
        str(host.pcis.get(bus, {}).get("class", "")) for host in hosts for bus in host.gpu_buses()
    ]
    return bool(classes) and all(class_.startswith(_ACCELERATOR) for class_ in classes)


def _is_host_nic(nic: Mapping[str, Value]) -> bool:
    return str(nic.get("name", "")).startswith(("eth", "en", "bond", "br"))


def _gdr(hosts: list[HostFacts]) -> bool | None:
    """Whether some GPU and some NIC say that they do GPUDirect."""
    gpus = [gpu["gdr"] for host in hosts for gpu in host.gpus.values() if "gdr" in gpu]
    nics = [nic["gdr"] for host in hosts for nic in host.nics.values() if "gdr" in nic]
    if not gpus and not nics:
        return None
    return (any(gpus) or not gpus) and (any(nics) or not nics)


def _gpu(hosts: list[HostFacts], notices: Notes) -> tuple[str, bool, tuple[str, ...]]:
    """(name, whether a PCI id says it, others that fit)."""
    name, read, others = _find_gpu(hosts)
    if not name:
        notices.add("gpu-unknown", "the file does not say which GPU this is")
    elif not read:
        text = f"the file names no GPU; {name} has its architecture and its links"
        notices.add("gpu-assumed", text)
    if name and gpu_row(name) is None:
        notices.add("gpu-not-in-catalog", f"{name} is not in the catalog")
    return name, read, others


def _find_gpu(hosts: list[HostFacts]) -> tuple[str, bool, tuple[str, ...]]:
    for host in hosts:
        for bus in host.gpu_buses():
            pci = host.pcis.get(bus, {})
            if name := gpu_by_id(str(pci.get("vendor", "")), str(pci.get("device", ""))):
                return name, True, ()
    for host in hosts:
        for subject, gpu in host.gpus.items():
            links = sum(link.count for link in host.links if link.gpu == subject)
            fitting = gpus_by_architecture(whole(gpu.get("sm"), -1), str(gpu.get("gcn", "")), links)
            if fitting:
                return fitting[0], False, fitting[1:]
    return "", False, ()


def _same(a: Unit, b: Unit) -> bool:
    """Whether two units are built alike, labels aside."""
    columns = ("kind", "index", "numa", "rail", "rate", "source", "target", "link_kind", "lanes")
    return a.models == b.models and all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in (*columns, "bandwidth")
    )
