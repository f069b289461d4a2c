"""Networks of whole clusters: reference designs and built systems; tori of other accelerators."""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from wirespeed.catalog._table import Row, find, read

Kind = Literal["rail-optimised", "clos", "dragonfly", "unpublished"]


class FabricSize(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Switches and cables of a reference design at one size."""

    units: int
    nodes: int
    gpus: int
    leaves: int
    spines: int
    cores: int = 0
    node_cables: int | None = None
    leaf_cables: int | None = None
    """Leaf to spine."""
    spine_cables: int | None = None
    """Spine to core."""


class Fabric(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One cluster network."""

    kind: Kind
    topology: str = ""
    gpu: str = ""
    gpus: int | None = None
    """Built, or the most that the design was given for."""
    nodes: int | None = None
    gpus_per_node: int | None = None
    nvlink_domain: int | None = None
    rails: int | None = None
    planes: int | None = None
    unit_nodes: int | None = None
    """Of a scalable unit, pod or segment."""
    unit_gpus: int | None = None
    tiers: int | None = None
    oversubscription: tuple[float, ...] = ()
    """Down over up, tier by tier from the leaves; below 1 is more up than down."""
    switch: str = ""
    switch_ports: int | None = None
    switch_port_Gbps: float | None = None
    leaf_down: int | None = None
    leaf_up: int | None = None
    leaves_per_unit: int | None = None
    nics_per_node: int | None = None
    nic_rate_Gbps: float | None = None
    sizes: tuple[FabricSize, ...] = ()
    groups: int | None = None
    """Of a dragonfly, as the next four."""
    nodes_per_group: int | None = None
    switches_per_group: int | None = None
    switch_ports_down_local_global: tuple[int, int, int] | None = None
    links_per_group_pair: int | None = None


class Torus(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Chips joined in a torus without switches; rates in one direction."""

    topology: str
    dimensions: int
    pod_chips: int | None = None
    links_per_chip: int | None = None
    link_GBps_dir: float | None = None
    chip_GBps_dir: float | None = None
    """All links of a chip."""


@cache
def fabrics() -> tuple[Fabric, ...]:
    """All cluster networks."""
    return read("fabrics.toml", "fabric", Fabric)


def fabric(name: str) -> Fabric:
    """A cluster network by key, such as "superpod-h100"."""
    return find("fabric", name, fabrics())


@cache
def tori() -> tuple[Torus, ...]:
    """All tori."""
    return read("fabrics.toml", "torus", Torus)


def torus(name: str) -> Torus:
    """A torus by key, such as "tpu-v4"."""
    return find("torus", name, tori())
