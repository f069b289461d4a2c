"""Candidate: one way to do an operation, as a time over size."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


class Place(IntEnum):
    """Classes of resources that calls share, or do not: what runs on others is not slowed."""

    NVLINK = 0
    """NVLink and xGMI, with what switches them."""
    PCIE = 1
    NETWORK = 2
    """NICs, cables and switches of the fabric."""
    HOST = 3
    """Host memory, links between sockets and from CPU to GPU."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One algorithm under one protocol.

        time = latency + S per_byte + S local + 2 fill^(1-e) (S per_byte)^e

    The last term is a pipeline's price: data cut into k pieces pays k times the overhead of a piece
    and the filling of the pipeline with one piece. With the best k that is twice the root of their
    product (e = 1/2). Pieces have a largest size, beyond which filling grows no more, so that over
    the whole range e is a little less.

    Attributes:
        channels: the most that it runs on.
        latency: [s] of the call and all its steps.
        per_byte: [s/B] on the bottleneck, protocol and transport overhead included.
        local: [s/B] for what a GPU does with its own memory while no link works for it.
        fill: [s] of overhead in the pipeline; 0 where nothing is cut into pieces.
        bottleneck: the resource that sets `per_byte`; -1 for none.
        payload: bytes of payload that cross the bottleneck for each byte of the operation.
        work: by `Place`, s for each byte that the busiest resource there works, overhead included.
    """

    algorithm: str
    protocol: str
    channels: int
    latency: float
    per_byte: float
    bottleneck: int
    payload: float
    local: float = 0.0
    fill: float = 0.0
    exponent: float = 0.5
    work: tuple[float, ...] = ()

    def time(self, sizes: Floats) -> Floats:
        """[s] for sizes [B]."""
        wire = sizes * self.per_byte
        times: Floats = self.latency + wire + sizes * self.local
        if self.fill:
            times += 2 * self.fill ** (1 - self.exponent) * wire**self.exponent
        return times
