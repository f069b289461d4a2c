"""Result: what every answer of this package has in common, and the one way out to JSON."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any

import msgspec

from wirespeed._version import __version__
from wirespeed.errors import Infeasible
from wirespeed.topology.software import Notice


class ParameterSet(msgspec.Struct, frozen=True):
    """Which parameters made the numbers."""

    hash: str
    """Of all keys and values."""


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked, by which version and parameters it was answered, and what to know about it.

    A result prints as tables, shows as HTML in a notebook, and goes to JSON and back unchanged.
    """

    version: str = msgspec.field(default_factory=lambda: __version__)
    inputs: dict[str, Any] = {}
    """What was asked for, by the names of the options."""
    parameters: ParameterSet
    warnings: tuple[Notice, ...] = ()

    def __str__(self) -> str:
        return str(_views().as_text(self))

    def _repr_html_(self) -> str:
        return str(_views().as_html(self))


def to_json(result: Result, *, indent: int = 1) -> bytes:
    """The result as JSON text. Infeasible, with the field, where a number is not finite."""
    plain = msgspec.to_builtins(result)
    for place, value in _numbers(plain, ""):
        if not math.isfinite(value):
            raise Infeasible(
                f"{place} is {value}",
                why="JSON has no such number",
                remedy="a resource that is needed is down or missing; `wirespeed topo` shows it",
            )
    return msgspec.json.format(msgspec.json.encode(plain), indent=indent)


def _numbers(value: Any, place: str) -> Iterator[tuple[str, float]]:
    """Every float of a tree with its place."""
    match value:
        case float():
            yield place, value
        case dict():
            for key, item in value.items():
                yield from _numbers(item, f"{place}.{key}" if place else key)
        case list() | tuple():
            for k, item in enumerate(value):
                yield from _numbers(item, f"{place}[{k}]")


def _views() -> Any:
    # By name: how a result looks is decided floors above, and only where someone looks.
    return importlib.import_module("wirespeed.views")
