"""fit_all: every fitted parameter, in two stages; and the same with whole folds held out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from wirespeed.catalog import Parameters
from wirespeed.comparison.bands import BandClass
from wirespeed.comparison.classes import Platform
from wirespeed.validation.bands import PARTS, Residual, part_of
from wirespeed.validation.fitting import Sample
from wirespeed.validation.search import changed, search

_OF_GENERATION = ("step_ll", "step_simple", "call", "fill")
_OF_NVLS = ("nvls_share", "nvls_step", "nvls_fill")
_OF_NETWORK = ("share", "step_ll", "step_simple", "fill", "message")
NEAR = (
    *(f"generation.{g}.{key}" for g in ("ampere", "hopper", "blackwell") for key in _OF_GENERATION),
    *(f"generation.{g}.{key}" for g in ("hopper", "blackwell") for key in _OF_NVLS),
    *(f"generation.{g}.{key}" for g in ("volta", "cdna3") for key in _OF_GENERATION),
    "generation.other.call",
    "launch.thread.call",
    "protocol.ll.share",
    "protocol.ll128.call",
    "protocol.simple.call",
    "protocol.direct.call",
    "protocol.direct.share",
    "gpu.copy.rate",
    "pipeline.pieces.exponent",
    *(f"transport.pcie.{key}" for key in ("step_ll", "step_simple", "fill")),
)
"""What rows within one NVLink domain or node decide."""
FAR = (
    *(
        f"transport.{network}.{key}"
        for network in ("infiniband", "ethernet", "efa", "efa2", "slingshot", "tcpx")
        for key in _OF_NETWORK
    ),
    "protocol.ll.network_share",
    "protocol.ll128.network_share",
    "transport.sharp.step",
)
"""What rows beyond one NVLink domain decide, once the others are known."""


def beginning(shipped: Parameters) -> Parameters:
    """The parameters before any fit: where one begins is written beside each fitted value."""
    begun = {key: entry.start for key, entry in shipped.table.items() if entry.start is not None}
    return changed(shipped, begun)


def fit_all(data: Sample, start: Parameters) -> Parameters:
    """The parameters that fit the rows: first those within a domain, then the network's."""
    beyond = _beyond(data)
    near = search(data.part(~beyond), start, NEAR)
    return search(data.part(beyond), near, FAR)


def cross_fitted(data: Sample, start: Parameters) -> Iterator[tuple[Parameters, Sample]]:
    """For each part of the folds: parameters fitted without it, and its rows."""
    parts = np.array([part_of(row.fold) for row in data.rows])
    for part in range(PARTS):
        unseen = parts == part
        if unseen.any():
            yield fit_all(data.part(~unseen), start), data.part(unseen)


def residuals_of(data: Sample, parameters: Parameters) -> list[Residual]:
    """How far the forecasts of rows lie off under some parameters."""
    errors = data.times(parameters) / data.measured - 1
    return [
        Residual(
            BandClass(row.platform, row.size_class, row.operation, row.generation),
            row.fold,
            float(error),
        )
        for row, error in zip(data.rows, errors, strict=True)
    ]


def _beyond(data: Sample) -> npt.NDArray[np.bool_]:
    return np.array([row.platform == Platform.NETWORK.value for row in data.rows])
