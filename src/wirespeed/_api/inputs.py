"""Inputs: what was asked for, as results carry it."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from wirespeed.inventory import Resolved
from wirespeed.topology.change import Change, render
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.machine import Machine
from wirespeed.topology.result import Result

R = TypeVar("R", bound=Result)


def inputs_of(**given: object) -> dict[str, Any]:
    """What was given, under the names of the options, as plain data; None is left out."""
    return {name: _plain(value) for name, value in given.items() if value is not None}


def with_inputs(result: R, inputs: dict[str, Any]) -> R:
    """The result with what was asked for."""
    return msgspec.structs.replace(result, inputs=inputs)


def _plain(value: object) -> Any:
    match value:
        case Cluster():
            return value.machine.name
        case Machine():
            return value.name
        case Resolved():
            return value.machine.name
        case Change():
            return render(value)
        case Group():
            return [int(gpu) for gpu in value.gpus]
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
    return value
