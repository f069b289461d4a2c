"""InfiniBand generations."""

from __future__ import annotations

from functools import cache

from wirespeed.catalog._table import Row, Status, find, read
from wirespeed.units import GB


class InfinibandGeneration(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One generation of InfiniBand, on four lanes (4x)."""

    lane_signal_Gbps: float | None = None
    encoding: str = ""
    raw_rate_Gbps: float | None = None
    """Before line coding."""
    rate_Gbps: float
    """After line coding, the rate it is sold by."""
    bandwidth_GBps_dir: float
    achieved_GBps_dir: float | None = None
    """Large RDMA writes."""
    switch: str = ""
    switch_ports: int | None = None
    """Ports of that rate on one switch."""
    hop_latency_ns: float | None = None
    adapter: str = ""
    status: Status = "shipping"

    @property
    def bandwidth(self) -> float:
        """Rate after line coding [B/s], one direction."""
        return self.bandwidth_GBps_dir * GB


@cache
def infiniband_generations() -> tuple[InfinibandGeneration, ...]:
    """All generations of InfiniBand."""
    return read("infiniband.toml", "infiniband", InfinibandGeneration)


def infiniband(generation: str) -> InfinibandGeneration:
    """A generation of InfiniBand by its letters: "HDR", "NDR"."""
    return find("InfiniBand generation", generation, infiniband_generations())
