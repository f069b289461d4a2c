"""The NICs that hang on a fabric, found by component id."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.errors import Infeasible
from wirespeed.topology.assemble import Ports

Ids = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class PortTable:
    """The `ports`, and [components] `lookup`: the position of each, -1 for anything else."""

    fabric: str
    ports: Ports
    lookup: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.ports.component)

    def find(self, component: npt.ArrayLike) -> Ids:
        """[n] positions of NICs among the ports; Infeasible where one has no port here."""
        ids = np.atleast_1d(np.asarray(component, np.int64))
        inside = ids < len(self.lookup)
        found = np.where(inside, self.lookup[np.where(inside, ids, 0)], -1).astype(np.int64)
        if (found < 0).any():
            raise Infeasible(
                f"component {int(ids[found < 0][0])} has no port on fabric {self.fabric}",
                why="a fabric joins the compute NICs of the nodes",
                remedy="route from NIC to NIC",
            )
        return found

    def refuse(self, a: Ids, b: Ids, bad: Bools, why: str, remedy: str = "") -> None:
        """Raises Infeasible naming the first bad pair of positions, where there is one."""
        if not bad.any():
            return
        t = int(np.flatnonzero(bad)[0])
        raise Infeasible(
            f"fabric {self.fabric} has no path from {self._name(a[t])} to {self._name(b[t])}",
            why=why,
            remedy=remedy or "bring a link up, or leave one of the nodes out",
        )

    def _name(self, port: int) -> str:
        return f"node{self.ports.node[port]}'s NIC on rail {self.ports.rail[port]}"


def port_table(fabric: str, ports: Ports) -> PortTable:
    """The table of these ports; Infeasible where there are none."""
    if len(ports.component) == 0:
        raise Infeasible(
            f"fabric {fabric} has nothing to connect",
            why="these machines have no NIC on a rail",
            remedy="take a machine with compute NICs, or a single node without fabric",
        )
    lookup = np.full(int(ports.component.max()) + 1, -1, np.int32)
    lookup[ports.component] = np.arange(len(ports.component))
    return PortTable(fabric, ports, lookup)
