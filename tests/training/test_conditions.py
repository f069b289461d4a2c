"""Clocks, power and ranks that do not keep step."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest

import wirespeed as ws
from wirespeed.errors import UsageError
from wirespeed.training.conditions import (
    STATIC,
    Conditions,
    clock_under,
    expected_maximum,
)

LAYOUT = {"tp": 8, "pp": 2}


@pytest.fixture(scope="module")
def on():
    return ws.cluster("dgx-h100", nodes=4)


def step(on, **given):
    return ws.train("llama3-70b", on, LAYOUT, global_batch=32, seq=4096, explain=False, **given)


def test_the_largest_of_two_normal_numbers_is_expected_at_one_over_root_pi():
    assert expected_maximum(1) == 0
    assert expected_maximum(2) == pytest.approx(1 / sqrt(pi), abs=0.03)


@pytest.mark.parametrize("count", [8, 128, 1024])
def test_the_expected_maximum_is_that_of_drawn_numbers(count):
    drawn = np.random.default_rng(count).normal(size=(4000, count)).max(axis=1).mean()
    assert expected_maximum(count) == pytest.approx(drawn, rel=0.02)


def test_power_is_static_plus_the_cube_of_the_clock():
    full = 700.0
    for cap in (300.0, 500.0, 650.0):
        clock = clock_under(cap, full)
        assert STATIC * full + (1 - STATIC) * full * clock**3 == pytest.approx(cap)
    assert clock_under(800, full) == 1


def test_a_lower_clock_slows_computing_and_no_link(on):
    usual, slow = step(on), step(on, clock=0.5)
    assert slow.breakdown_s.compute > 1.6 * usual.breakdown_s.compute
    assert slow.breakdown_s.exposed_tp == pytest.approx(usual.breakdown_s.exposed_tp, rel=0.01)


def test_a_cap_is_the_clock_that_it_leaves(on):
    capped = step(on, power_W=500)
    assert capped.step_time_s == pytest.approx(step(on, clock=clock_under(500, 700)).step_time_s)
    assert any("500 of 700 W" in notice.text for notice in capped.warnings)


def test_all_wait_for_the_slowest_of_many(on):
    usual, uneven = step(on), step(on, jitter=0.02)
    longer = uneven.breakdown_s.compute / usual.breakdown_s.compute
    assert longer == pytest.approx(1 + 0.02 * expected_maximum(32), rel=1e-3)
    assert any("of 32 ranks" in notice.text for notice in uneven.warnings)


def test_conditions_that_cannot_be_are_refused_with_what_to_do(on):
    for given, words in (
        ({"clock": 7}, "boost clock"),
        ({"jitter": 5}, "differ"),
        ({"power_W": 100}, "power cap of 100 W"),
    ):
        with pytest.raises(UsageError, match=words) as caught:
            step(on, **given)
        assert caught.value.remedy


def test_the_usual_conditions_change_nothing(on):
    assert step(on) == step(on, clock=1.0, jitter=0.0, compress="none", tp_overlap=False)
    assert Conditions().rate("h100-sxm") == Conditions().slowest(1000) == 1
