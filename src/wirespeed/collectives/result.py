"""CollectiveForecast: what is expected of an operation, size by size, and why."""

from __future__ import annotations

import msgspec

from wirespeed.topology.software import Notice


class ForecastRow(msgspec.Struct, frozen=True):
    """One size. GB are 1e9 bytes; times in us; names as in the JSON contract."""

    nodes: int
    ranks: int
    operation: str
    size_bytes: int
    time_us: float
    algbw_GBps: float
    busbw_GBps: float
    algorithm: str
    protocol: str
    channels: int
    bottleneck: str
    """Address of the resource that sets the bandwidth; empty where nothing is moved."""
    wire_share: float
    """Payload that crosses the bottleneck in this time, as a share of its wire rate."""
    bound_us: float
    """No schedule is faster, in-network reduction and multicast used where they are there."""
    bound_p2p_us: float
    """No schedule of messages between GPUs alone is faster."""
    low_us: float | None
    high_us: float | None
    validity: str
    """inside, edge or outside of what was validated."""


class CollectiveForecast(msgspec.Struct, frozen=True):
    """Rows by nodes and size, with what they rest on."""

    rows: tuple[ForecastRow, ...]
    cluster: str
    """What the machine is."""
    fabric: str
    software: str
    gpu: str
    parameters: str
    """Hash of the parameters that were used."""
    warnings: tuple[Notice, ...] = ()
