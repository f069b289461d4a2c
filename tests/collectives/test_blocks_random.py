"""Counted is added up, on random fabrics with random faults, routings and ranks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, note, reject, settings
from hypothesis import strategies as st

from collectives.bound_cases import switched
from collectives.collective_cases import group
from collectives.test_blocks import assert_counted, small
from wirespeed.collectives.blocks import carry_block
from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.schedule import Block
from wirespeed.errors import Infeasible
from wirespeed.topology.address import name_of
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, Group, build_cluster, everyone
from wirespeed.topology.fabrics.dragonfly import DragonflyDesign
from wirespeed.topology.fabrics.generic import (
    DRAGONFLY,
    DUAL_PLANE,
    FAT_TREE,
    LEAF_SPINE,
    RAIL_OPTIMISED,
    THREE_TIER,
)
from wirespeed.topology.fabrics.placement import Placement
from wirespeed.topology.fabrics.sizing import Tier

DESIGNS = {
    "a tree a rail": small(FAT_TREE, 4),
    "rails": small(RAIL_OPTIMISED, 8),
    "leaf-spine": replace(LEAF_SPINE, leaf=Tier(8), spine=Tier(8)),
    "leaf-spine, 2:1": replace(LEAF_SPINE, leaf=Tier(6, oversubscription=2.0), spine=Tier(8)),
    "trunks": replace(LEAF_SPINE, leaf=Tier(16), spine=Tier(32)),
    "three tiers": replace(THREE_TIER, leaf=Tier(4), spine=Tier(4), core_ports=8),
    "fat three tiers": replace(THREE_TIER, leaf=Tier(8), spine=Tier(4), core_ports=16),
    "planes": replace(small(DUAL_PLANE, 8), planes=2),
    "dragonfly, one group": DRAGONFLY,
    "dragonfly": DragonflyDesign(
        "df", Placement.NODE, ports=2, switches=4, global_ports=3, groups=5, pair_links=3
    ),
    "dragonfly, one cable a pair": DragonflyDesign(
        "df", Placement.NODE, ports=2, switches=3, global_ports=2, groups=7, pair_links=1
    ),
}


@dataclass(frozen=True, eq=False)
class Case:
    """A cluster and a group, and in a few words what they are."""

    on: Cluster = field(repr=False)
    members: Group = field(repr=False)
    what: tuple[object, ...]


@st.composite
def crowds(draw: st.DrawFn):
    """A cluster on a small fabric with some links slow or down, and some of its GPUs."""
    name = draw(st.sampled_from(sorted(DESIGNS)))
    nodes = draw(st.integers(2, 10))
    gpus = draw(st.sampled_from((1, 2, 4)))
    try:
        whole = build_cluster(switched(gpus), nodes=nodes, fabric=(name, DESIGNS[name]))
    except Infeasible:  # The fabric holds fewer nodes.
        reject()
    topology = whole.topology
    first = int(topology.first_link[-1])
    changes = [f"routing={draw(st.sampled_from(('static', 'spray', 'ecmp')))}"]
    if draw(st.booleans()):
        changes.append("pxn=off")
    for link in draw(st.sets(st.integers(first, topology.links - 1), max_size=4)):
        ends = (int(topology.source[link]), int(topology.target[link]))
        cable = draw(st.sampled_from(">-")).join(name_of(topology, end) for end in ends)
        changes.append(f"{cable}={draw(st.sampled_from(('down', 'down', '0.5', '0.25')))}")
    on = build_cluster(
        switched(gpus),
        nodes=nodes,
        fabric=(name, DESIGNS[name]),
        changes=[parse_change(change) for change in changes],
    )
    on = replace(on, seed=draw(st.integers(0, 3)))
    ranks = draw(st.permutations(range(len(everyone(on)))))
    members = group(on, ranks[: draw(st.integers(2, len(ranks)))])
    return Case(on, members, (name, nodes, gpus, *changes))


@pytest.mark.slow
@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(crowds())
def test_counted_is_added_up(case):
    on, members = case.on, case.members
    note(str(case.what))
    block = Block(len(members), 1 / len(members))
    carrier = Carrier(on, members)
    try:
        carrier.carry(block.pairs())
    except Infeasible:
        with pytest.raises(Infeasible):
            carry_block(carrier, block)
        return
    assert_counted(on, members)


@pytest.mark.parametrize("fabric", ["planes", "rails"])
def test_who_has_no_proxy_on_a_rail_may_be_farther_than_those_around_it(fabric: str):
    # Rank 4 stands alone in its node and crosses spines to rail 1, which nodes 0 and 2 reach by it.
    on = build_cluster(switched(4), nodes=3, fabric=(fabric, DESIGNS[fabric]))
    assert_counted(on, group(on, [0, 1, 4, 8, 9]))


@pytest.mark.parametrize(
    ("fabric", "nodes", "gpus", "routing"),
    [
        ("dragonfly, one cable a pair", 7, 2, "spray"),
        ("dragonfly, one cable a pair", 7, 1, "static"),
        ("dragonfly", 10, 1, "spray"),
    ],
)
def test_the_farthest_pair_of_a_dragonfly_may_stand_in_its_middle(
    fabric: str, nodes: int, gpus: int, routing: str
):
    on = build_cluster(
        switched(gpus),
        nodes=nodes,
        fabric=(fabric, DESIGNS[fabric]),
        changes=[parse_change(f"routing={routing}"), parse_change("pxn=off")],
    )
    assert_counted(on, everyone(on))
