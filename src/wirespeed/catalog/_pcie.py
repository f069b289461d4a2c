"""PCI Express: wire rates by generation and lanes, and what peer-to-peer copies achieve."""

from __future__ import annotations

from functools import cache

import msgspec

from wirespeed.catalog._table import Row, Status, find, read

_PACKET_OVERHEAD = 24
"""[B] beside the payload: 16 header with four words, 4 framing, 4 LCRC."""


class PcieGeneration(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One generation of PCI Express."""

    generation: int
    lane_rate_GTps: float
    """Transfers a second on one lane: one bit each, also where PAM4 sends two a symbol."""
    encoding: str
    payload_units: int
    """Of `coded_units` bits (or FLIT bytes) on the wire, those that are left after coding."""
    coded_units: int
    packet_units: int | None = None
    """Of these, bytes of packets: a FLIT also holds link-layer bytes."""
    host_copy_GBps_dir: float | None = None
    """Host to device on x16, as measured; in `assumed` where nobody has."""
    device_copy_GBps_dir: float | None = None
    """Device to host on x16."""
    host_copy_range_GBps_dir: tuple[float, float] | None = None
    both_ways_copy_GBps_dir: float | None = None
    """Each direction, while both run."""
    root_latency_us: float | None = None
    """One way, device to root complex."""
    status: Status = "shipping"

    @property
    def efficiency(self) -> float:
        """Share of the signalling rate that is left after line coding."""
        return self.payload_units / self.coded_units

    def bandwidth(self, lanes: int) -> float:
        """Wire rate of so many lanes after line coding [B/s], one direction."""
        return self.lane_rate_GTps * 1e9 / 8 * lanes * self.efficiency


class PcieP2p(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What copies between GPUs over PCIe were seen to achieve on one machine."""

    gpu: str = ""
    bandwidth_GBps_dir: float | None = None
    bidirectional_GBps: tuple[float, float] | None = None
    """Least and most, both directions summed."""
    busbw_GBps: dict[str, float] = msgspec.field(default_factory=dict)
    """All-reduce bus bandwidth by number of GPUs."""
    traffic_factor: float | None = None


@cache
def pcie_generations() -> tuple[PcieGeneration, ...]:
    """All generations of PCI Express."""
    return read("pcie.toml", "pcie", PcieGeneration)


def pcie(generation: int | str) -> PcieGeneration:
    """A generation of PCI Express by number (4) or name ("Gen4")."""
    return find("PCIe generation", str(generation), pcie_generations())


@cache
def pcie_p2p() -> tuple[PcieP2p, ...]:
    """Measured copies between GPUs over PCIe."""
    return read("pcie.toml", "p2p", PcieP2p)


def pcie_payload_share(max_payload: int) -> float:
    """Share of a lane's rate that is payload, for packets of `max_payload` [B], Gen3 to Gen5.

    payload / (payload + 24 B); flow control takes another 2 to 5 %.
    """
    return max_payload / (max_payload + _PACKET_OVERHEAD)
