"""Selection: what NCCL_ALGO or NCCL_PROTO allows for each operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from wirespeed.collectives.library.names import CHOSEN, Algorithm
from wirespeed.collectives.operation import Operation
from wirespeed.collectives.protocol import Protocol

Name = TypeVar("Name", Algorithm, Protocol)
Selection = Mapping[Operation, frozenset[Name]]
"""Allowed names by operation; an operation that is missing is free."""

_FUNCTIONS = {operation.value.replace("_", ""): operation for operation in CHOSEN}
_ALGORITHMS = {
    **{name.value.lower(): (name,) for name in Algorithm},
    "collnet": (Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN),
    "sharp": (Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN, Algorithm.NVLS),
    "collnetsharp": (Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN),
}
_PROTOCOLS = {name.value.lower(): (name,) for name in Protocol}


def select_algorithms(text: str) -> tuple[Selection[Algorithm], tuple[str, ...]]:
    """The algorithms that a text such as `ring;allreduce:^tree,nvls` allows, and unknown words.

    A list without a function is for all; `^` allows all but the list. Lists of functions follow,
    separated by semicolons. Source: NCCL's documentation of NCCL_ALGO.
    """
    return _select(text, _ALGORITHMS, frozenset(Algorithm))


def select_protocols(text: str) -> tuple[Selection[Protocol], tuple[str, ...]]:
    """The protocols that a text such as `^LL128;allreduce:LL128` allows, and unknown words."""
    return _select(text, _PROTOCOLS, frozenset(Protocol))


def _select(
    text: str, known: Mapping[str, tuple[Name, ...]], everything: frozenset[Name]
) -> tuple[Selection[Name], tuple[str, ...]]:
    allowed: dict[Operation, frozenset[Name]] = {}
    unknown: list[str] = []
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        function, _, names = part.rpartition(":")
        operations = _operations(function)
        if not operations:
            unknown.append(function)
            continue
        words = [word for word in names.strip().lstrip("^").split(",") if word.strip()]
        found: set[Name] = set()
        for word in words:
            meant = known.get(_plain(word), ())
            found.update(meant)
            if not meant:
                unknown.append(word.strip())
        if not found:
            continue
        picked = everything - found if names.strip().startswith("^") else frozenset(found)
        allowed |= dict.fromkeys(operations, picked)
    return allowed, tuple(unknown)


def _operations(function: str) -> tuple[Operation, ...]:
    if not function.strip():
        return CHOSEN
    found = _FUNCTIONS.get(_plain(function))
    return () if found is None else (found,)


def _plain(word: str) -> str:
    return "".join(c for c in word.lower() if c.isalnum())
