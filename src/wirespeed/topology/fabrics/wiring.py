"""Wiring: how a fabric carries a message from one NIC to another."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from wirespeed.topology.fabrics.crowds import Crowd
from wirespeed.topology.paths import Paths

Ints = npt.NDArray[np.int32]


class Routing(StrEnum):
    """How a fabric chooses among paths of equal cost."""

    STATIC = "static"
    """By destination, as InfiniBand's fat-tree routing does: shifts never collide."""
    ECMP = "ecmp"
    """By a seeded hash of the flow: flows may collide."""
    SPRAY = "spray"
    """Packets spread evenly over all: adaptive routing at its best."""


@runtime_checkable
class Wiring(Protocol):
    """A fabric that is already part of a topology's links."""

    @property
    def name(self) -> str:
        """What the fabric is called, such as `fat-tree`."""
        ...

    @property
    def description(self) -> str:
        """One line: tiers, switches, radix, oversubscription."""
        ...

    def reachable(self, source: Ints, target: Ints) -> npt.NDArray[np.bool_]:
        """[t] whether NIC `source` reaches NIC `target` (component ids)."""
        ...

    def paths(
        self,
        source: Ints,
        target: Ints,
        *,
        routing: Routing = Routing.STATIC,
        seed: int = 0,
        capacity: npt.NDArray[np.float64] | None = None,
    ) -> Paths:
        """[t] the links between NICs (component ids), the NICs' own cables included.

        `capacity` [links]: where given, paths avoid links that are down (0) while another path of
        equal cost is left. Raises Infeasible where none is.
        """
        ...

    def crowd_loads(
        self,
        source: Crowd,
        target: Crowd,
        *,
        routing: Routing,
        capacity: npt.NDArray[np.float64],
        seed: int = 0,
    ) -> npt.NDArray[np.float64] | None:
        """[links up to the fabric's last] bytes on each where every end sends to every partner.

        The same as adding up the paths of all pairs, without making them. None where a wiring
        knows no way but a look at each pair.
        """
        ...
