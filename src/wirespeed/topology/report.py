"""TopoReport: what a machine is made of and how its parts reach each other."""

from __future__ import annotations

import msgspec

from wirespeed.topology.result import Result
from wirespeed.topology.software import Notice


class BasisRow(msgspec.Struct, frozen=True):
    """Where the GPU model comes from: read, option or preset; `alternatives` fit as well."""

    gpu_model: str
    preset: str
    alternatives: tuple[str, ...] = ()


class GpuRow(msgspec.Struct, frozen=True):
    """One GPU; `nics` are the compute NICs nearest to it, by rail."""

    name: str
    model: str
    numa: int | None
    nics: tuple[str, ...]


class PartRow(msgspec.Struct, frozen=True):
    """A CPU, a PCIe switch or an NVSwitch; a CPU is one NUMA node."""

    name: str
    model: str
    numa: int | None


class NicRow(msgspec.Struct, frozen=True):
    """One NIC, all its ports together; `rail` is null for a storage or front-end NIC."""

    name: str
    model: str
    rate_Gbps: float
    numa: int | None
    rail: int | None


class LinkRow(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """One direction of a cable or bus at its wire rate after encoding; 0 where it is down."""

    source: str
    target: str
    kind: str
    lanes: int
    bandwidth_GBps: float


class PairRow(msgspec.Struct, frozen=True, rename={"source": "from", "target": "to"}):
    """The way from a GPU to another GPU or a NIC: nvidia-smi's word, NCCL's, and its wire rate.

    `bandwidth_GBps` is what one transfer alone could get on the narrowest part; 0 without a way.
    """

    source: str
    target: str
    smi: str
    nccl: str
    bandwidth_GBps: float


class FabricRow(msgspec.Struct, frozen=True):
    """The network between nodes (or racks)."""

    name: str
    description: str


class TopoReport(Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.topo/1"):
    """A machine or cluster. Of equal nodes one is listed; a rack's own parts follow its first node.

    Addresses are whole (`node0/gpu0`); GB are 1e9 bytes, per direction.
    """

    name: str
    nodes: int
    basis: BasisRow
    gpus: tuple[GpuRow, ...]
    cpus: tuple[PartRow, ...]
    pcie_switches: tuple[PartRow, ...]
    nics: tuple[NicRow, ...]
    nvswitches: tuple[PartRow, ...]
    links: tuple[LinkRow, ...]
    pairs: tuple[PairRow, ...]
    oddities: tuple[Notice, ...] = ()
    total_gpus: int
    """Of all nodes, listed or not."""
    nvlink_domain: int
    """GPUs that reach each other over NVLink or xGMI; 1 where there is none."""
    fabric: FabricRow | None = None
