"""parameter_set: the parameters that were fitted, or those of wires that lose nothing."""

from __future__ import annotations

import math
from functools import cache

import msgspec

from wirespeed.catalog._parameters import Parameters, parameters
from wirespeed.errors import UnknownName

_IDEAL = {"1": 1.0, "us": 0.0, "GB/s": math.inf}
"""By unit: all of a wire is payload, nothing but links takes time, copying has no limit."""


def parameter_set(name: str) -> Parameters:
    """The parameters of that name, `fitted` or `ideal`; UnknownName for another."""
    match name:
        case "fitted":
            return parameters()
        case "ideal":
            return _ideal()
    raise UnknownName("set of parameters", name, ("fitted", "ideal"), where="--parameters")


@cache
def _ideal() -> Parameters:
    """What is left is arithmetic on the graph: bytes over bandwidths, and latencies of links."""
    table = {
        key: msgspec.structs.replace(fitted, value=_IDEAL[fitted.unit])
        for key, fitted in parameters().table.items()
    }
    return Parameters(table, Parameters.hashed(table))
