"""Forecasts beside published measurements: what counts, what is skipped, what got worse."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest

from support import shared
from wirespeed.comparison.bands import BandClass
from wirespeed.errors import InputError
from wirespeed.readers.records import read_records
from wirespeed.topology.result import to_json
from wirespeed.validation.bands import (
    Residual,
    as_toml,
    calibrated_shares,
    coverage,
    fit_bands,
    residuals,
)
from wirespeed.validation.baseline import read_baseline, worsened
from wirespeed.validation.report import ValidationReport, report
from wirespeed.validation.scored import score_all

H100 = {"gpu": "H100-SXM", "nodes": 1, "gpus_per_node": 8}
PAIR = {"gpu": "H100-SXM", "nodes": 2, "gpus_per_node": 8, "fabric": "IB NDR"}
ROWS = [[1024, 25.0, 0.04, 0.07], [2**30, 4000.0, 268.0, 470.0]]


def record(**changes) -> dict:
    plain = {"id": "a", "source": "s", "fold": "f", "cluster": H100, "ranks": 8}
    return plain | {"collective": "all_reduce", "rows": ROWS} | changes


def made(*records: dict) -> ValidationReport:
    return report(*read_records(json.dumps(list(records)), file="r"))


def test_every_row_has_its_forecast_and_its_place():
    rows = made(record(rows_inplace=ROWS)).rows
    assert [(row.record, row.row, row.in_place) for row in rows] == [
        (0, 0, False),
        (0, 1, False),
        (0, 0, True),
        (0, 1, True),
    ]
    assert all(row.forecast_us > 0 and row.error is not None for row in rows)


def test_rows_of_a_record_that_is_in_place_are_in_place():
    assert all(row.in_place for row in made(record(in_place=True)).rows)


def test_a_null_time_is_forecast_and_a_plateau_at_4_gib():
    rows = made(record(rows=[[2**20, None, None, None], [None, None, None, 470.0]])).rows
    assert [row.forecast_size_bytes for row in rows] == [2**20, 2**32]
    assert [row.measured_us for row in rows] == [None, None]
    assert rows[1].measured_GBps == 470.0


def test_what_cannot_be_forecast_is_skipped_with_its_reason():
    result = made(record(), record(cluster={"gpu": None}), {"rows": []}, record())
    assert [entry.record for entry in result.skipped] == [1, 2]
    assert {row.record for row in result.rows} == {0, 3}
    assert all(entry.reason for entry in result.skipped)


def test_only_healthy_records_count():
    result = made(record(health="misconfigured"), record(health="unclear"), record())
    assert {row.record for row in result.rows if row.counts} == {2}
    assert {row.record for row in result.rows} == {0, 1, 2}


def test_of_repeated_runs_beyond_one_domain_the_best_counts():
    slow = [[size, 3 * time, algbw, busbw] for size, time, algbw, busbw in ROWS]
    runs = [record(cluster=PAIR, ranks=16, rows=rows) for rows in (slow, ROWS)]
    assert {row.record for row in made(*runs).rows if row.counts} == {1}


def test_of_repeated_runs_on_one_node_all_count():
    assert {row.record for row in made(record(), record()).rows if row.counts} == {0, 1}


def test_groups_tell_platforms_and_sizes_apart():
    groups = made(record(), record(cluster=PAIR, ranks=16)).groups
    found = {(g.platform, g.size_class) for g in groups if g.operation == "all"}
    assert {("nvswitch", "<=64K"), ("network", ">16M"), ("all", "all")} <= found


def test_a_report_goes_to_json_and_back():
    result = made(record())
    assert msgspec.json.decode(to_json(result), type=ValidationReport) == result


def test_the_worst_record_stands_first():
    off = [[2**30, 40_000.0, 26.8, 47.0]]
    assert made(record(), record(id="off", rows=off)).worst[0].id == "off"


def test_a_baseline_is_kept_by_the_same_run_and_broken_by_a_worse_one():
    before = read_baseline(to_json(made(record())), file="b")
    assert not worsened(before, made(record()).groups)
    slow = [[size, time / 3, algbw, busbw] for size, time, algbw, busbw in ROWS]
    assert worsened(before, made(record(rows=slow)).groups)


def test_a_group_that_is_gone_is_worse():
    before = read_baseline(to_json(made(record())), file="b")
    assert any(entry.now is None for entry in worsened(before, ()))


def test_a_file_that_is_no_report_is_no_baseline():
    with pytest.raises(InputError, match="no baseline"):
        read_baseline(b'{"rows": []}', file="b")


NO_INPUTS = ("id", "source", "source_url", "date", "fold", "notes", "reason", "verdict", "cause")


def stripped(entry: dict) -> dict:
    """A record without all that is no input of a forecast."""
    kept = {k: v for k, v in entry.items() if k not in (*NO_INPUTS, "health", "grade", "derived")}
    free = ("gpu_stated", "platform", "interconnect")
    cluster = {k: v for k, v in entry["cluster"].items() if k not in free}
    return kept | {"cluster": cluster}


def forecasts(entries: list[dict]) -> list[tuple]:
    good, bad = read_records(json.dumps(entries), file="r")
    rows, _, _ = score_all(good)
    assert not bad
    return [(r.record.position, r.number, r.second, r.compared.forecast) for r in rows]


def test_names_sources_dates_and_remarks_do_not_move_a_forecast():
    talkative = record(
        id="x", date="2024", notes="NVLS off, 2 NICs", reason="slow", verdict="bad", cause="gdr_off"
    )
    talkative["cluster"] = H100 | {"platform": "DGX A100", "gpu_stated": "A100"}
    assert forecasts([talkative]) == forecasts([stripped(talkative)])


@pytest.mark.corpus
def test_names_sources_dates_and_remarks_do_not_move_forecasts_of_the_corpus():
    entries = json.loads(shared("validation", "collectives.json").read_bytes())[::15]
    assert forecasts(entries) == forecasts([stripped(entry) for entry in entries])


@pytest.mark.corpus
def test_nearly_all_of_the_corpus_is_forecast():
    good, _ = read_records(shared("validation", "collectives.json").read_bytes(), file="c")
    rows, skipped, _ = score_all(good[::4])
    assert len(skipped) < 0.08 * len(good[::4])
    assert all(entry.reason for entry in skipped)
    assert all(row.compared.forecast.time_us > 0 for row in rows)


def test_bands_hold_four_of_five_rows_and_are_written_as_data():
    spread = [0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 0.8, 1.3, 0.97, 1.02]
    base = made(record()).rows[1].forecast_us
    entries = [
        record(fold=f"f{k}", rows=[[2**30, base * factor, None, None]])
        for k, factor in enumerate(spread)
    ]
    rows, _, _ = score_all(read_records(json.dumps(entries), file="r")[0])
    off = residuals(rows)
    [band] = fit_bands(off)
    inside = [factor for factor in spread if band.low <= factor <= band.high]
    assert len(inside) == 8
    assert f"low = {band.low}" in as_toml([band], "hash")
    assert {entry.size for entry in coverage(off)} == {">16M", "all"}


def test_a_band_weighs_folds_and_not_rows():
    of = BandClass("nvswitch", ">16M", "all_reduce", "Hopper")
    many = [Residual(of, "long", 0.0) for _ in range(100)]
    few = [Residual(of, f"f{k}", 1 / factor - 1) for k, factor in enumerate([0.8, 0.9, 1.1, 1.25])]
    limits = {(band.low, band.high) for band in fit_bands([*many, *few])}
    ((low, high),) = limits
    assert low < 0.9
    assert high > 1.1


def test_generations_that_were_seen_have_the_width_of_all():
    draw = np.random.default_rng(0)
    rows = [
        Residual(BandClass("mesh", ">16M", "all_reduce", gpu), f"{gpu}{k % 5}", error)
        for gpu, spread in (("Ada", 0.05), ("Volta", 0.2))
        for k, error in enumerate(draw.normal(0, spread, 60).tolist())
    ]
    bands = {(b.operation, b.generation): b for b in fit_bands(rows)}
    assert bands["all_reduce", "Ada"].rows == 60
    assert bands["all_reduce", "Ada"].high == bands["all_reduce", "any"].high
    assert bands["any", "Volta"].low == bands["any", "any"].low


def test_calibrated_bands_hold_four_of_five_unseen_rows_of_each_class():
    draw = np.random.default_rng(1)
    rows = [
        Residual(BandClass(platform, "<=64K", "all_reduce", "Hopper"), f"{platform}{fold}", error)
        for platform, spread in (("nvswitch", 0.05), ("network", 0.5))
        for fold in range(40)
        for error in np.expm1(draw.normal(draw.normal(0, spread), spread / 4, 20)).tolist()
    ]
    for entry in coverage(rows, calibrated_shares(rows)):
        assert 0.75 < entry.covered < 0.85
        assert entry.within > entry.error
