"""ws.doctor: from files to findings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import wirespeed as ws
from nccl_tests_text import cluster_of, printed
from wirespeed.topology.result import to_json

EXAMPLE = "examples/dgx-h100-gpu2-without-nvlink-topo-m.txt"


@pytest.fixture
def good(tmp_path):
    file = tmp_path / "good.txt"
    file.write_text(printed(cluster_of("dgx-h100")))
    return str(file)


@pytest.fixture
def slow(tmp_path):
    file = tmp_path / "slow.txt"
    file.write_text(printed(cluster_of("dgx-h100", changes=["nvls=off"])))
    return str(file)


def codes(report) -> list[str]:
    return [finding.code for finding in report.findings]


def test_a_good_run_is_what_this_machine_gives_with_the_arithmetic(good):
    report = ws.doctor(good)
    assert report.verdict == "ok"
    assert codes(report) == ["nothing_wrong"]
    assert "GB/s on the wire" in report.findings[0].cause
    assert report.findings[0].evidence[0].text.startswith("8589934592")
    assert report.comparison is not None
    assert report.comparison.verdict == "ok"
    assert report.attribution == ()


def test_the_arithmetic_is_right(good):
    """Wire rate times payload over bytes on the wire is algbw; times 2(n-1)/n it is busbw."""
    cause = ws.doctor(good).findings[0].cause
    numbers = [float(text) for text in re.findall(r"([\d.]+)(?= GB/s| times)", cause)]
    measured, wire, payload, times, algbw, busbw = numbers
    share = float(re.search(r"(\d+)%", cause)[1]) / 100
    assert wire * share == pytest.approx(payload, rel=0.02)
    assert payload / times == pytest.approx(algbw, rel=0.01)
    assert algbw * 2 * 7 / 8 == pytest.approx(busbw, rel=0.001)
    assert measured == pytest.approx(busbw, rel=0.01)


def test_a_slow_run_names_what_explains_it_best_first(slow):
    report = ws.doctor(slow)
    assert report.verdict == "slow"
    assert codes(report)[0] == "nvls_off"
    first = report.attribution[0]
    assert (first.cause, first.changes) == ("nvls_off", ("nvls=off",))
    assert abs(first.error_after) < 0.01 < abs(first.error_before)
    assert report.findings[0].severity == "error"


def test_a_run_beyond_its_band_that_proves_no_fault_is_said_to_be_so(tmp_path):
    cluster = cluster_of("dgx-h100")
    file = tmp_path / "run.txt"
    file.write_text(printed(cluster, factor=lambda size: 1.15))
    report = ws.doctor(str(file))
    assert (report.verdict, codes(report)) == ("ok", ["slower_than_most"])
    assert report.comparison.verdict == "slow"
    assert "nine good runs in ten" in report.sentence


def test_a_machine_that_is_named_holds(slow):
    report = ws.doctor(slow, on="dgx-h100")
    assert report.verdict == "slow"
    assert report.comparison.machine == "dgx-h100"
    assert ws.doctor(slow, on=ws.cluster("dgx-h100")).verdict == "slow"


def test_a_machine_alone_is_looked_at_for_oddities():
    report = ws.doctor(EXAMPLE)
    assert report.verdict == "wrong"
    assert codes(report) == ["nvlink_down"]
    assert report.comparison is None
    assert any("GPU2" in line.text for line in report.findings[0].evidence)


def test_a_machine_without_oddities_is_ok():
    assert codes(ws.doctor("examples/dgx-h100-topo-m.txt")) == ["nothing_odd"]


def test_files_are_joined_the_machine_of_one_holds_for_the_rows_of_another(good, tmp_path):
    headless = tmp_path / "rows.txt"
    lines = Path(good).read_text().splitlines(keepends=True)
    headless.write_text("".join(line for line in lines if " device " not in line))
    assert codes(ws.doctor(str(headless))) == ["not_compared"]
    report = ws.doctor(str(headless), "examples/dgx-h100-topo-m.txt")
    assert codes(report) == ["nothing_wrong"]
    assert report.verdict == "ok"


def test_a_directory_is_its_files_and_what_says_nothing_is_left_out(good, tmp_path):
    (tmp_path / "readme.txt").write_text("nothing that is known\n")
    report = ws.doctor(str(tmp_path))
    assert codes(report) == ["nothing_wrong"]
    assert [notice.code for notice in report.warnings if notice.where == "readme.txt"] == [
        "file-left-out"
    ]


def test_a_file_of_records_gets_a_verdict_each(tmp_path):
    file = tmp_path / "records.json"
    cluster = {"gpu": "H200-SXM", "nodes": 1, "gpus_per_node": 8}
    plain = {"cluster": cluster, "ranks": 8, "collective": "all_reduce"}
    bad = plain | {"rows": [[2**33, None, None, 366.0]], "env": {"NCCL_NVLS_ENABLE": "0"}}
    unknown = plain | {"cluster": {}, "rows": [[2**33, None, None, 366.0]]}
    file.write_text("\n".join(json.dumps(entry) for entry in (bad, unknown)))
    report = ws.doctor(str(file))
    written = json.loads(to_json(report))
    assert [(r["record"], r["verdict"]) for r in written["records"]] == [(0, "slow"), (1, "ok")]
    assert written["records"][0]["causes"][0] == "nvls_off"
    assert written["warnings"][0]["code"] == "not-forecast"


def test_it_goes_to_json_and_back(slow, tmp_path):
    report = ws.doctor(slow)
    file = tmp_path / "report.json"
    file.write_bytes(to_json(report))
    assert ws.load(file) == report


@pytest.mark.parametrize("sources", [(), ("no-such-file.txt",)])
def test_what_cannot_be_read_is_said(sources):
    with pytest.raises(ws.WirespeedError) as caught:
        ws.doctor(*sources)
    assert caught.value.remedy


def test_no_setting_of_an_environment_but_the_library_s_is_printed(tmp_path):
    file = tmp_path / "run.txt"
    file.write_text(printed(cluster_of("dgx-h100")) + "\nexport AWS_SECRET_ACCESS_KEY=abc123\n")
    assert "abc123" not in str(ws.doctor(str(file)))
