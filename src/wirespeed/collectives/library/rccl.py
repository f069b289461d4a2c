"""rccl_tuner: RCCL's fixed switches between protocols and algorithms, as a tuner's table."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from wirespeed.collectives.library.graph_summary import Team
from wirespeed.collectives.library.names import Algorithm
from wirespeed.collectives.library.tuner import Rule, Tuner
from wirespeed.collectives.operation import Operation
from wirespeed.collectives.protocol import Protocol

LL128_GPUS = ("gfx90a", "gfx942", "gfx950")
"""GPUs on which RCCL trusts stores of 128 bytes to arrive whole."""


class Range(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Up to where a protocol serves an operation [B a rank], and a tree for sure [B in all]."""

    gfx: tuple[str, ...]
    nodes: Literal["one", "more"]
    operation: Operation
    ll_bytes_per_rank: float
    source: str
    basis: Literal["read", "recall", "assumed"]
    ll128_bytes_per_rank: float = 0.0
    tree_bytes: float = 0.0
    note: str = ""


def rccl_tuner(team: Team) -> Tuner | None:
    """RCCL's table for a group; None for GPUs for which it has none and weighs times as NCCL does.

    Source: ROCm/rccl; library_rccl.toml names the places.
    """
    scope = "one" if team.nodes == 1 else "more"
    found = [r for r in _ranges() if team.gfx in r.gfx and r.nodes == scope]
    rules = tuple(rule for r in found for rule in _rules(r, team))
    return Tuner("RCCL", rules) if rules else None


def _rules(limits: Range, team: Team) -> Iterator[Rule]:
    """Lines in order of size; an open end follows the last limit."""
    ll, ll128 = (b * team.ranks for b in (limits.ll_bytes_per_rank, limits.ll128_bytes_per_rank))
    ends = {Protocol.LL: ll, Protocol.LL128: ll128, Protocol.SIMPLE: math.inf}
    # A ring that has its full bandwidth still waits for every rank: beyond the tree times decide.
    beyond = None if limits.tree_bytes else Algorithm.RING
    start = 0.0
    for protocol, end in ends.items():
        for algorithm, most in ((Algorithm.TREE, limits.tree_bytes), (beyond, math.inf)):
            stop = min(end, most)
            if stop > start or (start == 0.0 and stop > 0):
                yield Rule(limits.operation, start, stop, algorithm, protocol)
                start = math.nextafter(stop, math.inf)


@cache
def _ranges() -> tuple[Range, ...]:
    text = files("wirespeed.catalog").joinpath("data/library_rccl.toml").read_text("utf-8")
    return tuple(msgspec.convert(row, Range) for row in tomllib.loads(text)["range"])
