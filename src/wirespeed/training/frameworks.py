"""frameworks: how each framework runs a step: overlap, width of reductions, the host's share."""

from __future__ import annotations

import tomllib
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from wirespeed.errors import UnknownName

DATA = Path(__file__).parent / "data"


class Framework(msgspec.Struct, frozen=True, kw_only=True):
    """A row of `frameworks.toml`: one framework, or several that do the same."""

    names: tuple[str, ...]
    fused: bool
    """Whether neighbouring passes over memory run as one kernel."""
    overlaps_gradients: bool
    """Whether gradients are reduced behind the last backward."""
    overlaps_parameters: bool
    """Whether parameters are gathered ahead of the forward that needs them."""
    overlaps_pipeline: bool
    """Whether a stage computes on while it sends."""
    reduce_bytes: int
    """Width in which gradients are reduced."""
    bucket_bytes: float = inf
    """Most of gradients that one reduction takes; what is larger goes one after the other."""
    host: str
    """Whose times of the host hold: a group `host-…` of `pace.toml`."""
    optimizer_passes: float
    """Passes over gradients besides the optimizer's own: norm, scale, copies."""
    source: str


@cache
def _table() -> dict[str, Framework]:
    document: dict[str, Any] = tomllib.loads((DATA / "frameworks.toml").read_text("utf-8"))
    rows = msgspec.convert(document["framework"], list[Framework])
    return {_plain(name): row for row in rows for name in row.names}


def framework_of(name: str) -> Framework:
    """How a framework runs a step; UnknownName with the nearest ones otherwise."""
    found = _table().get(_plain(name))
    if found is None:
        raise UnknownName("framework", name, [row.names[0] for row in _table().values()])
    return found


def _plain(name: str) -> str:
    return name.lower().replace(" ", "")
