"""Constants: the numbers by which a release of the library weighs its algorithms, as data."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

Triple = tuple[float, float, float]
GENERATIONS = ("volta", "ampere", "hopper", "blackwell")


class Rules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a release combines its constants; the code that uses each says what for."""

    nvls: str
    ring_ll_share: float
    ring_ll_share_copying: float
    one_gpu_ll128: float
    ring_ll128: float
    inter_steps_more: int
    ll_network_factor: float
    net_overhead: bool
    inter_latency_adds: bool
    lone_ranks_by_tree: bool
    plateau: dict[str, float]
    plateau_from_share: int
    collnet_chain: float
    collnet_arity_us: float
    gather_direct: bool
    ll128_generations: tuple[str, ...]
    ll128_over_nvb: bool
    ll128_over_pxn: bool
    lone_tree: float
    tree_least_of_both: bool
    nvls_tree_corrected: bool
    max_channels: int
    nvls_heads: int
    nvls_channels: dict[str, int]
    double_from_GBps: dict[str, float]
    pxn: bool


class Ladders(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Speeds a channel [GB/s] that the graph search tries, fastest first, by generation."""

    intra: dict[str, tuple[float, ...]]
    inter: dict[str, tuple[float, ...]]


class Constants(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One release's constants.

    Triples of `*_us` are by protocol (LL, LL128, Simple), of `*_GBps` by nodes (1, 2, more).
    """

    release: str
    source: str
    basis: str
    algorithms: tuple[str, ...]
    base_us: dict[str, Triple]
    nvlink_us: dict[str, Triple]
    pcie_us: dict[str, Triple]
    network_us: dict[str, Triple]
    ll_GBps: dict[str, Triple]
    ring_ll128_GBps: dict[str, Triple]
    tree_ll128_GBps: dict[str, Triple]
    tree_GBps: dict[str, Triple]
    bus_limit_GBps: dict[str, float]
    tree_correction: tuple[tuple[float, ...], ...]
    rules: Rules
    ladders: Ladders
    nvls_tree_GBps: dict[str, Triple] = {}
    nvls_efficiency: dict[str, float] = {}
    note: str = ""
    check_source: str = ""

    def __hash__(self) -> int:
        return hash(self.release)


class Planning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the library credits links with, whatever they can do [GB/s, one direction]."""

    source: str
    nvlink_GBps: tuple[tuple[int, float], ...]
    xgmi_GBps: dict[str, float]
    pcie_lane_GBps: float
    socket_GBps: dict[str, float]
    intel_fast_socket_GBps: float
    intel_fast_from_GBps: float
    intel_p2p_overhead: float
    network_us: dict[str, float]


def generation(cc: int) -> str:
    """The row of NCCL's tables for a compute capability (90 is 9.0)."""
    return GENERATIONS[(cc >= 80) + (cc >= 90) + (cc >= 100)]


@cache
def releases() -> tuple[Constants, ...]:
    """All releases at which constants changed, oldest first."""
    merged: dict[str, Any] = {}
    found = []
    for row in _document()["since"]:
        merged = _over({k: v for k, v in merged.items() if k not in _OWN}, row)
        found.append(msgspec.convert(merged, Constants))
    return tuple(found)


@cache
def constants_of(version: tuple[int, ...]) -> Constants:
    """The constants of a release such as (2, 27, 3); of the oldest known for older ones."""
    known = [c for c in releases() if _number(c.release) <= version[:2]]
    return known[-1] if known else releases()[0]


@cache
def planning() -> Planning:
    """What the library credits links with."""
    return msgspec.convert(_document()["planning"], Planning)


_OWN = ("release", "source", "basis", "note", "check_source")


@cache
def _document() -> dict[str, Any]:
    text = files("wirespeed.catalog").joinpath("data/library_nccl.toml").read_text("utf-8")
    return tomllib.loads(text)


def _over(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """A release's row over the one before it, table by table."""
    result = dict(old)
    for key, value in new.items():
        kept = result.get(key)
        if isinstance(kept, dict) and isinstance(value, dict):
            result[key] = _over(kept, value)
        else:
            result[key] = value
    return result


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))
