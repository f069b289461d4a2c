"""`wirespeed validate`, `check` and `expect` as a person types them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from nccl_tests_text import cluster_of, printed

RECORD = {
    "id": "a",
    "source": "s",
    "fold": "f",
    "cluster": {"gpu": "H100-SXM", "nodes": 1, "gpus_per_node": 8},
    "ranks": 8,
    "collective": "all_reduce",
    "rows": [[1024, 25.0, 0.04, 0.07], [2**30, 4000.0, 268.0, 470.0]],
}


@pytest.fixture
def records(tmp_path: Path) -> str:
    file = tmp_path / "records.json"
    file.write_text(json.dumps([RECORD]), "utf-8")
    return str(file)


def test_the_json_of_validate_has_the_fields_of_the_contract(run, records):
    found = run("validate", records, "--json").json
    assert found["schema"] == "wirespeed.validate/1"
    assert {"groups", "skipped", "rows"} <= set(found)
    assert {
        "record",
        "row",
        "id",
        "in_place",
        "size_bytes",
        "forecast_size_bytes",
        "measured_us",
        "forecast_us",
        "measured_GBps",
        "forecast_GBps",
        "low_us",
        "high_us",
    } <= set(found["rows"][0])


def test_a_report_is_its_own_baseline_and_a_worse_run_breaks_it(run, records, tmp_path):
    baseline = tmp_path / "baseline.json"
    baseline.write_text(json.dumps(run("validate", records, "--json").json), "utf-8")
    assert run("validate", records, "--baseline", str(baseline)).status == 0
    slower = [[size, 3 * us, algbw, busbw] for size, us, algbw, busbw in RECORD["rows"]]
    worse = tmp_path / "worse.json"
    worse.write_text(json.dumps([RECORD | {"rows": slower}]), "utf-8")
    done = run("validate", str(worse), "--baseline", str(baseline))
    assert done.status == 1
    assert "worse than" in done.err


def test_params_need_no_records(run):
    done = run("validate", "--params")
    assert done.status == 0
    assert "generation.hopper" in done.out


def test_nothing_to_validate_is_wrong_use(run):
    assert run("validate").status == 2


@pytest.mark.parametrize(("slower", "status", "verdict"), [(1.0, 0, "ok"), (3.0, 1, "slow")])
def test_check_says_whether_a_pasted_run_is_right(run, tmp_path, slower, status, verdict):
    file = tmp_path / "run.txt"
    file.write_text(printed(cluster_of("dgx-h100"), factor=lambda _: slower), "utf-8")
    done = run("check", str(file), "--on", "dgx-h100", "--json")
    assert (done.status, done.json["verdict"]) == (status, verdict)
    assert done.json["sentence"]
    assert set(done.json["rows"][0]) >= {
        "size_bytes",
        "in_place",
        "measured_us",
        "forecast_us",
        "low_us",
        "high_us",
        "verdict",
    }


def test_expected_numbers_have_their_range_in_csv(run):
    done = run("expect", "dgx-h100", "--nodes", "1,2", "--to", "csv")
    assert done.status == 0
    table = list(csv.DictReader(io.StringIO(done.out)))
    assert {int(row["nodes"]) for row in table} == {1, 2}
    ranged = [row for row in table if row["low_busbw_GBps"]]
    assert ranged
    for row in ranged:
        low, mid, high = (
            float(row[k]) for k in ("low_busbw_GBps", "busbw_GBps", "high_busbw_GBps")
        )
        assert low <= mid <= high
