"""ws.diff: two files or two machines."""

from __future__ import annotations

import pytest

import wirespeed as ws
from nccl_tests_text import cluster_of, printed


@pytest.fixture
def files(tmp_path):
    before, after = tmp_path / "before.txt", tmp_path / "after.txt"
    before.write_text(printed(cluster_of("dgx-h100")))
    after.write_text(printed(cluster_of("dgx-h100", changes=["nvls=off"])))
    return str(before), str(after)


def test_two_outputs_are_two_sweeps(files):
    report = ws.diff(*files)
    assert (report.kind, report.verdict) == ("sweeps", "slower")
    assert (report.before, report.after) == ("before.txt", "after.txt")


def test_presets_clusters_and_files_of_machines_are_machines():
    assert ws.diff("dgx-h100", "dgx-h100").verdict == "same"
    assert ws.diff("dgx-h100", ws.cluster("dgx-h200")).verdict == "different"
    lost = "examples/dgx-h100-gpu2-without-nvlink-topo-m.txt"
    report = ws.diff("examples/dgx-h100-topo-m.txt", lost)
    assert any(entry.what == "oddity" for entry in report.differences)
    assert any("gpu2" in entry.name for entry in report.differences if entry.what == "link")


def test_a_measurement_and_a_machine_are_no_pair(files):
    with pytest.raises(ws.WirespeedError, match="cannot be compared") as caught:
        ws.diff(files[0], "dgx-h100")
    assert "check" in caught.value.remedy


def test_standard_input_is_read_once():
    with pytest.raises(ws.WirespeedError, match="once"):
        ws.diff("-", "-")
