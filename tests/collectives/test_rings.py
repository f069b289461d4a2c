"""Rings over nodes pass every rank once, keep to their rails and load all NICs alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectives.collective_cases import build, cluster, group, machine, option, rows
from wirespeed.collectives.algorithms.ring import ring_schedule
from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.costs import Term
from wirespeed.collectives.layout import layout_of
from wirespeed.collectives.operation import Operation
from wirespeed.collectives.rings import Rings, find_rings
from wirespeed.topology.cluster import Cluster, Group, everyone
from wirespeed.topology.kinds import ComponentKind, LinkKind, PathType

NODES = [
    "dgx-1v",
    "dgx-a100",
    "dgx-h100",
    "hgx-a100-4",
    "mi300x-8",
    "mi250x-8",
    "aws-p4d",
    "aws-p5",
    "aws-p5en",
    "gcp-a3-high",
    "polaris",
    "pcie-8x-h200-nvl-4way",
    "pcie-8x-a100-dual-root",
    "aws-g5",
    "gh200",
]
RACKS = ["gb200-nvl72", "vera-rubin-nvl72"]


def rings_of(on: Cluster, members: Group | None = None) -> Rings:
    return find_rings(layout_of(on, members or everyone(on)))


def check_rings(on: Cluster, members: Group, rings: Rings) -> None:
    """What holds for all rings: every rank once, NICs where the ring leaves a node, and up."""
    topology = on.topology
    everybody = np.arange(len(members))
    assert (np.sort(rings.order, axis=1) == everybody).all()
    assert rings.weight.sum() == pytest.approx(1)
    assert ((rings.nic_out >= 0) == (rings.nic_in >= 0)).all()
    used = np.concatenate([rings.nic_out[rings.nic_out >= 0], rings.nic_in[rings.nic_in >= 0]])
    assert (topology.kind[used] == ComponentKind.NIC).all()
    assert (topology.capacity[topology.links + used] > 0).all()
    source, target = members.gpus[rings.order], members.gpus[np.roll(rings.order, -1, axis=1)]
    for gpus, nics in ((source, rings.nic_out), (target, rings.nic_in)):
        there = nics >= 0
        assert (topology.node[gpus[there]] == topology.node[nics[there]]).all()


def uses(on: Cluster, nics: np.ndarray) -> np.ndarray:
    """How many rings use each compute NIC."""
    topology = on.topology
    compute = topology.of_kind(ComponentKind.NIC)
    compute = compute[topology.rail[compute] >= 0]
    return np.bincount(nics[nics >= 0], minlength=topology.components)[compute]


@pytest.mark.parametrize("units", [2, 3, 4])
@pytest.mark.parametrize("name", NODES)
def test_every_compute_nic_has_one_ring_in_and_one_out(name, units):
    on = cluster(name, units)
    rings = rings_of(on)
    check_rings(on, everyone(on), rings)
    assert (uses(on, rings.nic_out) == 1).all()
    assert (uses(on, rings.nic_in) == 1).all()


@pytest.mark.parametrize("name", RACKS)
def test_racks_use_all_their_nics_too(name):
    on = cluster(name, 2)
    rings = rings_of(on)
    check_rings(on, everyone(on), rings)
    assert (uses(on, rings.nic_out) == 1).all()
    assert (uses(on, rings.nic_in) == 1).all()


@pytest.mark.parametrize("units", [2, 4])
@pytest.mark.parametrize("name", NODES)
def test_over_an_even_number_of_nodes_a_ring_stays_on_its_rails(name, units):
    on = cluster(name, units)
    rings = rings_of(on)
    rail = on.topology.rail
    across = rings.nic_out >= 0
    assert (rail[rings.nic_out[across]] == rail[rings.nic_in[across]]).all()


@pytest.mark.parametrize("name", [*NODES, *RACKS])
def test_a_gpu_sends_by_a_nic_beside_it(name):
    """No channel crosses a socket, or a tray, to a NIC when its GPU has one of its own."""
    on = cluster(name, 2)
    rings, gpus = rings_of(on), everyone(on).gpus
    for source, nic in {
        (int(gpus[order[k]]), int(out[k]))
        for order, out in zip(rings.order, rings.nic_out, strict=True)
        for k in np.flatnonzero(out >= 0)
    }:
        nearest = on.router.nearest_nics(source)
        assert on.router.path_type(source, nic) <= on.router.path_type(source, nearest[0])


@pytest.mark.parametrize("name", ["dgx-h100", "dgx-1v", "mi300x-8", "aws-p5", "pcie-8x-h100"])
@pytest.mark.parametrize(
    "members",
    [
        [0, 1, 2, 3, 8, 9, 10, 11],
        [0, 8],
        [0, 8, 16, 24],
        [3, 12, 21, 30],
        [*range(0, 32, 2)],
        [*range(31, -1, -1)],
        [*range(8), 8],
        [0, *range(8, 16)],
        [0, 1, 2, 8, 9, 10, 16, 24, 25],
        [1, 9, 0, 8],
    ],
    ids=str,
)
def test_any_part_of_the_gpus_makes_rings(name, members):
    on = cluster(name, 4)
    chosen = group(on, members)
    rings = rings_of(on, chosen)
    check_rings(on, chosen, rings)
    assert (uses(on, rings.nic_out) <= 1).all()
    assert (uses(on, rings.nic_in) <= 1).all()


@given(st.data())
@settings(max_examples=15)
def test_any_group_in_any_order_makes_rings(data):
    name = data.draw(st.sampled_from(["dgx-a100", "hgx-a100-4", "mi300x-8", "aws-p5", "aws-p4d"]))
    on = cluster(name, 4)
    gpus = len(on.topology.gpus())
    members = data.draw(st.permutations(range(gpus)))[: data.draw(st.integers(2, gpus))]
    chosen = group(on, list(members))
    check_rings(on, chosen, rings_of(on, chosen))


@given(st.data())
@settings(max_examples=15)
def test_any_part_of_two_racks_makes_rings(data):
    on = cluster("gb200-nvl72", 2)
    size = data.draw(st.integers(2, 12))
    picked = st.lists(st.integers(0, 143), min_size=size, max_size=size, unique=True)
    chosen = group(on, data.draw(picked))
    check_rings(on, chosen, rings_of(on, chosen))


def test_one_gpu_in_another_rack_still_closes_a_ring():
    """Eighteen trays and one GPU more: as many channels as that one has NICs beside it."""
    on = cluster("gb200-nvl72", 2)
    chosen = group(on, [*range(73)])
    rings = rings_of(on, chosen)
    check_rings(on, chosen, rings)
    assert len(rings.order) == len(on.router.nearest_nics(int(chosen.gpus[72]))) == 2


def test_where_one_nic_is_all_a_channel_comes_and_goes_by_it():
    on = cluster("dgx-h100", 2)
    chosen = group(on, [*range(8), 8])
    rings = rings_of(on, chosen)
    check_rings(on, chosen, rings)
    assert len(rings.order) == 1
    assert set(on.topology.rail[rings.nic_out[rings.nic_out >= 0]]) == {0}


def test_half_the_gpus_of_a_node_use_half_its_nics():
    on = cluster("dgx-h100", 2)
    assert len(rings_of(on, group(on, [0, 1, 2, 3, 8, 9, 10, 11])).order) == 4
    assert len(rings_of(on).order) == 8


def test_one_gpu_a_node_uses_its_own_nic_both_ways():
    on = cluster("dgx-h100", 4)
    chosen = group(on, [2, 10, 18, 26])
    rings = rings_of(on, chosen)
    assert rings.order.tolist() == [[0, 1, 2, 3]]
    assert set(on.topology.rail[rings.nic_out].ravel()) == {2}
    assert on.router.path_type(int(chosen.gpus[0]), int(rings.nic_out[0, 0])) == PathType.PXB


def test_without_one_nic_the_rings_form_again_over_the_others():
    on = cluster("dgx-h100", 2, "node1/nic3=down")
    rings = rings_of(on)
    check_rings(on, everyone(on), rings)
    assert len(rings.order) == 7
    unused = uses(on, rings.nic_out)
    assert sorted(unused.tolist()) == [0, 0, *[1] * 14]


def test_a_rack_without_one_nic_uses_the_other_71():
    on = build(machine("gb200-nvl72"), 2, "node7/nic2=down")
    rings = rings_of(on)
    check_rings(on, everyone(on), rings)
    assert len(rings.order) == 71


def test_equal_nodes_are_laid_out_once():
    on = cluster("dgx-h100", 4)
    layout = layout_of(on, everyone(on))
    assert len(layout) == 4
    assert len(layout.shapes) == 1
    part = layout_of(on, group(on, [0, 1, 2, 8, 9, 10, 16, 24, 25]))
    assert [len(ranks) for ranks in part.ranks] == [3, 3, 1, 2]
    assert len(part.shapes) == 3


def test_domains_stand_in_the_order_of_their_first_rank_and_their_gpus_by_index():
    on = cluster("dgx-h100", 3)
    layout = layout_of(on, group(on, [17, 3, 16, 8, 2]))
    assert [ranks.tolist() for ranks in layout.ranks] == [[2, 0], [4, 1], [3]]


def test_over_pcie_a_ring_crosses_each_socket_once_each_way():
    on = cluster("pcie-8x-a100")
    shuffled = group(on, [0, 4, 1, 5, 2, 6, 3, 7])
    order = rings_of(on, shuffled).order[0]
    numa = on.topology.numa[shuffled.gpus[order]]
    assert (numa != np.roll(numa, -1)).sum() == 2


def test_bridged_pairs_stand_together_in_a_ring():
    on = cluster("pcie-8x-a100-nvlink")
    chosen = group(on, [0, 2, 4, 6, 1, 3, 5, 7])
    gpus = chosen.gpus[rings_of(on, chosen).order[0]].tolist()
    after = dict(zip(gpus, [*gpus[1:], gpus[0]], strict=True))
    joined = [on.router.path_type(a, b) == PathType.NVL for a, b in after.items()]
    assert sum(joined) == 4


def network_loads(on: Cluster) -> np.ndarray:
    """Bytes of a ring all-reduce on each compute NIC's cable, out and in, for each byte."""
    topology = on.topology
    schedule = ring_schedule(Operation.ALL_REDUCE, rings_of(on))
    carrier = Carrier(on, everyone(on))
    moved = [carrier.carry(p.transfers).loads[Term.NETWORK] * p.repeat for p in schedule.phases]
    nics = topology.of_kind(ComponentKind.NIC)
    nics = nics[topology.rail[nics] >= 0]
    cables = np.flatnonzero(
        (topology.link_kind == LinkKind.NETWORK)
        & (np.isin(topology.source, nics) | np.isin(topology.target, nics))
    )
    return sum(moved)[cables]


@pytest.mark.parametrize("units", [2, 3, 5])
@pytest.mark.parametrize("name", ["dgx-h100", "aws-p4d", "aws-p5", "mi300x-8", "dgx-1v", "polaris"])
def test_all_nics_carry_alike_whether_nodes_are_even_or_odd(name, units):
    """Where rails are networks of their own, the ring closes on its rail, by PXN if it can."""
    loads = network_loads(cluster(name, units))
    assert loads == pytest.approx(np.full(len(loads), loads[0]))


@pytest.mark.parametrize("name", [*NODES, *RACKS])
def test_three_nodes_are_no_worse_than_half_as_fast_as_two(name):
    rate = [rows("all_reduce", cluster(name, n), [2**33])[0].busbw_GBps for n in (2, 3)]
    assert 0.45 * rate[0] <= rate[1] <= 1.05 * rate[0]


@pytest.mark.parametrize("members", [[0, 9], [0, 1, 10, 12], [3, 8, 21]])
def test_gpus_of_different_rails_find_a_way(members):
    on = cluster("aws-p4d", 3)
    assert rows("all_reduce", on, [2**30], group(on, members))[0].busbw_GBps > 1


BROKEN = [
    (["node1/nic3=down"], 7 / 8),
    (["node1/nic3-leaf3=down"], 7 / 8),
    (["leaf3>node1/nic3=down"], 7 / 8),
    (["leaf1=down"], 7 / 8),
    (["node1/nic3=down", "node0/nic2=down"], 6 / 8),
]


@pytest.mark.parametrize(("changes", "left"), BROKEN, ids=str)
@pytest.mark.parametrize("name", ["dgx-h100", "oci-h100-8", "mi300x-8"])
def test_what_a_broken_nic_cable_or_leaf_leaves_is_used_alike(name, changes, left):
    """Rings form again over the rails that all nodes still have."""
    whole, broken = (cluster(name, 2, *c) for c in ((), changes))
    rings = rings_of(broken)
    check_rings(broken, everyone(broken), rings)
    rail, across = broken.topology.rail, rings.nic_out >= 0
    if name != "dgx-h100":  # Its fabric joins the rails.
        assert (rail[rings.nic_out[across]] == rail[rings.nic_in[across]]).all()
        assert len(rings.order) == round(8 * left)
    ring = [option("all_reduce", on, None, "Ring") for on in (whole, broken)]
    assert ring[0].per_byte / ring[1].per_byte >= left - 0.01


@pytest.mark.parametrize(("changes", "left"), BROKEN, ids=str)
def test_every_pair_of_gpus_still_reaches_the_other(changes, left):
    on = cluster("oci-h100-8", 2, *changes)
    assert rows("alltoall", on, [2**30])[0].busbw_GBps > 10


def test_a_gpu_whose_nic_is_down_leaves_the_others_theirs():
    on = cluster("dgx-h100", 2, "node0/nic0=down")
    shape = layout_of(on, everyone(on)).shapes[0]
    assert [position for position, _ in shape.doors] == list(range(1, 8))


@pytest.mark.parametrize("members", [[3, 10, 5, 0], [0, 9, 1, 2], [8, 0, 9]])
def test_an_alltoall_takes_its_ranks_in_any_order(members):
    on = cluster("pcie-8x-t4", 2)
    times = [
        rows("alltoall", on, [2**20], group(on, order))[0].time_us
        for order in (members, sorted(members))
    ]
    assert times[0] == pytest.approx(times[1])
