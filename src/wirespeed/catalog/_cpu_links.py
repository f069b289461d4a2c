"""Links between CPU sockets."""

from __future__ import annotations

from functools import cache
from typing import Literal

from wirespeed.catalog._table import Row, find, read
from wirespeed.units import GB


class CpuLink(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How two sockets of one CPU family are joined."""

    vendor: Literal["Intel", "AMD", "IBM", "Arm"]
    link_GBps_dir: float | None = None
    """Raw rate of one link; None where no source says."""
    links: tuple[int, int] | None = None
    """Fewest and most links between two sockets."""
    planning_GBps_dir: float
    """What NCCL credits GPU traffic with that crosses sockets."""

    def bandwidth(self, links: int | None = None) -> float | None:
        """Raw rate of so many links, by default the fewest [B/s], one direction.

        None where the rate or the number of links is not published.
        """
        count = links or (self.links[0] if self.links else None)
        if self.link_GBps_dir is None or count is None:
            return None
        return count * self.link_GBps_dir * GB


@cache
def cpu_links() -> tuple[CpuLink, ...]:
    """All links between CPU sockets."""
    return read("cpu_links.toml", "cpu_link", CpuLink)


def cpu_link(name: str) -> CpuLink:
    """The socket link of a key, such as "upi-spr" or "epyc-rome", or of a CPU family's name."""
    return find("CPU link", name, cpu_links())
