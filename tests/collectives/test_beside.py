"""Jobs that share links: equal parts of what is full, all that is wanted of what is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wirespeed as ws
from collectives.bound_cases import two_sockets
from collectives.collective_cases import group
from wirespeed.catalog import parameter_set
from wirespeed.collectives.beside import Job, beside_rows, sharing
from wirespeed.collectives.carry import Carrier
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.collectives.schedule import transfers
from wirespeed.errors import UsageError
from wirespeed.network import Uses, fair_rates
from wirespeed.topology.cluster import Cluster, Group, build_cluster
from wirespeed.topology.fabrics.generic import SINGLE

SHARES = st.floats(0.01, 1.0)


@st.composite
def demands(draw: st.DrawFn) -> np.ndarray:
    jobs, resources = draw(st.integers(2, 4)), draw(st.integers(1, 6))
    used = [
        [draw(SHARES) if draw(st.booleans()) else 0.0 for _ in range(resources)]
        for _ in range(jobs)
    ]
    return np.array(used)


@given(demands())
def test_no_resource_works_more_than_all_of_its_time(used):
    assert (sharing(used).speed @ used).max() <= 1 + 1e-9


@given(demands())
def test_who_is_slowed_meets_a_full_resource_of_which_nobody_has_more(used):
    speed = sharing(used).speed
    part = used * speed[:, None]
    full = part.sum(axis=0) >= 1 - 1e-6
    for job in np.flatnonzero(speed < 1 - 1e-6):
        mine = part[job]
        most = (mine >= part.max(axis=0) - 1e-6) & (used[job] > 0)
        assert (full & most).any()


@given(st.lists(SHARES, min_size=2, max_size=5))
def test_one_resource_is_shared_as_the_network_shares_it(wants):
    used = np.array(wants)[:, None]
    rates = fair_rates(Uses.uniform(np.zeros((len(wants), 1), int)), [1.0], limits=wants)
    assert sharing(used).speed == pytest.approx(rates / np.array(wants), rel=1e-9)


def test_a_job_that_wants_little_gets_all_of_it():
    assert sharing(np.array([[1.0], [0.3]])).speed.tolist() == pytest.approx([0.7, 1.0])


def test_two_that_want_all_get_half():
    assert sharing(np.array([[1.0], [1.0]])).speed.tolist() == [0.5, 0.5]


def test_who_is_held_up_elsewhere_leaves_more_to_the_others():
    # The second and third fight for the second resource: the first gets what they leave.
    used = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert sharing(used).speed.tolist() == pytest.approx([0.5, 0.5, 0.5])
    used = np.array([[1.0, 0.0, 0.0], [0.6, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.0]])
    assert sharing(used).speed.tolist() == pytest.approx([0.8, 1 / 3, 1 / 3, 1 / 3])


def beside(*jobs: str, ranks: str | None = None, sizes: str = "1G") -> ws.collective:
    on = ws.cluster("dgx-h100", nodes=4)
    return ws.collective(
        "all_reduce", on, sizes=sizes, ranks=ranks, algo="Ring", beside=jobs
    ).beside


def test_jobs_on_different_nodes_do_not_meet():
    (row,) = beside("all_reduce:1G@16-31", ranks="0-15")
    assert (row.slowdown, row.others_slowdown, row.shared) == (1.0, (1.0,), "")


def test_the_same_call_twice_on_the_same_gpus_takes_twice_as_long_at_most():
    (row,) = beside("all_reduce:1G@0-15", ranks="0-15")
    alone = row.time_us
    assert row.others_us[0] == pytest.approx(alone)
    assert 1.5 < row.slowdown <= 2.0 + 1e-9
    assert row.others_slowdown[0] == pytest.approx(row.slowdown)


def test_small_calls_leave_room():
    (row,) = beside("all_reduce:1K@0-15", ranks="0-15")
    assert row.slowdown < 1.01


def test_a_job_without_a_size_is_an_error_that_says_how_to_write_one():
    with pytest.raises(UsageError, match="says no size") as told:
        beside("alltoall")
    assert "alltoall:64M" in told.value.remedy


def flows(on: Cluster, members: Group) -> Uses:
    """The messages of a sendrecv, each on all that it crosses."""
    ranks = np.arange(len(members))
    rows, weights = [], []
    for rank in ranks.tolist():
        one = transfers([rank], [(rank + 1) % len(members)], 1.0)
        load = sum(Carrier(on, members).carry(one).loads.values())
        rows.append(np.flatnonzero(load).tolist())
        weights.append(load[rows[-1]].tolist())
    return Uses.from_lists(rows, weights)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([0, 4], [1, 5]),  # Both by the NIC of the first socket.
        ([0, 4], [2, 6]),  # Each by a NIC of its own.
        ([0, 4, 8], [1, 9]),  # They meet in two nodes of three.
        ([0, 1, 4, 5], [2, 6]),
        ([0, 4], [2, 3]),  # One leaves its node and one does not.
    ],
)
def test_two_jobs_get_the_rates_that_their_messages_get_on_the_network(one, other):
    on = build_cluster(two_sockets(4), nodes=3, fabric=("single", SINGLE))
    on = replace(on, parameters=parameter_set("ideal"))
    capacity = on.topology.capacity
    groups = [group(on, one), group(on, other)]
    parts = [flows(on, members) for members in groups]
    alone = [fair_rates(part, capacity).min() for part in parts]
    rates = fair_rates(Uses.concatenate(parts), capacity)
    mixed = [rates[: len(one)].min(), rates[len(one) :].min()]
    # The size makes latency nothing beside the wire.
    job = Job(Collective(Operation.SENDRECV), groups[1], 2**44, "other")
    (row,) = beside_rows(Collective(Operation.SENDRECV), on, groups[0], [2**44], [job])
    assert row.slowdown == pytest.approx(alone[0] / mixed[0], rel=1e-3)
    assert row.others_slowdown[0] == pytest.approx(alone[1] / mixed[1], rel=1e-3)
