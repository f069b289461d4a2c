"""Every single fault of a cluster, and what it costs."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from collectives.bound_cases import many, preset_cluster, switched
from wirespeed.collectives.candidates import time_of
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.errors import Infeasible
from wirespeed.planning.faults import FaultReport, FaultRow, faults
from wirespeed.topology.address import name_of
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, Group, build_cluster, changed, everyone
from wirespeed.topology.fabrics.generic import FAT_TREE, RAIL_OPTIMISED
from wirespeed.topology.kinds import ComponentKind

SIZE = 2**30
ALL_REDUCE = Collective(Operation.ALL_REDUCE)


def rows_of(cluster: Cluster, collective: Collective = ALL_REDUCE) -> dict[str, FaultRow]:
    """Rows by what breaks and how, without the number of the one that stands for its class."""
    return {row.change: row for row in faults(collective, cluster, SIZE).rows}


def of_kind(rows: dict[str, FaultRow], begin: str, end: str) -> FaultRow:
    (row,) = (row for change, row in rows.items() if begin in change and change.endswith(end))
    return row


@pytest.fixture(scope="module")
def superpod() -> FaultReport:
    return faults(ALL_REDUCE, preset_cluster("dgx-h100", 16), SIZE)


@pytest.mark.slow
def test_alike_faults_are_one_row_with_their_number(superpod: FaultReport) -> None:
    counts: Counter[str] = Counter()
    for row in superpod.rows:
        counts[row.change.split("/", 1)[-1]] += row.count
    assert counts["nic0=down"] == counts["nic0=0.5"] == counts["gpu0=down"] == 128
    assert counts["nvswitch0=down"] == counts["nvswitch2=down"] == 32
    assert {row.change: row.count for row in superpod.rows}["leaf0=down"] == 8


@pytest.mark.parametrize(
    ("preset", "nodes", "kind", "share"),
    [
        ("dgx-h100", 3, ComponentKind.NIC, 0.5),
        ("dgx-h100", 3, ComponentKind.GPU, 0.5),
        ("dgx-h100", 3, ComponentKind.LEAF, 0.0),
        pytest.param("mi250x-8", 1, ComponentKind.GPU, 0.0, marks=pytest.mark.slow),
        ("dgx-1v", 1, ComponentKind.GPU, 0.5),
        pytest.param("dgx-1v", 2, ComponentKind.GPU, 0.0, marks=pytest.mark.slow),
    ],
)
def test_what_a_row_says_of_one_holds_for_as_many_as_it_counts(
    preset: str, nodes: int, kind: ComponentKind, share: float
) -> None:
    # A tree loads some NICs more than others, a mesh closes rings by which GPU is left.
    algorithm = "Tree" if preset == "dgx-h100" else "Ring"
    cluster = changed(preset_cluster(preset, nodes), [parse_change(f"algo={algorithm}")])
    topology, every = cluster.topology, everyone(cluster).gpus
    each: Counter[float] = Counter()
    for part in topology.of_kind(kind):
        if kind is ComponentKind.NIC and topology.rail[part] < 0:
            continue
        word = "down" if share == 0 else str(share)
        after = changed(cluster, [parse_change(f"{name_of(topology, int(part))}={word}")])
        left = every[after.topology.capacity[topology.links + every] > 0]
        each[rounded(time_of(ALL_REDUCE, after, Group(left), SIZE) * 1e6)] += 1
    told: Counter[float] = Counter()
    for row in faults(ALL_REDUCE, cluster, SIZE).rows:
        name, _, value = row.change.partition("=")
        if value == word and name.rstrip("0123456789").endswith(kind.word) and "-" not in name:
            told[rounded(row.time_us or 0)] += row.count
    assert told == each


def rounded(microseconds: float) -> float:
    """To three digits, as equal costs are told."""
    return float(f"{microseconds:.3g}")


def test_every_part_of_the_path_is_in_the_list(superpod: FaultReport) -> None:
    text = "\n".join(row.change for row in superpod.rows)
    for part in ("/gpu", "/nic", "/nvswitch", "/pcie", "leaf", "spine"):
        assert part in text
    for cable in ("/nic0-leaf0", "leaf0-spine0", "/cpu0-", "/gpu0-"):
        assert cable in text
    for lack in ("gdr=off", "p2p=off", "nvls=off", "pxn=off", "sharp=off", "net=socket"):
        assert lack in text
    assert ":compute=0.8" in text
    # A link of 4 or 5 lanes that loses one.
    assert "=0.75" in text


def test_the_costliest_stand_first(superpod: FaultReport) -> None:
    times = [row.time_us if row.time_us is not None else float("inf") for row in superpod.rows]
    assert times == sorted(times, reverse=True)


def test_every_change_can_be_given_back_to_a_cluster(superpod: FaultReport) -> None:
    cluster = preset_cluster("dgx-h100", 16)
    for row in superpod.rows:
        assert changed(cluster, [parse_change(row.change)]).changes


def test_a_lost_nic_costs_its_share_of_the_node_and_a_slow_one_holds_up_its_ring() -> None:
    cluster = many(switched(8), 4, RAIL_OPTIMISED)
    rows = rows_of(changed(cluster, map(parse_change, ("algo=Ring", "proto=Simple"))))
    assert of_kind(rows, "/nic0", "nic0=down").slowdown == pytest.approx(8 / 7, rel=0.03)
    assert of_kind(rows, "/nic0", "nic0=0.5").slowdown == pytest.approx(2, rel=0.1)


def test_a_nic_whose_cable_is_cut_is_as_good_as_lost() -> None:
    rows = rows_of(many(switched(8), 4, RAIL_OPTIMISED))
    assert of_kind(rows, "nic0-leaf0", "=down").time_us == pytest.approx(
        of_kind(rows, "/nic0", "nic0=down").time_us
    )


def test_a_fault_that_nothing_stands_in_for_has_a_reason_instead_of_a_time() -> None:
    rows = rows_of(many(switched(1, nvlink=0), 4, FAT_TREE))
    row = of_kind(rows, "nic0", "nic0=down")
    assert row.time_us is None
    assert row.slowdown is None
    assert row.reason
    assert next(iter(rows.values())).time_us is None


def test_a_dead_gpu_leaves_a_group_of_one_less() -> None:
    rows = rows_of(build_cluster(switched(8)))
    assert of_kind(rows, "gpu0", "gpu0=down").ranks == 7


def test_what_the_group_does_not_use_does_not_stand_for_what_it_does() -> None:
    cluster = many(switched(2), 4, RAIL_OPTIMISED)
    group = Group(everyone(cluster).gpus[:4])
    report = faults(ALL_REDUCE, cluster, SIZE, group)
    named = [row for row in report.rows if "/nic" in row.change and row.change.endswith("=down")]
    assert {row.count for row in named if "-" not in row.change} == {4}
    assert {row.slowdown and row.slowdown > 1.0 for row in named if "-" not in row.change} == {
        True,
        False,
    }


def test_a_nic_serves_nobody_inside_one_node() -> None:
    rows = rows_of(preset_cluster("dgx-h100"))
    assert of_kind(rows, "/nic0", "nic0=down").slowdown == pytest.approx(1)
    assert of_kind(rows, "nvls", "off").slowdown > 1.3


def test_lost_lanes_cost_more_the_more_are_lost() -> None:
    rows = rows_of(preset_cluster("dgx-h100"))
    one, half = (of_kind(rows, "gpu0-node0/nvswitch2", end) for end in ("=0.75", "=0.5"))
    assert 1 < one.slowdown < half.slowdown


def test_a_collective_that_never_ran_has_no_list() -> None:
    cluster = changed(many(switched(1, nvlink=0), 2, FAT_TREE), [parse_change("node0/nic0=down")])
    with pytest.raises(Infeasible):
        faults(ALL_REDUCE, cluster, SIZE)


def test_one_gpu_has_nobody_to_talk_to_but_its_host() -> None:
    cluster = preset_cluster("gh200")
    for operation in (Operation.ALL_REDUCE, Operation.ALLTOALL, Operation.P2P_COPY):
        with pytest.raises(Infeasible, match="on 1 GPU"):
            faults(Collective(operation), cluster, SIZE)
    rows = rows_of(cluster, Collective(Operation.H2D))
    assert of_kind(rows, "gpu0", "gpu0=down").reason == "h2d on 0 GPUs"


def test_a_report_goes_to_json_and_back() -> None:
    report = faults(ALL_REDUCE, build_cluster(switched(4)), SIZE)
    assert msgspec.json.decode(msgspec.json.encode(report), type=FaultReport) == report
