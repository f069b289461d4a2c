"""Counting an exchange of everyone with everyone gives what adding up its messages gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from collectives.collective_cases import cluster, group, machine, rows
from wirespeed.collectives.blocks import carry_block
from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.schedule import Block
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, Group, build_cluster, everyone
from wirespeed.topology.fabrics.clos import ClosDesign
from wirespeed.topology.fabrics.generic import (
    DRAGONFLY,
    DUAL_PLANE,
    FAT_TREE,
    LEAF_SPINE,
    RAIL_OPTIMISED,
    SINGLE,
    THREE_TIER,
)
from wirespeed.topology.fabrics.sizing import Tier

ROUTINGS = ("static", "spray", "ecmp")


def small(design: ClosDesign, radix: int = 8) -> ClosDesign:
    """The design with switches of so few ports that it has several tiers."""
    return replace(design, leaf=Tier(radix), spine=Tier(radix), core_ports=4 * radix)


FABRICS = {
    "one switch": SINGLE,
    "a tree a rail": small(FAT_TREE, 4),
    "rail-optimised": small(RAIL_OPTIMISED),
    "leaf-spine, 2:1": replace(LEAF_SPINE, leaf=Tier(48, oversubscription=2.0)),
    "three tiers": replace(small(THREE_TIER, 32), spine=Tier(16)),
    "two planes": replace(small(DUAL_PLANE, 16), planes=2),
    "dragonfly": DRAGONFLY,
}


def assert_counted(on: Cluster, members: Group) -> None:
    """The same load of every kind on every resource, and the same slowest message."""
    carrier, block = Carrier(on, members), Block(len(members), 1 / len(members))
    counted, share = carry_block(carrier, block)
    added = carrier.carry(block.pairs())
    assert counted.loads.keys() == added.loads.keys()
    for term, load in added.loads.items():
        np.testing.assert_allclose(counted.loads[term], load, rtol=1e-12, atol=1e-15)
    assert _slowest(counted.medium, counted.latency) == pytest.approx(
        _slowest(added.medium, added.latency)
    )
    kinds = [np.bincount(m, s, minlength=3) for m, s in ((counted.medium, share),)]
    assert kinds[0] == pytest.approx(
        np.bincount(added.medium, np.full(len(added.medium), block.share), minlength=3)
    )


def _slowest(medium: np.ndarray, latency: np.ndarray) -> tuple[int, float]:
    return max(zip(medium.tolist(), latency.tolist(), strict=True))


@pytest.mark.parametrize("routing", ROUTINGS)
@pytest.mark.parametrize("fabric", FABRICS)
def test_on_every_fabric_and_routing(fabric: str, routing: str):
    on = build_cluster(
        machine("dgx-h100"),
        nodes=9,
        fabric=(fabric, FABRICS[fabric]),
        changes=[parse_change(f"routing={routing}")],
    )
    assert_counted(on, everyone(on))


@pytest.mark.parametrize(
    "changes",
    [
        ("pxn=off",),
        ("gdr=off",),
        ("net=socket",),
        ("leaf0>spine0=0.5",),
        ("leaf0>spine0=down",),
        ("node1/nic3=down",),
        ("node1/nic3=down", "pxn=off"),
        ("node2/gpu1>node2/nvswitch0=down", "routing=spray"),
        ("leaf0>spine0=0.5", "routing=spray"),
    ],
)
def test_under_changes(changes: tuple[str, ...]):
    on = build_cluster(
        machine("dgx-h100"),
        nodes=6,
        fabric=("rail-optimised", small(RAIL_OPTIMISED)),
        changes=map(parse_change, changes),
    )
    assert_counted(on, everyone(on))


@pytest.mark.parametrize("ranks", [[0, 1, 8, 17], [0, 8, 16], list(range(3)), [23, 4, 9, 12, 0]])
def test_among_some_of_the_gpus(ranks: list[int]):
    on = cluster("dgx-h100", 3)
    assert_counted(on, group(on, ranks))


@pytest.mark.parametrize(
    ("preset", "units"),
    [("gb200-nvl72", 2), ("pcie-8x-rtx4090", 3), ("dgx-1v", 2), ("mi300x-8", 2), ("dgx-h100", 1)],
)
def test_on_other_machines(preset: str, units: int):
    on = cluster(preset, units)
    assert_counted(on, everyone(on))


def test_nodes_of_one_rack_stand_at_several_leaves_whatever_the_order_of_their_ranks():
    on = cluster("gb200-nvl72", 2)
    draw = np.random.default_rng(5)
    for _ in range(8):
        ranks = np.sort(draw.choice(144, 60, replace=False))
        assert_counted(on, group(on, ranks.tolist()))
        assert_counted(on, group(on, draw.permutation(ranks).tolist()))


@pytest.mark.parametrize("name", ["dgx-1v", "gh200-4", "polaris", "mi250x-8", "dgx-h100"])
def test_an_alltoall_does_not_depend_on_the_order_of_ranks(name: str):
    # Nodes take part with different numbers of GPUs: one alone, which nobody hands data to, too.
    on, draw = cluster(name, 3), np.random.default_rng(3)
    size = len(everyone(on)) // 3
    for _ in range(6):
        ranks = draw.choice(2 * size, size, replace=False).tolist()
        (first, second) = (
            rows("alltoall", on, [2**20], group(on, chosen))[0].time_us
            for chosen in ([*ranks, 2 * size], [2 * size, *ranks])
        )
        assert first == pytest.approx(second)
