"""Candidate: one way to do an operation, as a time over size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One algorithm under one protocol.

    time = latency + size * per_byte + fill * size / (size + knee): the last term is the filling of
    the pipeline, which grows with the pieces that data is cut into until they have full size.

    Attributes:
        latency: [s] of the call and all its steps.
        per_byte: [s/B] on the bottleneck, protocol and transport overhead included.
        fill: [s] most that filling the pipeline adds; `knee` [B] where half of it is there.
        bottleneck: the resource that sets `per_byte`; -1 for none.
        payload: bytes of payload that cross the bottleneck for each byte of the operation.
    """

    algorithm: str
    protocol: str
    channels: int
    latency: float
    per_byte: float
    bottleneck: int
    payload: float
    fill: float = 0.0
    knee: float = 1.0

    def time(self, sizes: Floats) -> Floats:
        """[s] for sizes [B]."""
        return self.latency + sizes * self.per_byte + self.fill * sizes / (sizes + self.knee)
