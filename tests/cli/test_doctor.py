"""`wirespeed doctor` and `wirespeed diff`."""

from __future__ import annotations

from pathlib import Path

import pytest

from nccl_tests_text import cluster_of, printed

LOST = "examples/dgx-h100-gpu2-without-nvlink-topo-m.txt"
WELL = "examples/dgx-h100-topo-m.txt"


@pytest.fixture
def slow(tmp_path):
    file = tmp_path / "slow.txt"
    file.write_text(printed(cluster_of("dgx-h100", changes=["nvls=off"])))
    return str(file)


def test_status_1_where_something_is_found_and_0_where_nothing_is(run, slow):
    assert run("doctor", WELL).status == 0
    assert run("doctor", LOST).status == 1
    assert run("doctor", slow).status == 1
    assert run("doctor", slow, "--on", "dgx-h100").status == 1


def test_the_verdict_comes_first_then_findings_then_the_comparison(run, slow):
    out = run("doctor", slow).out
    assert out.startswith("Verdict: slow\n")
    marks = ["Verdict", "Wrong\n", "! nvls_off: ", "It may also be", "Measured beside forecast"]
    places = [out.index(mark) for mark in marks]
    assert places == sorted(places)
    assert "seen in" in out
    assert "slow.txt:" in out


def test_the_json_has_the_fields_of_the_contract(run, slow):
    found = run("doctor", slow, "--json").json
    assert found["schema"] == "wirespeed.doctor/1"
    assert {"verdict", "findings", "comparison", "attribution"} <= set(found)
    finding = {"code", "severity", "cause", "evidence", "remedy", "confidence", "source_url"}
    assert set(found["findings"][0]) == finding
    assert set(found["findings"][0]["evidence"][0]) == {"file", "line", "text"}
    explained = {"cause", "changes", "error_before", "error_after"}
    assert set(found["attribution"][0]) == explained
    row = {"size_bytes", "in_place", "measured_us", "forecast_us", "low_us", "high_us", "verdict"}
    assert row <= set(found["comparison"]["rows"][0])


@pytest.mark.parametrize("words", [("doctor",), ("doctor", "nowhere.txt"), ("diff", WELL)])
def test_wrong_use_ends_with_2_and_what_to_do(run, words):
    done = run(*words)
    assert done.status == 2
    assert done.err.startswith("wirespeed: ")


@pytest.mark.parametrize("file", [WELL, "run"])
def test_a_machine_that_is_not_there_is_an_error_whatever_the_texts_hold(run, slow, file):
    done = run("doctor", slow if file == "run" else file, "--on", "dgx-h10")
    assert done.status == 2
    assert "did you mean dgx-h100" in done.err


def test_diff_shows_what_differs_and_ends_well(run):
    done = run("diff", WELL, LOST)
    assert done.status == 0
    assert "different" in done.out.splitlines()[0]
    assert "node0/gpu2" in done.out


def test_diff_of_sweeps_shows_noise_beside_change(run, slow):
    done = run("diff", slow, slow)
    assert done.status == 0
    assert "no more than repeated runs do" in done.out
    assert run("diff", slow, slow, "--json").json["schema"] == "wirespeed.diff/1"


def test_a_run_that_failed_before_its_table_is_a_finding_and_check_says_where_to_ask(run, tmp_path):
    file = tmp_path / "failed.txt"
    file.write_text(
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8\n"
        "n1: Test CUDA failure common.cu:893 'no CUDA-capable device is detected'\n"
    )
    told = run("doctor", str(file))
    assert told.status == 1
    assert "run_failed" in told.out
    assert "nvidia-smi -L" in told.out
    assert "failed.txt:2" in told.out
    asked = run("check", str(file))
    assert asked.status == 2
    assert "no CUDA-capable device" in asked.err


def test_wrong_results_are_not_explained_by_anything_slow(run, slow, tmp_path):
    lines = Path(slow).read_text().replace(" 0\n", " 4\n").splitlines(keepends=True)
    file = tmp_path / "wrong.txt"
    file.write_text("".join([*lines, "# Out of bounds values : 108 FAILED\n"]))
    found = run("doctor", str(file), "--json").json
    assert [finding["code"] for finding in found["findings"]] == ["wrong_values"]
    assert found["attribution"] == []
    assert found["verdict"] == "wrong"
