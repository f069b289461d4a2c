"""The kinds of fabrics that have no size of their own: they grow with the cluster."""

from __future__ import annotations

from wirespeed.topology.fabrics.clos import ClosDesign
from wirespeed.topology.fabrics.dragonfly import DragonflyDesign
from wirespeed.topology.fabrics.placement import Placement
from wirespeed.topology.fabrics.sizing import Tier

# One switch of a paper exercise: as many ports as there are NICs.
UNLIMITED = 2**31

SINGLE = ClosDesign(
    name="single", placement=Placement.NODE, leaf=Tier(UNLIMITED, up=0), tiers=(1, 1)
)
"""One switch that joins all NICs."""

LEAF_SPINE = ClosDesign(name="leaf-spine", placement=Placement.NODE, tiers=(2, 2))
"""Plain leaf-spine: nodes fill leaves, all NICs of a node on the same leaf."""

THREE_TIER = ClosDesign(name="three-tier", placement=Placement.NODE, tiers=(3, 3))
"""A k-ary fat tree of leaves, spines and cores; nodes fill leaves."""

RAIL_OPTIMISED = ClosDesign(name="rail-optimised", placement=Placement.RAIL, tiers=(2, 3))
"""A leaf for each rail of a group of nodes; rails meet in the spines, or in the cores."""

RAIL_ONLY = ClosDesign(name="rail-only", placement=Placement.RAIL, tiers=(1, 3), rails_apart=True)
"""One tree a rail and nothing between them: other rails are reached through NVLink only."""

FAT_TREE = ClosDesign(name="fat-tree", placement=Placement.RAIL, tiers=(1, 3), rails_apart=True)
"""The default of any platform: rail-optimised, one tree a rail, radix 64, 1:1.

One switch to 64 ports a rail, two tiers to 2,048, three to 65,536. The trees stand apart: at
65,536 ports a rail every port of the cores is taken, so rails meet inside the nodes only.
"""

DUAL_PLANE = ClosDesign(
    name="dual-plane",
    placement=Placement.RAIL,
    tiers=(2, 3),
    planes=2,
    leaf=Tier(128),
    spine=Tier(128),
    core_ports=128,
)
"""Two rail-optimised planes; each NIC has a port of half its rate on both."""

DRAGONFLY = DragonflyDesign(name="dragonfly", placement=Placement.NODE)
"""Groups of switches joined all to all, with the port counts of a large Slingshot system."""

GENERIC = {
    design.name: design
    for design in (
        SINGLE,
        LEAF_SPINE,
        THREE_TIER,
        RAIL_OPTIMISED,
        RAIL_ONLY,
        FAT_TREE,
        DUAL_PLANE,
    )
}
