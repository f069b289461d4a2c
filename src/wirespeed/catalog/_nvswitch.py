"""NVSwitch chips."""

from __future__ import annotations

from functools import cache

from wirespeed.catalog._table import Row, Status, find, read
from wirespeed.units import GB


class NvswitchGeneration(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One generation of NVSwitch; ports and rates are of one chip."""

    generation: int
    nvlink_generation: int
    ports: int | None = None
    port_GBps_dir: float | None = None
    chip_bidirectional_GBps: float
    largest_domain: int
    """GPUs that one NVLink domain can hold, as published."""
    in_network_reduction: bool | None = None
    """Reduces and multicasts (NVLS)."""
    per_box: str
    status: Status = "shipping"

    @property
    def port_bandwidth(self) -> float | None:
        """Rate of one port [B/s], one direction; None where it is not published."""
        return None if self.port_GBps_dir is None else self.port_GBps_dir * GB


@cache
def nvswitch_generations() -> tuple[NvswitchGeneration, ...]:
    """All generations of NVSwitch."""
    return read("nvswitch.toml", "nvswitch", NvswitchGeneration)


def nvswitch(generation: int | str) -> NvswitchGeneration:
    """A generation of NVSwitch by number (3) or key ("nvswitch3")."""
    return find("NVSwitch generation", str(generation), nvswitch_generations())
