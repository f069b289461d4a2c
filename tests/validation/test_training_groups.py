"""Figures of training runs: rank correlation, regret, efficiency, targets, and what got worse."""

from __future__ import annotations

import json
from itertools import permutations

import msgspec
import numpy as np
import pytest

from wirespeed.readers.training_records import read_training_records
from wirespeed.topology.result import to_json
from wirespeed.training.result import Breakdown
from wirespeed.validation.training_groups import (
    group,
    grouped,
    kendall_tau,
    read_training_baseline,
    regret,
    worsened,
)
from wirespeed.validation.training_report import TrainingReport, TrainingRow, training_report
from wirespeed.validation.training_targets import AIMS, targets

BLANK = TrainingRow(
    record=0,
    id="a",
    group="g",
    series="s",
    fold="f",
    grade="A",
    gpu="H100-80GB",
    gpus=8,
    nodes=1,
    items=1024,
    measured_s=1.0,
    forecast_s=1.0,
    low_s=None,
    high_s=None,
    measured_mem_gib=None,
    forecast_mem_gib=10.0,
    chosen=(),
    error=0.0,
    memory_error=None,
    counts=True,
    breakdown_s=Breakdown(1.0),
)


def run(measured: float, forecast: float, **changes: object) -> TrainingRow:
    times = {"measured_s": measured, "forecast_s": forecast, "error": forecast / measured - 1}
    return msgspec.structs.replace(BLANK, **{**times, **changes})


def test_tau_is_the_share_of_pairs_in_order_less_that_out_of_it():
    measured = np.arange(4.0)
    for order in permutations(measured):
        forecast = np.array(order)
        pairs = [np.sign(forecast[j] - forecast[i]) for i in range(4) for j in range(i + 1, 4)]
        assert kendall_tau(measured, forecast) == pytest.approx(sum(pairs) / 6)


def test_regret_is_what_the_preferred_layout_costs_more_than_the_best():
    measured = np.array([1.0, 1.2, 2.0])
    assert regret(measured, np.array([3.0, 4.0, 5.0])) == 0
    assert regret(measured, np.array([3.0, 2.0, 5.0])) == pytest.approx(0.2)


def test_a_series_is_ranked_from_five_layouts_on():
    four = [run(k + 1.0, 5.0 - k) for k in range(4)]
    assert group("g", four).tau is None
    assert group("g", [*four, run(9.0, 9.0)]).tau == pytest.approx((4 - 6) / 10)


def test_efficiency_is_measured_from_the_largest_size_inside_a_node():
    def sized(gpus: int, measured: float, forecast: float) -> TrainingRow:
        nodes = max(gpus // 8, 1)
        return run(measured, forecast, gpus=gpus, nodes=nodes, items=100 * gpus)

    # Inside the node all is lost that can be, and nothing is judged.
    inside = [sized(1, 1.0, 1.0), sized(8, 2.0, 1.0)]
    assert group("g", inside).efficiency_points is None
    # From 8 to 32 GPUs 90 % are kept as measured, 80 % as forecast.
    found = group("g", [*inside, sized(16, 2.0, 1.0), sized(32, 2.0 / 0.9, 1.0 / 0.8)])
    assert found.efficiency_worst == pytest.approx(10.0)
    assert found.efficiency_points == pytest.approx(5.0)


def test_of_runs_of_one_size_the_fastest_counts_for_efficiency():
    rows = [
        run(1.0, 1.0, gpus=8, items=800),
        run(3.0, 1.0, gpus=16, nodes=2, items=1600),
        run(1.0, 1.0, gpus=16, nodes=2, items=1600),
    ]
    assert group("g", rows).efficiency_worst == pytest.approx(0.0)


def test_grades_that_lack_something_tell_of_scaling_alone():
    judged = [run(1.0, 1.1)]
    other = [run(1.0, 2.0, counts=False, gpus=16, nodes=2)]
    found = group("g", judged + other)
    assert (found.rows, found.mean) == (1, pytest.approx(0.1))
    assert found.efficiency_points is not None


def test_every_aim_is_judged_by_its_own_runs():
    rows = [run(1.0, 1.04, group="seqpar"), run(1.0, 1.2, group="internevo")]
    found = {(t.name, t.figure): t for t in targets(rows)}
    assert len(found) == len(AIMS)
    megatron = found["Megatron A100 with sequence parallelism", "mean"]
    assert megatron.reached == pytest.approx(0.04)
    assert megatron.met
    assert found["InternEvo, 8 to 1,024 GPUs", "mean"].met is False
    assert found["Peak memory, dense", "memory_median"].met is None


def test_a_group_is_worse_from_a_point_on_and_where_it_is_gone():
    before = grouped([run(1.0, 1.05, group="a"), run(1.0, 1.05, group="b")])
    near = grouped([run(1.0, 1.055, group="a"), run(1.0, 1.05, group="b")])
    assert not worsened(before, near)
    far = grouped([run(1.0, 1.07, group="a")])
    assert {entry.group for entry in worsened(before, far)} == {"all", "a", "b"}


MODEL = {"layers": 4, "hidden": 1024, "heads": 16, "vocab": 51200, "seq_len": 1024, "name": "GPT"}


def record(**changes: object) -> dict[str, object]:
    plain = {
        "id": "a",
        "group": "g",
        "series": "s",
        "fold": "f",
        "cluster": {"gpu": "A100-80GB", "gpus": 8, "gpus_per_node": 8},
        "model": MODEL,
        "framework": "Megatron-LM",
        "precision": "fp16",
        "global_batch": 16,
        "layout": {"dp": 8},
        "measured": {"step_time_s": 0.1},
    }
    return {**plain, **changes}


def made(*records: dict[str, object], sample: int | None = None) -> TrainingReport:
    good, bad = read_training_records(json.dumps(list(records)), file="r")
    return training_report(good, bad, sample=sample)


def test_every_run_has_its_forecast_and_what_was_chosen():
    report = made(record(), record(measured={}), record(task="lora"), {"model": 1})
    assert [row.record for row in report.rows] == [0, 1]
    assert report.rows[1].measured_s is None
    assert report.rows[1].forecast_s > 0
    assert [entry.record for entry in report.skipped] == [2, 3]
    assert any(word.startswith("micro_batch=") for word in report.rows[0].chosen)


def test_rates_are_compared_as_step_times():
    tokens, samples = 16 * 1024 / 8 / 0.1, 16 / 0.1
    rows = made(
        record(measured={"tokens_per_s_per_gpu": tokens}),
        record(measured={"samples_per_s": samples}),
    ).rows
    assert [row.measured_s for row in rows] == [pytest.approx(0.1)] * 2


def test_what_ran_is_forecast_though_it_would_not_fit_by_our_count():
    large = {**MODEL, "layers": 96, "hidden": 8192, "heads": 64}
    (row,) = made(record(model=large, micro_batch=1, recompute="none")).rows
    assert row.forecast_mem_gib > 80
    assert row.forecast_s > 0


def test_a_sample_has_the_first_and_the_last_of_a_series():
    many = [record(global_batch=8 * (k + 1)) for k in range(6)]
    assert [row.record for row in made(*many, sample=2).rows] == [0, 5]
    assert [row.record for row in made(*many, sample=3).rows] == [0, 2, 5]
    assert len(made(*many, record(series="t"), sample=1).rows) == 2


def test_a_report_comes_back_from_json_and_is_a_baseline():
    report = made(record())
    assert msgspec.json.decode(to_json(report), type=TrainingReport) == report
    assert read_training_baseline(to_json(report), file="b") == report.groups
    assert "By collection" in str(report)
