"""NVLink between GPUs, and its coherent chip-to-chip form to the CPU."""

from __future__ import annotations

from functools import cache

import msgspec

from wirespeed.catalog._table import Row, Status, find, read
from wirespeed.units import GB


class Board(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many links a product has."""

    model: str
    links: int


class NvlinkGeneration(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One generation of NVLink; rates are of one link."""

    generation: int
    variant: str = ""
    """`ga102` for the slower links of RTX 3090, RTX A6000 and A40."""
    lanes_per_link: int
    """Differential pairs per direction."""
    lane_rate_Gbps: float
    modulation: str = ""
    bandwidth_GBps_dir: float
    smi_GBps_dir: float | None = None
    """What `nvidia-smi nvlink -s` prints: the raw rate before coding."""
    planning_GBps_dir: float | None = None
    """What NCCL credits a link with when it plans."""
    pair_copy_GBps_dir: float | None = None
    """Copy between two GPUs over all their links, as measured."""
    pair_copy_bidirectional_GBps: float | None = None
    ring_busbw_GBps: float | None = None
    """All-reduce on 8 GPUs by a ring, as measured."""
    nvls_busbw_GBps: float | None = None
    """All-reduce on 8 GPUs by NVLS, as measured: no wire rate."""
    protocol_efficiency: float | None = None
    boards: tuple[Board, ...] = ()
    status: Status = "shipping"

    def bandwidth(self, links: int = 1) -> float:
        """Rate of so many links [B/s], one direction."""
        return links * self.bandwidth_GBps_dir * GB


class WithoutNvlink(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """GPUs that have no NVLink at all."""

    gpus: tuple[str, ...]


class C2c(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """NVLink-C2C: the coherent link between a CPU and a GPU in one package."""

    bandwidth_GBps_dir: float
    measured_host_copy_GBps_dir: float | None = None
    measured_device_copy_GBps_dir: float | None = None
    measured_both_ways_GBps_dir: float | None = None
    """Each direction, while both run."""
    status: Status = "shipping"

    @property
    def bandwidth(self) -> float:
        """Rate [B/s], one direction."""
        return self.bandwidth_GBps_dir * GB


@cache
def nvlink_generations() -> tuple[NvlinkGeneration, ...]:
    """All generations of NVLink."""
    return read("nvlink.toml", "nvlink", NvlinkGeneration)


def nvlink(generation: int | str, variant: str = "") -> NvlinkGeneration:
    """A generation of NVLink by number (4) or key ("nvlink4", "nvlink3-ga102")."""
    name = f"{generation}-{variant}" if variant else str(generation)
    return find("NVLink generation", name, nvlink_generations())


@cache
def without_nvlink() -> tuple[WithoutNvlink, ...]:
    """GPUs that have no NVLink, as published lists name them."""
    return read("nvlink.toml", "without_nvlink", WithoutNvlink)


@cache
def c2c_links() -> tuple[C2c, ...]:
    """All chip-to-chip links."""
    return read("c2c.toml", "c2c", C2c)


def c2c(name: str) -> C2c:
    """A chip-to-chip link by key: "gh200", "gb200", "vera-rubin"."""
    return find("chip-to-chip link", name, c2c_links())
