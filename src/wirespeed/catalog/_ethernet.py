"""Ethernet port speeds, and what RoCE packets leave of them."""

from __future__ import annotations

from functools import cache

from wirespeed.catalog._table import Row, find, read
from wirespeed.units import GB


class EthernetSpeed(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One port speed of Ethernet."""

    rate_Gbps: float
    lanes: str
    bandwidth_GBps_dir: float
    achieved_GBps_dir: float | None = None
    """Large RDMA writes."""
    switch: str = ""

    @property
    def bandwidth(self) -> float:
        """Port rate [B/s], one direction."""
        return self.bandwidth_GBps_dir * GB


class RocePackets(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one RoCE packet carries beside its payload."""

    overhead_B: int


@cache
def ethernet_speeds() -> tuple[EthernetSpeed, ...]:
    """All port speeds of Ethernet."""
    return read("ethernet.toml", "ethernet", EthernetSpeed)


def ethernet(rate_Gbps: int | str) -> EthernetSpeed:
    """An Ethernet port speed by its rate in Gb/s (400) or name ("400GbE")."""
    return find("Ethernet speed", str(rate_Gbps), ethernet_speeds())


@cache
def roce_packets() -> tuple[RocePackets, ...]:
    """RoCE's packet formats."""
    return read("ethernet.toml", "roce", RocePackets)


def roce_payload_share(mtu: int) -> float:
    """Share of an Ethernet port's rate that is payload of RoCEv2, for an RDMA MTU [B].

    mtu / (mtu + 82 B): preamble and gap 20, Ethernet and FCS 18, IP 20, UDP 8, BTH 12, ICRC 4.
    """
    return mtu / (mtu + roce_packets()[0].overhead_B)
