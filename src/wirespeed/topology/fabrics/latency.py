"""One-way latency of the cables of a fabric, the switches at their ends included."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from wirespeed.catalog import switch_latency
from wirespeed.units import gbps

# Nobody publishes cable plans: copper in the rack, fibre along the row, fibre across the hall.
NIC_CABLE_M, SPINE_CABLE_M, CORE_CABLE_M = 5.0, 20.0, 50.0


class Network(StrEnum):
    """What the switches speak, which sets how long they take."""

    INFINIBAND = "infiniband"
    ETHERNET = "ethernet"
    SLINGSHOT = "slingshot"


@dataclass(frozen=True, slots=True)
class CableLatency:
    """One-way latencies [s] of a fabric's links.

    A link carries half of the latency of each switch that it touches, so that a path adds up to
    the switches that it crosses plus its cables.
    """

    nic: float
    spine: float
    core: float


def cable_latency(
    network: Network, rate: float, *, switch: float | None = None, link: float | None = None
) -> CableLatency:
    """Latencies of NIC, spine and core cables of a fabric of NICs of that rate [B/s].

    `switch` [s] replaces the switch's latency in the catalog, `link` [s] that of every link.
    """
    if link is not None:
        return CableLatency(link, link, link)
    each = _switch(network, rate) if switch is None else switch
    metre = switch_latency("cable-metre").latency
    return CableLatency(
        nic=each / 2 + NIC_CABLE_M * metre,
        spine=each + SPINE_CABLE_M * metre,
        core=each + CORE_CABLE_M * metre,
    )


def _switch(network: Network, rate: float) -> float:
    if network is Network.INFINIBAND:
        # The generation follows the port: EDR to 100, HDR to 200, NDR to 400 Gb/s, then XDR.
        generations = ((100, "switch-ib2"), (200, "quantum"), (400, "quantum2"))
        fitting = [key for limit, key in generations if rate <= gbps(limit)]
        return switch_latency(fitting[0] if fitting else "quantum-x800").latency
    return switch_latency("ethernet" if network is Network.ETHERNET else "rosetta").latency
