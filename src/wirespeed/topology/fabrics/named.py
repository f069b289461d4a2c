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

# What a machine's NICs speak, where the switches' word for it is another.
_NETWORKS = {name: Network.ETHERNET for name in ("efa", "tcpx", "socket")}


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


def fabric_named(name: str, network: str = "") -> FabricDesign:
    """The design of that name or alias; UnknownName with the nearest names otherwise.

    `network` is what the machine's NICs speak, for generic kinds; a reference design has its own.
    """
    wanted = _plain(name)
    if wanted in (*GENERIC, DRAGONFLY.name):
        design = GENERIC.get(wanted, DRAGONFLY)
        return replace(design, network=_network(network)) if network else design
    for row in fabric_rows():
        if wanted in map(_plain, row.names):
            return row.built()
    raise UnknownName("fabric", name, fabric_names(), where="--fabric")


def default_fabric(platform: str, nodes: int, network: str = "") -> tuple[str, FabricDesign]:
    """Name and design of the smallest reference fabric of a platform that holds so many nodes.

    Where there is none: `fat-tree`, of the network that the machine's NICs speak.
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
    return FAT_TREE.name, fabric_named(FAT_TREE.name, network)


def _network(name: str) -> Network:
    return _NETWORKS[name] if name in _NETWORKS else Network(name)


def _plain(name: str) -> str:
    return "-".join(name.lower().replace("_", " ").replace("-", " ").split())
