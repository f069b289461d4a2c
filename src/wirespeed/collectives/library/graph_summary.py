"""GraphSummary: what the library's search found for one pattern; Team: who takes part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wirespeed.collectives.library.constants import generation
from wirespeed.collectives.library.names import Algorithm
from wirespeed.topology.kinds import PathType


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """Channels that fit on the graph, as the library sees it.

    Attributes:
        channels: of the search; what runs is `Graphs.coll_channels` or `Graphs.nvls_channels`.
        bw_intra, bw_inter: what one channel is credited with inside a node and between [GB/s].
        type_intra, type_inter: the farthest hop between GPUs, and between a GPU and its NIC.
        latency_inter: what the network plugin reports [us].
        cross_nic: whether a ring may leave a node by another NIC than it came in by.
        same_channels: whether all channels have one order.
    """

    channels: int
    bw_intra: float
    bw_inter: float
    type_intra: PathType
    type_inter: PathType
    latency_inter: float = 0.0
    cross_nic: bool = False
    same_channels: bool = True


@dataclass(frozen=True, slots=True)
class Graphs:
    """The graphs of one group; an algorithm that has none is missing.

    `coll_channels` run for rings, trees and CollNet, `nvls_channels` for NVLS and NVLSTree.
    """

    of: Mapping[Algorithm, GraphSummary]
    coll_channels: int
    nvls_channels: int


@dataclass(frozen=True, slots=True)
class Team:
    """A communicator as the cost model sees it.

    `nodes` counts NVLink domains where these span nodes; `cc` is the compute capability (90 is
    9.0), `cpu` the CPUs' vendor, `gfx` AMD's name of the instruction set.
    """

    ranks: int
    nodes: int
    cc: int
    cpu: str = ""
    gfx: str = ""

    @property
    def per_node(self) -> float:
        """Ranks a node, on average."""
        return self.ranks / self.nodes

    @property
    def generation(self) -> str:
        """The row of the tables by GPU."""
        return generation(self.cc)

    @property
    def scale(self) -> int:
        """The column of the tables: one node, two, more."""
        return min(self.nodes, 3) - 1
