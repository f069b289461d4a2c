"""The closed sets of the graph: kinds of components, kinds of links, distances of devices."""

from __future__ import annotations

from enum import IntEnum


class ComponentKind(IntEnum):
    """What stands at a vertex. `word` is how addresses spell it."""

    GPU = 0
    CPU = 1
    """One NUMA node with its memory; a socket in NPS4 mode has four."""
    ROOT = 2
    """A host bridge: the PCIe ports below it reach each other without leaving it."""
    PCIE = 3
    NVSWITCH = 4
    NIC = 5
    LEAF = 6
    SPINE = 7
    CORE = 8

    @property
    def word(self) -> str:
        """The address word: gpu, cpu, root, pcie, nvswitch, nic, leaf, spine, core."""
        return self.name.lower()


class LinkKind(IntEnum):
    """What an edge is made of."""

    PCIE = 0
    NVLINK = 1
    XGMI = 2
    C2C = 3
    CPU = 4
    """Between NUMA nodes: QPI, UPI, socket xGMI, or on the die."""
    ROOT = 5
    """Between a host bridge and its NUMA node; inside the chip."""
    NETWORK = 6

    @property
    def word(self) -> str:
        """The name in JSON."""
        return self.name.lower()


class PathType(IntEnum):
    """NCCL's distance of two devices, nearest first (the order of NCCL 2.27 and later)."""

    LOC = 0
    NVL = 1
    NVB = 2
    C2C = 3
    PIX = 4
    PXB = 5
    P2C = 6
    PXN = 7
    PHB = 8
    SYS = 9
    NET = 10
    DIS = 11


class SmiWord(IntEnum):
    """nvidia-smi's distance of two devices over PCIe, nearest first."""

    PIX = 0
    PXB = 1
    PHB = 2
    NODE = 3
    SYS = 4
