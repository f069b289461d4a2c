"""Base latencies: hops inside a node, launches, switches, small RDMA messages."""

from __future__ import annotations

from functools import cache
from typing import Literal

from wirespeed.catalog._table import Row, find, read
from wirespeed.units import NS, US


class Hop(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Latency of one crossing or copy inside a node, one way."""

    latency_ns: float
    range_ns: tuple[float, float] | None = None
    includes: Literal["wire", "software"]
    """Software: with the calls and copies that a program waits for."""

    @property
    def latency(self) -> float:
        """Latency [s]."""
        return self.latency_ns * NS


class Launch(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What it costs to start work on a GPU."""

    latency_us: float
    range_us: tuple[float, float] | None = None

    @property
    def latency(self) -> float:
        """Latency [s]."""
        return self.latency_us * US


class SwitchLatency(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Latency of a network switch, port to port, or of a metre of cable."""

    latency_ns: float
    range_ns: tuple[float, float] | None = None

    @property
    def latency(self) -> float:
        """Latency [s]."""
        return self.latency_ns * NS


class RdmaLatency(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One small message between two hosts, one way."""

    latency_us: float
    range_us: tuple[float, float] | None = None

    @property
    def latency(self) -> float:
        """Latency [s]."""
        return self.latency_us * US


@cache
def hop_latencies() -> tuple[Hop, ...]:
    """All latencies inside a node."""
    return read("latency.toml", "hop", Hop)


def hop_latency(what: str) -> Hop:
    """A latency inside a node by key: "nvlink", "nvswitch", "pcie-switch", "root-complex"."""
    return find("hop latency", what, hop_latencies())


@cache
def launch_latencies() -> tuple[Launch, ...]:
    """All launch costs."""
    return read("latency.toml", "launch", Launch)


def launch_latency(what: str) -> Launch:
    """A launch cost by key: "kernel", "kernel-sync", "graph-node", "eager-op"."""
    return find("launch latency", what, launch_latencies())


@cache
def switch_latencies() -> tuple[SwitchLatency, ...]:
    """All switch latencies."""
    return read("latency.toml", "switch", SwitchLatency)


def switch_latency(model: str) -> SwitchLatency:
    """A switch's latency by key: "quantum2", "ethernet", "rosetta"; "cable-metre" for a cable."""
    return find("switch latency", model, switch_latencies())


@cache
def rdma_latencies() -> tuple[RdmaLatency, ...]:
    """All latencies of small messages between hosts."""
    return read("latency.toml", "rdma", RdmaLatency)


def rdma_latency(what: str) -> RdmaLatency:
    """A small message's latency by key: "hdr", "ndr", "roce", "efa", "gpudirect"."""
    return find("RDMA latency", what, rdma_latencies())
