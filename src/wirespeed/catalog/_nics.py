"""Network adapters."""

from __future__ import annotations

from functools import cache
from typing import Literal

from wirespeed.catalog._table import Row, Status, find, read
from wirespeed.units import gbps

Protocol = Literal["infiniband", "ethernet", "efa", "slingshot"]


class Nic(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One model of network adapter."""

    vendor: str
    protocols: tuple[Protocol, ...]
    rate_Gbps: float
    """Most that the card sends, all ports together, one direction."""
    ports: str = ""
    pcie: str = ""
    """The host interface in the source's words."""
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    status: Status = "shipping"

    @property
    def bandwidth(self) -> float:
        """Rate of the whole card [B/s], one direction."""
        return gbps(self.rate_Gbps)


@cache
def nics() -> tuple[Nic, ...]:
    """All network adapters."""
    return read("nics.toml", "nic", Nic)


def nic(model: str) -> Nic:
    """A network adapter by key ("cx7") or model ("ConnectX-7")."""
    return find("NIC", model, nics())
