"""Node and rack designs as vendors sell them."""

from __future__ import annotations

from functools import cache

from wirespeed.catalog._table import Row, Status, find, read

Groups = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""GPU indices and NIC indices that share one PCIe switch."""


class Platform(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One design; links and NICs are of one node, rates in one direction."""

    gpu: str = ""
    """Key of the usual GPU; empty where the design takes any."""
    other_gpus: tuple[str, ...] = ()
    """Keys of further GPUs it is sold with."""
    gpus: int
    """In the whole design."""
    gpus_per_node: int
    """Under one operating system."""
    topology: str = ""
    nvlink_domain: int | None = None
    nvlink_GBps_dir: float | None = None
    """All NVLinks of one GPU."""
    nvlink_edges: tuple[tuple[int, int, int], ...] = ()
    """GPU, GPU, links: for meshes without a switch."""
    nvswitch_generation: int | None = None
    nvswitches: int | None = None
    links_to_switches: tuple[int, ...] = ()
    """Links of a GPU to each NVSwitch."""
    pair_GBps_dir: float | None = None
    """Between two GPUs of a mesh."""
    cpu: str = ""
    cpu_link: str = ""
    """Key of the link between the sockets."""
    pcie_generation: int | None = None
    """Of the GPU's own link."""
    pcie_switches: int | None = None
    gpu_nic_groups: Groups = ()
    nics: int | None = None
    nic: str = ""
    nic_rate_Gbps: float | None = None
    measured_allreduce_busbw_GBps: float | None = None
    """Large messages, all GPUs, library's choice."""
    measured_ring_busbw_GBps: float | None = None
    status: Status = "shipping"


@cache
def platforms() -> tuple[Platform, ...]:
    """All node and rack designs."""
    return read("platforms.toml", "platform", Platform)


def platform(name: str) -> Platform:
    """A node or rack design by key, such as "dgx-h100"."""
    return find("platform", name, platforms())
