"""AMD's Infinity Fabric (xGMI) between GPUs."""

from __future__ import annotations

from functools import cache

from wirespeed.catalog._table import Row, Status, find, read
from wirespeed.units import GB


class Xgmi(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Links between the GPUs of one AMD generation."""

    bandwidth_GBps_dir: float | None = None
    """One link; None where only the sum is published."""
    links: int | None = None
    """Links of one package."""
    links_per_pair: int | None = None
    total_GBps_dir: float | None = None
    in_package_GBps_dir: float | None = None
    """Between the two dies of one MI250X."""
    host_GBps_dir: float | None = None
    """Die to CPU, where that is xGMI too."""
    planning_GBps_dir: float | None = None
    """What RCCL credits a link with when it plans."""
    measured_pair_GBps_dir: float | None = None
    measured_allreduce_busbw_GBps: float | None = None
    """On 8 GPUs."""
    status: Status = "shipping"

    @property
    def bandwidth(self) -> float | None:
        """Rate of one link [B/s], one direction; None where it is not published."""
        return None if self.bandwidth_GBps_dir is None else self.bandwidth_GBps_dir * GB


@cache
def xgmi_generations() -> tuple[Xgmi, ...]:
    """All generations of xGMI between GPUs."""
    return read("xgmi.toml", "xgmi", Xgmi)


def xgmi(name: str) -> Xgmi:
    """Links of a product by key: "mi250x", "mi300x", "mi355x", "mi455x"."""
    return find("xGMI generation", name, xgmi_generations())
