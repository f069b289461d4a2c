"""`wirespeed faults`: every single fault, ranked by what it costs."""

from __future__ import annotations

import pytest

ROW = {"change", "count", "time_us", "slowdown", "ranks", "reason", "down_us", "note"}
ON_H100 = ("faults", "all_reduce", "--on", "dgx-h100", "--nodes", "2")


def test_the_json_has_the_fields_of_the_contract(run):
    done = run(*ON_H100, "--json")
    assert done.status == 0
    found = done.json
    assert found["schema"] == "wirespeed.faults/1"
    assert {"version", "inputs", "parameters", "warnings", "rows"} <= set(found)
    assert all(set(row) == ROW for row in found["rows"])
    assert found["inputs"]["size"] == found["size_bytes"] == 2**30
    assert found["inputs"]["nodes"] == [2]


def test_a_person_reads_first_what_costs_most_and_what_helps(run):
    out = run(*ON_H100).out
    head, what = out.splitlines()[:2]
    assert head == "all_reduce of 1G on dgx-h100: what a fault costs"
    assert what.startswith("Of what can break, ")
    assert "Taken out of service until it is repaired" in " ".join(out.split())
    assert "Ranked by cost" in out
    assert "Without a cost here: " in out


@pytest.mark.slow
def test_top_keeps_the_costliest_and_counts_the_rest(run):
    all_rows = run(*ON_H100, "--json").json["rows"]
    found = run(*ON_H100, "--top", "3", "--json").json
    assert found["rows"] == all_rows[:3]
    assert found["left_out"] == len(all_rows) - 3
    assert "left out by --top" in run(*ON_H100, "--top", "3").out


def test_half_a_nic_costs_more_than_none(run):
    rows = {row["change"].split("/")[-1]: row for row in run(*ON_H100, "--json").json["rows"]}
    half, gone = rows["nic0=0.5"], rows["nic0=down"]
    assert half["down_us"] == gone["time_us"] < half["time_us"]
    assert gone["down_us"] is None


def test_a_fault_that_stops_it_says_why(run):
    out = run("faults", "sendrecv", "--on", "gh200", "--nodes", "3").out
    assert "nic0=down costs most: it cannot run at all" in out
    assert "! node0/nic0=down" in out
    assert "has no network to other nodes" in out


@pytest.mark.slow
def test_a_slow_gpu_costs_a_collective_nothing_and_training_much(run):
    (row,) = (
        row for row in run(*ON_H100, "--json").json["rows"] if row["change"].endswith("compute=0.8")
    )
    assert row["slowdown"] == pytest.approx(1)
    assert "training step waits" in row["note"]
    found = run(
        *("collective", "all_reduce", "--on", "dgx-h100", "--sizes", "1G", "--json"),
        *("--change", "gpu3:compute=0.8"),
    ).json
    (notice,) = (w for w in found["warnings"] if w["code"] == "slow-gpu")
    assert notice["where"] == "node0/gpu3"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--nodes", "1,2"), "one number is needed"),
        (("--top", "0"), "at least one"),
        (("--size", "much"), "much"),
        (("--algo", "Rnig"), "the library has no 'Rnig'"),
    ],
)
def test_wrong_use_is_said(run, words, message):
    done = run("faults", "all_reduce", "--on", "dgx-h100", *words)
    assert done.status == 2
    assert message in done.err
