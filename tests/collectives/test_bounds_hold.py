"""What is forecast, at the wire rate of every link, never beats the bound."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from collectives.bound_cases import many, preset_cluster, switched
from wirespeed.collectives.bounds import bounds_of
from wirespeed.collectives.candidates import options_of
from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.errors import Infeasible
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, Group, build_cluster, changed, everyone
from wirespeed.topology.fabrics.generic import FAT_TREE, RAIL_OPTIMISED, SINGLE

COLLECTIVES = [
    Operation.ALL_REDUCE,
    Operation.ALL_GATHER,
    Operation.REDUCE_SCATTER,
    Operation.BROADCAST,
    Operation.REDUCE,
    Operation.ALLTOALL,
    Operation.SENDRECV,
]
COPIES = [Operation.P2P_COPY, Operation.H2D, Operation.D2H]
MACHINES = [
    ("dgx-1v", 1),
    ("dgx-a100", 1),
    ("dgx-h100", 1),
    ("mi300x-8", 1),
    ("mi250x-8", 1),
    ("pcie-8x-rtx4090", 1),
    ("pcie-8x-a100-dual-root", 1),
    ("dgx-1v", 4),
    ("hgx-a100-4", 4),
    ("dgx-h100", 2),
    ("dgx-h100", 5),
    ("pcie-8x-a100-dual-root", 2),
]
BY_SWITCHES = ("NVLS", "NVLSTree", "CollNetDirect", "CollNetChain")


def slack(value: float) -> float:
    return value * (1 + 1e-9)


def wire_times(operation: Operation, cluster: Cluster, group: Group) -> dict[str, float]:
    """Seconds for each byte of every algorithm, with no overhead at all."""
    laid = options_of(Collective(operation), cluster, group).laid
    return {
        one.algorithm: float(one.busy[one.resource >= 0].sum(axis=1).max(initial=0.0))
        for one in laid
    }


@pytest.mark.parametrize("operation", COLLECTIVES)
@pytest.mark.parametrize(("name", "nodes"), MACHINES)
def test_no_algorithm_beats_the_bound_of_a_preset(
    name: str, nodes: int, operation: Operation
) -> None:
    cluster = preset_cluster(name, nodes)
    holds(operation, cluster, everyone(cluster))


def holds(operation: Operation, cluster: Cluster, group: Group) -> None:
    bounds = bounds_of(operation, cluster, group)
    assert bounds.p2p >= bounds.network > 0
    assert bounds.cut
    assert bounds.p2p_cut
    for algorithm, seconds in wire_times(operation, cluster, group).items():
        least = bounds.network if algorithm in BY_SWITCHES else bounds.p2p
        assert least <= slack(seconds), algorithm


@pytest.mark.parametrize("operation", COPIES)
@pytest.mark.parametrize("name", sorted({name for name, _ in MACHINES}))
def test_no_copy_beats_the_bound(name: str, operation: Operation) -> None:
    cluster = preset_cluster(name)
    bounds = bounds_of(operation, cluster, everyone(cluster))
    row = forecast(Collective(operation), cluster, [2**34]).rows[-1]
    assert 0 < bounds.with_network(2**34) <= slack(row.time_us * 1e-6)


@pytest.mark.parametrize("operation", COLLECTIVES)
@pytest.mark.parametrize(("name", "nodes"), [("dgx-h100", 1), ("dgx-h100", 4), ("dgx-1v", 1)])
def test_no_forecast_row_lies_below_its_bound(name: str, nodes: int, operation: Operation) -> None:
    sizes = [2**k for k in range(3, 36, 4)]
    for row in forecast(Collective(operation), preset_cluster(name, nodes), sizes).rows:
        assert row.bound_us <= slack(row.time_us)
        assert row.bound_us <= slack(row.bound_p2p_us)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    gpus, nodes = draw(st.integers(1, 4)), draw(st.integers(2, 9))
    nvlink = draw(st.sampled_from([0.0, 100e9, 450e9])) if gpus == 1 else 450e9
    machine = switched(gpus, nvlink=nvlink, nic=draw(st.sampled_from([12.5e9, 50e9])))
    design = draw(st.sampled_from([SINGLE, FAT_TREE, RAIL_OPTIMISED]))
    cluster = many(machine, nodes, design)
    node, gpu = draw(st.integers(0, nodes - 1)), draw(st.integers(0, gpus - 1))
    edits = [f"node{node}/nic{gpu}=0.5", f"node{node}/gpu{gpu}=0.25", "leaf0=0.5"]
    edits += [f"node{node}/nic{gpu}>leaf0=0.3"] if design is SINGLE else []
    edits += [f"node{node}/nic{gpu}=down"] if gpus > 1 else []
    chosen = draw(st.lists(st.sampled_from(edits), max_size=2, unique=True))
    return changed(cluster, map(parse_change, chosen))


@pytest.mark.slow
@settings(max_examples=60)
@given(clusters(), st.sampled_from(COLLECTIVES))
def test_no_algorithm_beats_the_bound_of_a_cluster_in_any_state(
    cluster: Cluster, operation: Operation
) -> None:
    group = everyone(cluster)
    assume(len(group) > 1)
    with contextlib.suppress(Infeasible):
        holds(operation, cluster, group)


def test_a_ring_on_one_switch_is_as_fast_as_messages_can_be() -> None:
    for nodes in (8, 64):
        cluster = many(switched(1, nvlink=0), nodes, SINGLE)
        group = everyone(cluster)
        ring = wire_times(Operation.ALL_REDUCE, cluster, group)["Ring"]
        assert ring == pytest.approx(bounds_of(Operation.ALL_REDUCE, cluster, group).p2p)


def test_eight_rail_rings_come_near_the_bound_of_their_nodes_as_nodes_grow() -> None:
    gaps = []
    for nodes in (2, 8, 32):
        cluster = many(switched(8), nodes, FAT_TREE)
        group = everyone(cluster)
        ring = wire_times(Operation.ALL_REDUCE, cluster, group)["Ring"]
        gaps.append(ring / bounds_of(Operation.ALL_REDUCE, cluster, group).p2p)
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[-1] == pytest.approx(1.03, abs=0.02)


def test_a_ring_inside_nvswitch_meets_the_bound_of_messages_where_nothing_else_joins_gpus() -> None:
    cluster = build_cluster(switched(8))
    group = everyone(cluster)
    ring = wire_times(Operation.ALL_REDUCE, cluster, group)["Ring"]
    assert np.isclose(ring, bounds_of(Operation.ALL_REDUCE, cluster, group).p2p)
