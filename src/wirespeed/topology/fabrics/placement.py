"""Placement: which leaf, and which of its ports, each NIC is cabled to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from wirespeed.topology.assemble import Ports

Ids = npt.NDArray[np.int64]


class Placement(StrEnum):
    """What shares a leaf."""

    NODE = "node"
    """All NICs of a node, as racks with a top-of-rack switch are cabled."""
    RAIL = "rail"
    """The NICs of one rail of a group of nodes: rail-optimised."""


@dataclass(frozen=True, slots=True)
class Census:
    """How many ports of what kind a fabric must hold, as if all nodes were equal.

    Attributes:
        nodes: nodes with compute NICs.
        rails: rails among them.
        nics: compute NICs of the largest node.
        per_rail: NICs of one node on one rail, at most.
    """

    nodes: int
    rails: int
    nics: int
    per_rail: int


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Where the ports went.

    Attributes:
        leaf, slot: [ports] leaf from 0, and position among the ports of that leaf.
        rail, block: [leaves] rail (0 without rails) and position among the leaves of that rail.
    """

    leaf: Ids
    slot: Ids
    rail: Ids
    block: Ids


def census(ports: Ports) -> Census:
    """Counts of the ports that are there."""
    _, node = np.unique(ports.node, return_inverse=True)
    rails, rail = np.unique(ports.rail, return_inverse=True)
    nodes = int(node.max()) + 1
    per_rail = np.bincount(node.astype(np.int64) * len(rails) + rail)
    return Census(nodes, len(rails), int(np.bincount(node).max()), int(per_rail.max()))


def place(ports: Ports, placement: Placement, per_leaf: int) -> Placed:
    """The leaf of each port, with at most `per_leaf` ports a leaf."""
    if placement is Placement.RAIL:
        return _by_rail(ports, per_leaf)
    return _by_node(ports, per_leaf)


def leaves_needed(count: Census, placement: Placement, per_leaf: int) -> tuple[int, int]:
    """Leaves of one rail, and rails, that so many equal nodes need; one rail if by node."""
    if placement is Placement.RAIL:
        return -(-count.nodes * count.per_rail // per_leaf), count.rails
    if count.nics <= per_leaf:
        return -(-count.nodes // (per_leaf // count.nics)), 1
    return -(-count.nodes * count.nics // per_leaf), 1


def _by_rail(ports: Ports, per_leaf: int) -> Placed:
    """Leaves in the order of blocks of nodes, and of rails within: leaf 0 to 7 are one group."""
    rails, rail = np.unique(ports.rail, return_inverse=True)
    order = np.argsort(rail, kind="stable")
    counts = np.bincount(rail)
    position = np.empty(len(rail), np.int64)
    position[order] = np.arange(len(rail)) - np.repeat(np.cumsum(counts) - counts, counts)
    block, slot = np.divmod(position, per_leaf)
    key = block * len(rails) + rail
    taken = np.bincount(key) > 0
    leaf = (np.cumsum(taken) - 1)[key]
    block_of, rail_of = np.divmod(np.flatnonzero(taken), len(rails))
    return Placed(leaf, slot, rail_of, block_of)


def _by_node(ports: Ports, per_leaf: int) -> Placed:
    """Whole nodes fill a leaf; a node with more NICs than a leaf has ports spans several."""
    position = np.arange(len(ports.node))
    starts = np.flatnonzero(np.diff(ports.node, prepend=ports.node[0] - 1))
    largest = int(np.diff(starts, append=len(position)).max())
    if largest > per_leaf:
        leaf, slot = np.divmod(position, per_leaf)
    else:
        rank = np.searchsorted(starts, position, side="right") - 1
        leaf = rank // (per_leaf // largest)
        slot = position - np.searchsorted(leaf, leaf)
    leaves = np.arange(int(leaf[-1]) + 1)
    return Placed(leaf, slot, np.zeros_like(leaves), leaves)
