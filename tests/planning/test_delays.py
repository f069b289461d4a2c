"""One late rank holds all others up, as far as they wait for it."""

from __future__ import annotations

import pytest

from collectives.bound_cases import many, switched
from wirespeed.collectives.candidates import time_of
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.errors import Infeasible, UsageError
from wirespeed.planning.delays import delayed
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, build_cluster, changed, everyone
from wirespeed.topology.fabrics.generic import SINGLE

MS = 1e-3
SIZE = 2**28
ALL_REDUCE = Collective(Operation.ALL_REDUCE)
ALLTOALL = Collective(Operation.ALLTOALL)


def ring(nodes: int = 4, *changes: str) -> Cluster:
    cluster = many(switched(1, nvlink=0), nodes, SINGLE)
    return changed(cluster, map(parse_change, ("algo=Ring", "proto=Simple", *changes)))


@pytest.mark.parametrize("collective", [ALL_REDUCE, ALLTOALL, Collective(Operation.ALL_GATHER)])
def test_with_nobody_late_it_takes_what_the_forecast_says(collective: Collective) -> None:
    cluster = ring()
    told = delayed(collective, cluster, SIZE, {})
    assert told.waited == 0
    assert told.time == pytest.approx(time_of(collective, cluster, everyone(cluster), SIZE))


def test_an_all_reduce_ends_as_much_later_as_its_last_rank_comes() -> None:
    told = delayed(ALL_REDUCE, ring(), SIZE, {2: 5 * MS})
    assert told.waited == pytest.approx(5 * MS)


def test_two_late_ranks_cost_no_more_than_the_later_one_does() -> None:
    one = delayed(ALL_REDUCE, ring(), SIZE, {2: 5 * MS})
    two = delayed(ALL_REDUCE, ring(), SIZE, {2: 5 * MS, 0: 3 * MS})
    assert two.time == pytest.approx(one.time)


def test_who_is_held_up_anyway_does_not_mind() -> None:
    # Rank 1's link is slow and busy with the others until rank 3 comes.
    cluster = ring(4, "node1/nic0-leaf0=0.5")
    assert delayed(ALLTOALL, cluster, SIZE, {3: 3 * MS}).waited < 0.01 * MS
    assert delayed(ALLTOALL, cluster, SIZE, {1: 3 * MS}).waited == pytest.approx(3 * MS)


def test_a_late_rank_behind_a_slow_link_costs_more_than_its_lateness_on_a_fast_one() -> None:
    slow = ring(4, "node1/nic0-leaf0=0.5")
    fast = ring()
    for late in ({}, {2: 5 * MS}):
        assert (
            delayed(ALL_REDUCE, slow, SIZE, late).time
            > delayed(ALL_REDUCE, fast, SIZE, late).time + 4 * MS
        )


def test_later_never_ends_sooner() -> None:
    cluster, times = ring(), []
    for late in (0.0, 1e-4, 1e-3, 1e-2):
        times.append(delayed(ALLTOALL, cluster, SIZE, {1: late}).time)
    assert times == sorted(times)


def test_a_tree_or_a_switch_that_adds_up_is_not_followed() -> None:
    cluster = changed(build_cluster(switched(8)), [parse_change("algo=NVLS")])
    with pytest.raises(Infeasible, match="NVLS"):
        delayed(ALL_REDUCE, cluster, SIZE, {0: MS})


def test_a_rank_that_is_not_there_cannot_be_late() -> None:
    with pytest.raises(UsageError, match="rank 9"):
        delayed(ALL_REDUCE, ring(), SIZE, {9: MS})


def test_thousands_of_messages_are_refused_rather_than_waited_for() -> None:
    with pytest.raises(Infeasible, match="messages"):
        delayed(ALL_REDUCE, ring(128), SIZE, {0: MS})
