"""Where a fabric routes flows by hash, the forecast says how much hangs on the hash."""

from __future__ import annotations

from dataclasses import replace

import pytest

import wirespeed as ws
from collectives.bound_cases import many, switched
from wirespeed.collectives.forecast import at_median_seed, curves_by_seed, forecast
from wirespeed.collectives.loads import load_report
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, Group, changed, everyone
from wirespeed.topology.fabrics.generic import LEAF_SPINE
from wirespeed.topology.fabrics.sizing import Tier

ALL_TO_ALL = Collective(Operation.ALLTOALL)
SIZES = (2**20, 2**30)


@pytest.fixture(scope="module")
def hashed() -> Cluster:
    """Forty-eight nodes of one GPU, so many that they hang on several leaves."""
    small = replace(LEAF_SPINE, leaf=Tier(16))
    return changed(many(switched(1, nvlink=0), 48, small), [parse_change("routing=ecmp")])


def test_the_time_is_the_median_of_an_odd_number_of_seeds(hashed: Cluster) -> None:
    times = sorted(
        float(line.time[1]) * 1e6
        for line in curves_by_seed(ALL_TO_ALL, hashed, everyone(hashed), SIZES)
    )
    row = forecast(ALL_TO_ALL, hashed, SIZES).rows[1]
    spread = row.routing_spread
    assert spread is not None
    assert spread.seeds == len(times) == 15
    assert spread.median_us == pytest.approx(row.time_us)
    assert (spread.low_us, spread.high_us) == pytest.approx((times[0], times[-1]))
    assert times[len(times) // 2] == pytest.approx(row.time_us)


def test_collisions_make_it_slower_than_an_even_spread_and_differ_by_seed(hashed: Cluster) -> None:
    even = changed(hashed, [parse_change("routing=spray")])
    spread = forecast(ALL_TO_ALL, hashed, SIZES).rows[1].routing_spread
    assert spread is not None
    assert spread.low_us < spread.high_us
    assert forecast(ALL_TO_ALL, even, SIZES).rows[1].time_us <= spread.low_us


def test_the_bottleneck_of_the_row_is_described(hashed: Cluster) -> None:
    made = forecast(ALL_TO_ALL, hashed, SIZES)
    assert {row.bottleneck for row in made.rows} == {known.name for known in made.bottlenecks}


def test_loads_and_faults_are_those_of_the_seed_that_the_row_shows(hashed: Cluster) -> None:
    (row,) = forecast(ALL_TO_ALL, hashed, SIZES[1:]).rows
    seeded = at_median_seed(ALL_TO_ALL, hashed, everyone(hashed), SIZES[1])
    report = load_report(ALL_TO_ALL, seeded, everyone(hashed), SIZES[1])
    assert report.time_us == pytest.approx(row.time_us)
    asked = ws.collective("alltoall", hashed, sizes="1G", loads=True)
    assert asked.loads[0].time_us == pytest.approx(row.time_us)
    twenty = Group(everyone(hashed).gpus[:20])
    (row,) = forecast(ALL_TO_ALL, hashed, SIZES[1:], twenty).rows
    assert ws.faults("alltoall", hashed, ranks=twenty, top=1).time_us == pytest.approx(row.time_us)


@pytest.mark.parametrize("change", ["routing=static", "routing=spray"])
def test_without_a_hash_there_is_no_spread(hashed: Cluster, change: str) -> None:
    made = forecast(ALL_TO_ALL, changed(hashed, [parse_change(change)]), SIZES)
    assert all(row.routing_spread is None for row in made.rows)


def test_inside_one_node_nothing_is_routed() -> None:
    made = ws.collective("all_reduce", ws.cluster("dgx-a100", changes=["routing=ecmp"]), sizes="1G")
    assert made.rows[0].routing_spread is None


def test_a_person_reads_how_much_hangs_on_the_hash(hashed: Cluster) -> None:
    text = " ".join(str(forecast(ALL_TO_ALL, hashed, SIZES)).split())
    assert "Flows are routed by hash: over 15 seeds 1G takes" in text
