"""what_if and told: what a step would take with one thing twice as fast, and what is said of it."""

from __future__ import annotations

import msgspec
import pytest

import wirespeed as ws
from training.jobs import gpt, job
from wirespeed.planning.told import sentences
from wirespeed.planning.what_if import gains
from wirespeed.training.forecast import as_forecast, simulate_step

JOB = job(gpt(seq=1024), batch=32, seq=1024, dp=4, tp=4, micro_batch=2, recompute="none")


@pytest.fixture(scope="module")
def cluster():
    return ws.cluster("dgx-a100", nodes=2)


@pytest.fixture(scope="module")
def step(cluster):
    return simulate_step(JOB, cluster)


@pytest.fixture(scope="module")
def found(cluster, step):
    return {gain.name: gain for gain in gains(step.job, cluster, step.seconds)}


@pytest.mark.parametrize("change", ["gemm=2x", "hbm=2x", "nvlink=2x"])
def test_twice_as_fast_is_what_the_change_of_that_name_does(found, change):
    changed = ws.cluster("dgx-a100", nodes=2, changes=[change])
    seconds = simulate_step(JOB, changed).seconds
    assert found[change.partition("=")[0]].seconds == pytest.approx(seconds, rel=1e-3)


def test_nothing_that_is_faster_makes_a_step_slower(found, step):
    assert set(found) == {"gemm", "hbm", "nvlink", "network", "pcie", "host"}
    for gain in found.values():
        assert 0.5 * step.seconds <= gain.seconds <= step.seconds * (1 + 1e-6)
        assert gain.share == pytest.approx(1 - gain.seconds / step.seconds)


def test_one_node_has_no_network_to_make_faster():
    alone = ws.cluster("dgx-a100")
    one = job(gpt(seq=1024), batch=32, seq=1024, dp=8, micro_batch=2, recompute="none")
    names = {g.name for g in gains(one, alone, simulate_step(one, alone).seconds)}
    assert "network" not in names


def test_three_sentences_name_the_bound_the_help_and_the_band(cluster, step, found):
    forecast = as_forecast(step, cluster)
    bound, help_, sure = sentences(step, cluster, forecast)
    spent = msgspec.structs.asdict(forecast.breakdown_s)
    assert max(spent, key=spent.__getitem__) == "compute"
    assert bound.startswith("The step is bound by computing")
    best = max(found.values(), key=lambda gain: gain.share)
    assert f"{best.share * 100:.0f} % less time" in help_
    assert "cannot be said" in sure
    low, high = forecast.step_time_s * 0.9, forecast.step_time_s * 1.25
    banded = msgspec.structs.replace(forecast, low_s=low, high_s=high, band_of="Ampere GPUs")
    assert "from -10 % to +25 %" in sentences(step, cluster, banded)[2]
