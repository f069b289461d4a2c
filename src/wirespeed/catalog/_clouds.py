"""Cloud instance types with GPUs, a shape a row."""

from __future__ import annotations

from functools import cache
from typing import Literal

from wirespeed.catalog._platforms import Groups
from wirespeed.catalog._table import Row, find, read


class Cloud(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One instance type; rates in one direction."""

    provider: Literal["aws", "gcp", "azure", "oci"]
    gpu: str
    """Key of the GPU."""
    gpus: int
    nvlink: str = ""
    nvlink_domain: int | None = None
    """GPUs that share NVLink, where these are more than the instance's own."""
    nvswitches: int | None = None
    cpu: str = ""
    cpu_link: str = ""
    pcie_generation: int | None = None
    """What the GPUs' links run at."""
    pcie_switches: int | None = None
    gpu_numa: tuple[int, ...] = ()
    """NUMA node of each GPU."""
    gpu_nic_groups: Groups = ()
    nics: int | None = None
    nic: str = ""
    nic_rate_Gbps: float | None = None
    rdma_interfaces: int | None = None
    """Ports that software sees."""
    rate_Gbps: float | None = None
    """What GPU traffic gets of the network, the whole instance; None where no source says."""
    headline_rate_Gbps: float | None = None
    """What is advertised, where front-end NICs are counted in."""
    rdma: bool | None = None
    gpudirect: bool | None = None
    transport: str = ""
    host_copy_alarm_GBps_dir: float | None = None
    """The provider's health check calls less than this a fault, as the next three."""
    pair_alarm_GBps_dir: float | None = None
    allreduce_alarm_busbw_GBps: float | None = None
    gpudirect_alarm_Gbps: float | None = None
    measured_allreduce_busbw_GBps: float | None = None
    """One instance, large messages."""
    measured_allreduce_2node_busbw_GBps: float | None = None


@cache
def clouds() -> tuple[Cloud, ...]:
    """All instance types."""
    return read("clouds.toml", "cloud", Cloud)


def cloud(name: str) -> Cloud:
    """An instance type by its provider's name, such as "p5.48xlarge"."""
    return find("cloud instance type", name, clouds())
