"""NodeDesign: what one node, or one rack of equal nodes, is made of."""

from __future__ import annotations

from itertools import combinations
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Confidence = Literal["spec", "measured", "assumed"]
Status = Literal["shipping", "announced"]
LinkStyle = Literal["none", "mesh", "switch"]
NicRole = Literal["compute", "storage", "frontend"]
NetworkKind = Literal["none", "infiniband", "ethernet", "efa", "slingshot", "tcpx"]
PcieGeneration = Literal[3, 4, 5, 6, 7]
PcieLanes = Literal[1, 2, 4, 8, 16, 32]

# Ranges hold for what is read from a file.
Count = Annotated[int, Meta(ge=1, le=1024)]
Number = Annotated[int, Meta(ge=0, le=4096)]
Rate = Annotated[float, Meta(ge=0, le=1e6)]
Chosen = Annotated[int, Meta(ge=-1, le=4096)]
"""A number that things share, or -1."""


class Trunk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How groups of GPUs that have NVSwitches of their own are joined to one NVLink domain.

    Without upper switches, switch k of one group goes to switch k of every other one. With them,
    the switches of a group share the upper ones out among themselves, in order.
    """

    group: Number = 0
    """GPUs of a group; 0: one group, no trunk."""
    links: Number = 0
    """Links of one trunk: switch to switch."""
    upper_switches: Number = 0


class GpuLinks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Links from GPU to GPU, directly or through NVSwitches. Generation and rate are the GPU's."""

    style: LinkStyle = "none"
    every_pair: Number = 0
    """Links between any two GPUs of the node: a full mesh."""
    edges: tuple[tuple[Number, Number, Count], ...] = ()
    """[GPU, GPU, links] where pairs differ."""
    switches: Number = 0
    """NVSwitch chips that a GPU sees: of the node, the rack, or its group where a trunk is."""
    links_per_switch: tuple[Count, ...] = ()
    """Links of a GPU to each of these switches; one number holds for all."""
    switch_generation: Number = 0
    trunk: Trunk = Trunk()
    link_GBps: Rate = 0.0
    """One link, one direction; 0: as the catalog says for this GPU."""

    def links_to(self, switch: int) -> int:
        """Links of one GPU to the switch of that number."""
        if len(self.links_per_switch) == 1:
            return self.links_per_switch[0]
        return self.links_per_switch[switch]

    def pairs(self, gpus: int) -> list[tuple[int, int, int]]:
        """(GPU, GPU, links) of a mesh of so many GPUs, lower GPU first, in order."""
        counts: dict[tuple[int, int], int] = {}
        if self.every_pair:
            counts = dict.fromkeys(combinations(range(gpus), 2), self.every_pair)
        for a, b, count in self.edges:
            counts[min(a, b), max(a, b)] = count
        return [(a, b, count) for (a, b), count in sorted(counts.items())]


class CpuLink(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What joins two sockets, and the NUMA nodes of one."""

    kind: str = ""
    """Key of the catalog, such as `upi-spr`; empty with one socket."""
    links: Number = 0
    """Links between two sockets; 0: the fewest of the catalog."""
    GBps: Rate = 0.0
    """All links together, one direction; 0: as the catalog says."""


class Cpu(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The host processors, all of a kind."""

    model: str = ""
    sockets: Count = 1
    numa_nodes: Count = 1
    """Of the whole node; equal shares of each socket."""
    link: CpuLink = CpuLink()
    memory_GBps: Rate = 0.0
    """Usable memory bandwidth of one socket, reads and writes together; 0: not known."""
    root_p2p_GBps: Rate = 0.0
    """Between devices on two ports of a host bridge or of two, one direction; 0: not known."""


class HostLink(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A coherent link from each GPU to its CPU beside PCIe, or in its place.

    NVLink-C2C, or the xGMI that does the same on AMD: one kind of link in the graph.
    """

    kind: Literal["none", "c2c", "xgmi"] = "none"
    GBps: Rate = 0.0
    """One GPU, one direction; 0: as the catalog says for this GPU."""
    numa: tuple[Number, ...] = ()
    """The NUMA node of each GPU."""


class PcieGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """GPUs and NICs below one port of a host bridge, or on ports of their own (`levels = 0`)."""

    numa: Number = 0
    root: Chosen = -1
    """Host bridge. Groups with one number share it (PHB); -1: one for itself (NODE or SYS)."""
    levels: Literal[0, 1, 2] = 1
    """PCIe switches from a device up: 1, one shared by all (PIX); 2, each device behind a lower one
    (PXB); 0, none."""
    upper: Chosen = -1
    """Groups with one number share a further switch above theirs; -1: none."""
    gpus: tuple[Number, ...] = ()
    nics: tuple[Number, ...] = ()
    generation: PcieGeneration = 4
    """Of the ports that devices are plugged into; a slower device keeps its own."""
    lanes: PcieLanes = 16
    """Of a GPU; a NIC says itself."""
    uplink_generation: Literal[0, 3, 4, 5, 6, 7] = 0
    """Of the way up; 0: as `generation`."""
    uplink_lanes: PcieLanes = 16
    device_GBps: Rate = 0.0
    """A device's link, one direction, where it is no standard PCIe; 0: by generation and lanes."""
    uplink_GBps: Rate = 0.0
    model: str = ""
    """The switch."""


class NicGroup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Equal NICs. NIC numbers of a node run through its groups in order."""

    model: str
    count: Count
    rate_Gbps: Annotated[float, Meta(gt=0, le=1e5)]
    """All ports of one card together, one direction."""
    role: NicRole = "compute"
    network: NetworkKind = "none"
    """`none`: the node's."""
    pcie_generation: Literal[0, 3, 4, 5, 6, 7] = 0
    """0: as the slot."""
    pcie_lanes: PcieLanes = 16


class Network(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the compute NICs speak."""

    kind: NetworkKind = "none"
    generation: str = ""
    """NDR, XDR; 400G; an EFA version."""
    rdma: bool = True
    """False: sockets, through host memory. GPUDirect-TCPX reaches GPU memory and counts as RDMA."""


class NodeDesign(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One node; or a rack of `nodes_per_unit` equal nodes that share an NVLink domain."""

    name: str
    gpu: str
    """As the catalog calls it."""
    gpus: Count
    """Of one node."""
    description: str = ""
    nvlink: GpuLinks = GpuLinks()
    """Links between GPUs: NVLink, or xGMI where the GPU is AMD's."""
    cpu: Cpu = Cpu()
    host_link: HostLink = HostLink()
    pcie: tuple[PcieGroup, ...] = ()
    nics: tuple[NicGroup, ...] = ()
    network: Network = Network()
    nodes_per_unit: Count = 1
    p2p: bool = True
    """Whether driver and board let GPUs reach each other over PCIe."""
    gdr: bool = True
    gdr_far: bool = False
    """GPUDirect at any distance: what such sites set (NCCL_NET_GDR_LEVEL)."""
    """Whether compute NICs reach GPU memory without host memory between."""
    status: Status = "shipping"
    confidence: Confidence = "spec"
    source: str = ""
    note: str = ""

    @property
    def nvlink_domain(self) -> int:
        """GPUs that NVLink or xGMI joins at most, through each other or through switches."""
        if self.nvlink.style == "switch":
            return self.gpus * self.nodes_per_unit
        island = {g: {g} for g in range(self.gpus)}
        for a, b, _ in self.nvlink.pairs(self.gpus) if self.nvlink.style == "mesh" else ():
            island[a] |= island[b]
            for g in island[a]:
                island[g] = island[a]
        return max(map(len, island.values()))

    @property
    def nic_count(self) -> int:
        """NICs of one node, all roles."""
        return sum(group.count for group in self.nics)

    def nic(self, index: int) -> NicGroup:
        """The group that NIC `index` of a node belongs to."""
        for group in self.nics:
            if index < group.count:
                return group
            index -= group.count
        raise IndexError(index)
