"""unheeded: what was set, was understood, and does nothing here, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from wirespeed.collectives.library.constants import constants_of
from wirespeed.collectives.library.effective import device_name, leaves_no_nic
from wirespeed.collectives.library.environment import LibrarySettings
from wirespeed.collectives.library.graphs import find_graphs
from wirespeed.collectives.library.names import CHOSEN
from wirespeed.collectives.operation import Operation
from wirespeed.errors import first_of
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.software import Notice

_GRAPH_FILES = ("NCCL_TOPO_FILE", "NCCL_GRAPH_FILE")
_OF_NVIDIA = ("NCCL_NVLS_ENABLE", "NCCL_MNNVL_ENABLE", "NCCL_LL128_C2C", "NCCL_CUMEM_ENABLE")
_NAMED = 4
"""Devices that a notice names."""


def unheeded(
    cluster: Cluster, group: Group, operation: Operation, settings: LibrarySettings
) -> tuple[Notice, ...]:
    """A notice for each setting that moves nothing on this machine or for this operation."""
    notices = [
        *_of_files(cluster),
        *_of_another_vendor(cluster),
        *_of_devices(cluster, settings),
    ]
    if operation in CHOSEN:
        notices += _of_channels(cluster, group, settings)
    else:
        notices += _of_choice(cluster, operation)
    return tuple(notices)


def _of_files(cluster: Cluster) -> Iterator[Notice]:
    for name in _GRAPH_FILES:
        if cluster.software.env.get(name):
            yield _without_effect(
                f"{name}={cluster.software.env[name]}: the forecast is of the machine that was "
                "named; to forecast on that file, give it as the source"
            )


def _of_another_vendor(cluster: Cluster) -> Iterator[Notice]:
    """RCCL reads NCCL's names, but for what its GPUs do not have; NCCL reads none of RCCL's."""
    for name, value in cluster.software.env.items():
        foreign = (
            name in _OF_NVIDIA if cluster.software.library == "rccl" else name.startswith("RCCL_")
        )
        if foreign:
            library = cluster.software.library.upper()
            yield _without_effect(f"{name}={value}: {library} has nothing that this would set")


def _of_devices(cluster: Cluster, settings: LibrarySettings) -> Iterator[Notice]:
    if not leaves_no_nic(cluster, settings):
        return
    topology = cluster.topology
    nics = topology.of_kind(ComponentKind.NIC)
    names = [device_name(topology, nic) for nic in nics[topology.node[nics] == 0].tolist()]
    yield Notice(
        "no-such-device",
        f"NCCL_IB_HCA={cluster.software.env['NCCL_IB_HCA']} names no NIC of this machine, which "
        f"has {first_of(names, _NAMED)}: the library finds no RDMA device and takes "
        "sockets",
        "env",
    )


def _of_channels(cluster: Cluster, group: Group, settings: LibrarySettings) -> Iterator[Notice]:
    if settings.min_channels is None:
        return
    constants = constants_of(cluster.software.version)
    free = structs.replace(settings, min_channels=None)
    usual = find_graphs(cluster, group, constants, free).coll_channels
    if settings.min_channels > usual:
        yield Notice(
            "setting-not-modelled",
            f"{settings.min_channels} channels are opened where the library would open {usual}; "
            "what the others bring is not modelled: the links are shared by all",
            "env",
        )


def _of_choice(cluster: Cluster, operation: Operation) -> Iterator[Notice]:
    software = cluster.software
    for option in ("algo", "proto"):
        name = f"NCCL_{option.upper()}"
        given = software.settings.get(option), software.env.get(name)
        for said, value in zip((f"--{option}", name), given, strict=True):
            if value:
                yield _without_effect(
                    f"{said}={value}: {operation} is made of sends and receives, which take no "
                    "algorithm or protocol from it"
                )


def _without_effect(text: str) -> Notice:
    return Notice("setting-without-effect", text, "env")
