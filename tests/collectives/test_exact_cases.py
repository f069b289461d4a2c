"""On wires without overhead a forecast is arithmetic that a person can redo by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collectives.collective_cases import machine, option
from wirespeed.catalog import parameter_set
from wirespeed.collectives.candidate import Candidate
from wirespeed.collectives.candidates import options_of
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.topology.cluster import Cluster, build_cluster, everyone
from wirespeed.topology.fabrics.generic import FAT_TREE, SINGLE
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machine import Machine
from wirespeed.topology.unit import UnitBuilder

MS = 1e-3
RATE = 50e9
GIB, MIB = 2**30, 2**20
COUNTS_OF_RING = {8: 37.5950, 64: 42.4046, 256: 43.2919, 1024: 44.9537, 4096: 51.1292}
ONE_SWITCH = {64: 5.2848, 256: 5.3477, 1024: 5.3635}
TWO_LEVEL = {64: 4.6976, 256: 5.2009, 1024: 5.3268}
RAIL_RINGS = {8: 4.1757, 64: 5.2848, 256: 5.3477, 1024: 5.3635}


def ends() -> Machine:
    """A GPU with one NIC of 50 GB/s, and nothing between them that could hold it up."""
    builder = UnitBuilder("one GPU, one NIC")
    gpu = builder.add(ComponentKind.GPU)
    nic = builder.add(ComponentKind.NIC, rail=0, rate=RATE)
    builder.connect(gpu, nic, LinkKind.PCIE, bandwidth=2 * RATE)
    return Machine("one GPU, one NIC", builder.build(), gpu="H100 SXM5 80GB")


def ideal(what: Machine, nodes: int, link_latency: float = 0.0) -> Cluster:
    """Nodes on one switch whose links take so long [s], under ideal parameters."""
    fabric = replace(SINGLE, link_latency=link_latency)
    made = build_cluster(what, nodes=nodes, fabric=("single", fabric))
    return replace(made, parameters=parameter_set("ideal"))


def rail_rings(nodes: int) -> Candidate:
    """The ring on nodes with an NVSwitch domain of 450 GB/s and a NIC of 50 GB/s a GPU."""
    fabric = ("fat-tree", FAT_TREE) if nodes > 1 else None
    made = build_cluster(machine("dgx-h100"), nodes=nodes, fabric=fabric)
    return option("all_reduce", replace(made, parameters=parameter_set("ideal")), None, "Ring")


def straight(on: Cluster) -> Candidate:
    """Messages of an alltoall."""
    return options_of(Collective(Operation.ALLTOALL), on, everyone(on)).candidates[-1]


def seconds(way: Candidate, size: int) -> float:
    """Time of a way at one size."""
    return float(way.time(size))


@pytest.mark.parametrize(("ranks", "ms"), COUNTS_OF_RING.items())
def test_a_ring_on_one_switch_takes_its_steps_with_two_links_each(ranks: int, ms: float):
    ring = option("all_reduce", ideal(ends(), ranks, link_latency=500e-9), None, "Ring")
    by_hand = 2 * (ranks - 1) * (GIB / (ranks * RATE) + 1e-6)
    assert seconds(ring, GIB) == pytest.approx(by_hand, rel=1e-12)
    assert f"{seconds(ring, GIB) / MS:.4f}" == f"{ms:.4f}"


@pytest.mark.parametrize(("ranks", "ms"), ONE_SWITCH.items())
def test_an_alltoall_on_one_switch_sends_all_but_its_own_part(ranks: int, ms: float):
    way = straight(ideal(ends(), ranks))
    assert seconds(way, 256 * MIB) == pytest.approx((ranks - 1) / ranks * 256 * MIB / RATE)
    assert f"{seconds(way, 256 * MIB) / MS:.4f}" == f"{ms:.4f}"


@pytest.mark.parametrize(("ranks", "ms"), TWO_LEVEL.items())
def test_an_alltoall_of_two_levels_leaves_the_part_of_its_node_to_nvlink(ranks: int, ms: float):
    way = straight(ideal(machine("dgx-h100"), ranks // 8))
    by_hand = (ranks - 8) / ranks * 256 * MIB / RATE
    assert way.per_byte * 256 * MIB == pytest.approx(by_hand, rel=1e-12)
    assert f"{way.per_byte * 256 * MIB / MS:.4f}" == f"{ms:.4f}"


@pytest.mark.parametrize(("ranks", "ms"), RAIL_RINGS.items())
def test_eight_rail_rings_share_the_bytes_of_an_all_reduce(ranks: int, ms: float):
    ring = rail_rings(ranks // 8)
    wire = 8 * RATE if ranks > 8 else 450e9
    by_hand = 2 * (ranks - 1) / ranks * GIB / wire
    assert ring.per_byte * GIB == pytest.approx(by_hand, rel=1e-12)
    assert f"{ring.per_byte * GIB / MS:.4f}" == f"{ms:.4f}"


def test_ideal_parameters_leave_nothing_but_links():
    ring = option("all_reduce", ideal(ends(), 2), None, "Ring")
    assert (ring.latency, ring.fill, ring.local) == (0.0, 0.0, 0.0)
