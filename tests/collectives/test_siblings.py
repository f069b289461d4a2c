"""Groups that run at once: who shares what, and how far that slows them down."""

from __future__ import annotations

import numpy as np
import pytest

from collectives.collective_cases import PLATEAU, cluster, machine
from wirespeed.collectives.candidate import Place
from wirespeed.collectives.candidates import options_of
from wirespeed.collectives.forecast import curve
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.collectives.siblings import by_place, check_apart, groups_alike
from wirespeed.errors import UsageError
from wirespeed.topology.cluster import Cluster, Group, build_cluster, everyone
from wirespeed.topology.fabrics.table import fabric_from_table
from wirespeed.topology.ranks import parse_ranks

ALL = ("all_reduce", "all_gather", "alltoall", "sendrecv")


def seconds(operation: str, on: Cluster, ranks: str, *, crowded: bool) -> float:
    """Time of a large message on those ranks, alone or with all the others grouped alike."""
    group = parse_ranks(ranks, on)
    siblings = groups_alike(on, group) if crowded else ()
    return float(curve(Collective(Operation(operation)), on, group, [PLATEAU], siblings).time[0])


def busbw(operation: str, on: Cluster, ranks: str, *, crowded: bool) -> float:
    """busbw of an all_reduce [GB/s]."""
    n = len(parse_ranks(ranks, on))
    return 2 * (n - 1) / n * PLATEAU / seconds(operation, on, ranks, crowded=crowded) / 1e9


def thin(nodes: int, oversubscription: int) -> Cluster:
    """DGX H100 on plain leaves of which so many ports share one towards the spines."""
    table = {"kind": "leaf-spine", "radix": 32, "oversubscription": [oversubscription]}
    design = fabric_from_table(table, "[fabric]")
    return build_cluster(machine("dgx-h100"), nodes=nodes, fabric=("thin", design))


@pytest.mark.parametrize(
    ("ranks", "others"),
    [
        ("stride=8", [f"stride=8+{k}" for k in range(1, 8)]),
        ("0-7", ["8-15", "16-23", "24-31"]),
        ("8-15", ["0-7", "16-23", "24-31"]),
        ("per-node=4", ["4-7,12-15,20-23,28-31"]),
        ("0-15:8", ["1-15:8", "2-15:8", "16-31:8", "17-31:8"]),
        ("0-31", []),
    ],
)
def test_the_other_gpus_are_grouped_alike(ranks, others):
    on = cluster("dgx-h100", 4)
    found = [g.gpus.tolist() for g in groups_alike(on, parse_ranks(ranks, on))]
    for other in others:
        assert parse_ranks(other, on).gpus.tolist() in found
    members = len(parse_ranks(ranks, on))
    assert len(found) == 32 // members - 1


def test_a_gpu_is_in_one_group_only():
    on = cluster("dgx-h100", 2)
    with pytest.raises(UsageError, match="gpu3 is in two groups"):
        check_apart(on, [parse_ranks("0-3", on), parse_ranks("3-6", on)])


def test_one_gpu_a_node_gets_one_nic():
    on = cluster("dgx-h100", 8)
    assert busbw("all_reduce", on, "node*/gpu0", crowded=False) == pytest.approx(45, rel=0.1)


def test_four_gpus_a_node_get_their_four_nics():
    on = cluster("dgx-h100", 8)
    assert busbw("all_reduce", on, "per-node=4", crowded=False) == pytest.approx(180, rel=0.1)


@pytest.mark.parametrize("operation", ALL)
def test_on_rails_eight_rings_at_once_are_as_fast_as_one(operation):
    on = cluster("dgx-h100", 8)
    alone, crowded = (seconds(operation, on, "stride=8", crowded=c) for c in (False, True))
    assert crowded == pytest.approx(alone)


def test_all_eight_nics_are_full_then():
    on = cluster("dgx-h100", 8)
    group = parse_ranks("stride=8", on)
    line = curve(Collective(Operation.ALL_REDUCE), on, group, [PLATEAU], groups_alike(on, group))
    assert line.siblings == 7
    assert line.work[Place.NETWORK, 0] == pytest.approx(line.time[0], rel=0.05)


@pytest.mark.parametrize("operation", ALL)
def test_tensor_parallelism_inside_a_node_touches_no_nic(operation):
    on = cluster("dgx-h100", 8)
    group = parse_ranks("0-7", on)
    line = curve(Collective(Operation(operation)), on, group, [PLATEAU], groups_alike(on, group))
    assert line.work[Place.NETWORK, 0] == 0
    assert 0 < line.work[Place.NVLINK, 0] <= line.time[0]
    alone = seconds(operation, on, "0-7", crowded=False)
    assert line.time[0] == pytest.approx(alone)


def test_strided_over_nodes_it_is_far_slower():
    on = cluster("dgx-h100", 8)
    packed, strided = (busbw("all_reduce", on, r, crowded=True) for r in ("0-7", "stride=8"))
    assert packed > 7 * strided


def test_on_thin_spines_siblings_slow_each_other_down():
    """Eight rings of one GPU a node over two leaves: each crosses the spines once each way."""
    wide, narrow = (thin(8, ports) for ports in (1, 16))
    free = seconds("all_reduce", wide, "stride=8", crowded=True)
    alone = seconds("all_reduce", narrow, "stride=8", crowded=False)
    crowded = seconds("all_reduce", narrow, "stride=8", crowded=True)
    assert crowded > 1.5 * alone
    assert crowded > 1.5 * free


def test_expert_groups_share_what_lies_between_their_nodes():
    """alltoall in groups of two nodes: all their NICs are full with or without the others."""
    on = cluster("dgx-h100", 8)
    alone, crowded = (seconds("alltoall", on, "0-15", crowded=c) for c in (False, True))
    assert crowded == pytest.approx(alone)
    narrow = thin(8, 16)
    alone, crowded = (seconds("alltoall", narrow, "0-63:4", crowded=c) for c in (False, True))
    assert crowded > 2 * alone


def test_gpus_that_share_a_nic_halve_it():
    """GPUs 0 and 1 of a p4d node have one NIC between them."""
    on = cluster("aws-p4d", 4)
    group, other = parse_ranks("stride=8", on), parse_ranks("stride=8+1", on)
    asked = Collective(Operation.ALL_REDUCE)
    alone = curve(asked, on, group, [PLATEAU]).time[0]
    both = curve(asked, on, group, [PLATEAU], [other]).time[0]
    assert both == pytest.approx(2 * alone, rel=0.05)


def test_what_lies_elsewhere_does_not_count():
    """A sibling on another rail may be slow: this group is not."""
    on = cluster("dgx-h100", 4, "node1/nic5=0.1")
    asked = Collective(Operation.ALL_REDUCE)
    group, slow = parse_ranks("stride=8", on), parse_ranks("stride=8+5", on)
    alone = curve(asked, on, group, [PLATEAU])
    assert curve(asked, on, group, [PLATEAU], [slow]).time == pytest.approx(alone.time)
    assert curve(asked, on, slow, [PLATEAU], [group]).time[0] > 5 * alone.time[0]


@pytest.mark.parametrize("operation", ALL)
def test_groups_alike_laid_at_once_load_as_those_laid_one_by_one(operation):
    """One by one they are given as if each were of a shape of its own."""
    on = cluster("dgx-a100", 4)
    asked, group = Collective(Operation(operation)), parse_ranks("stride=8", on)
    others = groups_alike(on, group)
    assert len(by_place(on, others)) == 7
    pairs = parse_ranks("0-15:8", on)
    several = groups_alike(on, pairs)
    assert 7 <= len(by_place(on, several)) < len(several)
    together = options_of(asked, on, pairs, several).candidates
    # A mirrored group is no shifted copy, yet loads the same.
    apart = [Group(g.gpus[::-1]) if k % 2 else g for k, g in enumerate(several)]
    for one, other in zip(together, options_of(asked, on, pairs, apart).candidates, strict=True):
        assert one.per_byte == pytest.approx(other.per_byte)


def test_siblings_do_not_change_what_the_library_chooses():
    on = cluster("dgx-h100", 4)
    asked, group = Collective(Operation.ALL_REDUCE), parse_ranks("0-15", on)
    sizes = [2**k for k in range(3, 34)]
    alone = curve(asked, on, group, sizes)
    crowded = curve(asked, on, group, sizes, groups_alike(on, group))
    assert (alone.choice == crowded.choice).all()
    assert (crowded.time >= alone.time * (1 - 1e-9)).all()


def test_everyone_has_no_sibling_and_a_copy_none_at_all():
    on = cluster("dgx-h100", 2)
    assert groups_alike(on, everyone(on)) == ()
    pair = parse_ranks("0,1", on)
    with pytest.raises(UsageError, match="a copy has no siblings"):
        curve(Collective(Operation.P2P_COPY), on, pair, [2**20], groups_alike(on, pair))


def test_work_of_a_place_is_never_longer_than_the_call():
    for name, nodes in (("dgx-h100", 2), ("dgx-1v", 1), ("pcie-8x-rtx4090", 1), ("mi300x-8", 2)):
        on = cluster(name, nodes)
        for operation in Operation:
            line = curve(Collective(operation), on, everyone(on), [2**10, PLATEAU])
            assert line.work.shape == (len(Place), 2)
            assert (line.work <= line.time * (1 + 1e-9)).all()
            assert np.any(line.work > 0)
