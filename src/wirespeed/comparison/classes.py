"""Classes by which errors are counted and bands are kept."""

from __future__ import annotations

from enum import StrEnum

from wirespeed.catalog import gpu
from wirespeed.topology.machine import Machine


class Platform(StrEnum):
    """Where the data goes."""

    NVSWITCH = "nvswitch"
    """Within one NVSwitch node or rack."""
    MESH = "mesh"
    """Within one node of PCIe cards, or of GPUs joined without a switch."""
    NETWORK = "network"
    """Beyond one NVLink domain."""


class SizeClass(StrEnum):
    """How large a message is."""

    SMALL = "<=64K"
    MIDDLE = "<=16M"
    LARGE = ">16M"


def platform_of(machine: Machine, *, beyond: bool) -> Platform:
    """The platform class of a run on machines of a kind."""
    if beyond:
        return Platform.NETWORK
    return Platform.NVSWITCH if machine.has_nvswitch else Platform.MESH


def size_class(size: int) -> SizeClass:
    """The class of a message of `size` [B]."""
    if size <= 64 * 2**10:
        return SizeClass.SMALL
    return SizeClass.MIDDLE if size <= 16 * 2**20 else SizeClass.LARGE


def generation_name(name: str) -> str:
    """The architecture of a GPU, such as Hopper."""
    return gpu(name).architecture
