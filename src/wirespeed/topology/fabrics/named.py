"""Fabrics by name: reference designs with their sources, generic kinds, a platform's default."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

import msgspec

from wirespeed.catalog import Row
from wirespeed.errors import UnknownName
from wirespeed.topology.assemble import FabricDesign
from wirespeed.topology.fabrics.clos import ClosDesign
from wirespeed.topology.fabrics.generic import DRAGONFLY, FAT_TREE, GENERIC
from wirespeed.topology.fabrics.latency import Network
from wirespeed.topology.fabrics.table import fabric_from_table

# Networks of platforms that are not sold with InfiniBand, by how their names begin.
_NETWORKS = {
    Network.SLINGSHOT: ("mi250",),
    Network.ETHERNET: ("mi3", "aws", "gcp", "oci", "p3", "p4", "p5", "p6", "a2-", "a3", "a4"),
}


class FabricRow(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reference design: where it is published, whose default it is, and its table."""

    platforms: tuple[str, ...] = ()
    """Presets whose default fabric this is."""
    design: dict[str, Any]
    """As a user would write it."""

    __hash__ = Row.__hash__

    def built(self) -> FabricDesign:
        """The design under the row's key."""
        return fabric_from_table({"name": self.key, **self.design}, f"fabrics.toml: {self.key}")


@cache
def fabric_rows() -> tuple[FabricRow, ...]:
    """All reference designs."""
    text = resources.files(__package__).joinpath("data/fabrics.toml").read_text(encoding="utf-8")
    return tuple(msgspec.convert(row, FabricRow) for row in tomllib.loads(text)["fabric"])


def fabric_names() -> tuple[str, ...]:
    """Names that `fabric_named` knows: generic kinds, then reference designs; no aliases."""
    return (*GENERIC, DRAGONFLY.name, *(row.key for row in fabric_rows()))


def fabric_named(name: str) -> FabricDesign:
    """The design of that name or alias; UnknownName with the nearest names otherwise."""
    wanted = _plain(name)
    if wanted == DRAGONFLY.name:
        return DRAGONFLY
    if wanted in GENERIC:
        return GENERIC[wanted]
    for row in fabric_rows():
        if wanted in map(_plain, row.names):
            return row.built()
    raise UnknownName("fabric", name, fabric_names(), where="--fabric")


def default_fabric(platform: str, nodes: int) -> tuple[str, FabricDesign]:
    """Name and design of the smallest reference fabric of a platform that holds so many nodes.

    Where there is none: `fat-tree`.
    """
    fitting: Mapping[int, FabricDesign] = {
        max(design.sizes): design
        for row in fabric_rows()
        if platform in row.platforms
        for design in [row.built()]
        if isinstance(design, ClosDesign) and max(design.sizes) >= nodes
    }
    if fitting:
        design = fitting[min(fitting)]
        return str(getattr(design, "name", "")), design
    return FAT_TREE.name, replace(FAT_TREE, network=_network(platform))


def _network(platform: str) -> Network:
    for network, beginnings in _NETWORKS.items():
        if platform.startswith(beginnings):
            return network
    return Network.INFINIBAND


def _plain(name: str) -> str:
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split())
