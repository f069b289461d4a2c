"""Combined: what some files say together of a machine and the job on it."""

from __future__ import annotations

from dataclasses import dataclass

from wirespeed.topology.machine import Machine
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.software import Software


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """A machine, how many nodes the files show of it, and the design that it has, where one does.

    A design has no place for lost links and narrow slots, nor for what only a topology file tells.
    `software` is the library with its settings, where a log tells them.
    """

    machine: Machine
    nodes: int
    design: NodeDesign | None = None
    software: Software | None = None
