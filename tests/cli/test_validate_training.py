"""`wirespeed validate` on a file of training runs."""

from __future__ import annotations

import json

import pytest

from validation.test_training_groups import record


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "runs.json"
    runs = [record(id=f"run-{k}", global_batch=8 * (k + 1)) for k in range(4)]
    path.write_text("\n".join(json.dumps(run) for run in [*runs, record(task="lora", series="t")]))
    return str(path)


def test_rows_have_the_fields_of_the_contract(run, file):
    found = run("validate", file, "--json").json
    assert found["schema"].startswith("wirespeed.validate")
    fields = {"record", "id", "measured_s", "forecast_s", "low_s", "high_s", "chosen"}
    for row in found["rows"]:
        assert fields | {"measured_mem_gib", "forecast_mem_gib"} <= set(row)
    assert [row["record"] for row in found["rows"]] == [0, 1, 2, 3]
    assert [entry["record"] for entry in found["skipped"]] == [4]
    assert {group["group"] for group in found["groups"]} == {"all", "g"}


def test_a_person_reads_groups_then_the_worst_runs_then_the_skipped(run, file):
    out = run("validate", file).out
    assert out.index("By collection") < out.index("Worst runs") < out.index("1 run skipped")
    worst = [line.split()[1] for line in out.splitlines() if " run-" in line]
    errors = [abs(float(line.split()[-1])) for line in out.splitlines() if " run-" in line]
    assert len(worst) == 4
    assert errors == sorted(errors, reverse=True)


def test_a_baseline_that_was_better_ends_in_status_1(run, file, tmp_path):
    report = run("validate", file, "--json").json
    same = tmp_path / "same.json"
    same.write_text(json.dumps(report))
    assert run("validate", file, "--baseline", str(same)).status == 0
    for group in report["groups"]:
        group["median"] -= 0.02
    better = tmp_path / "better.json"
    better.write_text(json.dumps(report))
    done = run("validate", file, "--baseline", str(better))
    assert done.status == 1
    assert "worse than" in done.err


def test_a_sample_is_for_training_runs_and_of_one_at_least(run, file, tmp_path):
    assert len(run("validate", file, "--sample", "2", "--json").json["rows"]) == 2
    assert run("validate", file, "--sample", "0").status == 2
    sweep = {"collective": "all_reduce", "cluster": {"gpu": "H100-SXM"}, "rows": []}
    other = tmp_path / "sweep.json"
    other.write_text(json.dumps(sweep))
    done = run("validate", str(other), "--sample", "2")
    assert done.status == 2
    assert "no training runs" in done.err
