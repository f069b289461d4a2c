"""search: the parameters that bring forecasts closest to measurements.

Deterministic: steps up and down along each parameter's logarithm, longer where they help, shorter
where they do not. A parameter is tried on the rows that depend on it alone. What no row depends on
stays where it began: every move costs a little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from wirespeed.catalog import Parameters
from wirespeed.collectives.costs import Medium
from wirespeed.validation.fitting import Sample

Bools = npt.NDArray[np.bool_]

_PULL = 2e-4
"""What a squared logarithm of a parameter's move costs."""
_LEAST_STRIDE = 2e-3


def search(data: Sample, start: Parameters, keys: Sequence[str], *, rounds: int = 40) -> Parameters:
    """Parameters near `start` with the least loss on `data`, `keys` moved."""
    values = {key: start.number(key) for key in keys}
    stride = dict.fromkeys(keys, 0.25)
    parts = {key: data.part(depends_on(data, key)) for key in keys}
    for _ in range(rounds):
        moved = False
        for key in keys:
            if not parts[key].rows or stride[key] < _LEAST_STRIDE:
                continue
            better = _step(parts[key], start, values, key, stride[key])
            if better is None:
                stride[key] *= 0.6
            else:
                values, moved = better, True
                stride[key] = min(stride[key] * 1.5, 0.5)
        if not moved and max(stride.values()) < _LEAST_STRIDE:
            break
    return changed(start, values)


def depends_on(data: Sample, key: str) -> Bools:
    """[rows] whether a row's time can depend on a parameter."""
    group, name, *_ = key.split(".")
    met = data.steps + data.messages
    across: Bools = (met[:, Medium.NETWORK] > 0) | (data.switched[:, 1] > 0)
    kinds = [data.kinds[kind] for kind in data.kind]
    if group == "generation" and name != "other":
        return np.array([kind.generation == name for kind in kinds])
    if group == "transport" and name == "pcie":
        used: Bools = met[:, Medium.PCIE] > 0
        return used
    if group == "transport" and name not in ("sharp", "host"):
        # InfiniBand's values stand in where a network has none of its own.
        own: Bools = np.array([kind.network == name or name == "infiniband" for kind in kinds])
        return across & own
    return np.ones(len(data.rows), np.bool_)


def changed(start: Parameters, values: Mapping[str, float]) -> Parameters:
    """The parameters with other values."""
    table = dict(start.table)
    for key, value in values.items():
        table[key] = msgspec.structs.replace(table[key], value=value)
    return Parameters(table, "")


def _step(
    part: Sample, start: Parameters, values: dict[str, float], key: str, stride: float
) -> dict[str, float] | None:
    """Values with one parameter moved up or down, if that lowers the cost."""

    def cost(trial: Mapping[str, float]) -> float:
        away = np.log(trial[key] / start.number(key)) ** 2
        return part.loss(changed(start, trial)) + _PULL * float(away)

    now = cost(values)
    for factor in (1 + stride, 1 / (1 + stride)):
        value = values[key] * factor
        trial = {**values, key: min(value, 1.0) if key.endswith("share") else value}
        if cost(trial) < now - 1e-7:
            return trial
    return None
