"""Copies between pairs beside their forecasts: which device is slow."""

from __future__ import annotations

import pytest

from readers import host_texts as texts
from support import shared
from wirespeed._api.check import check
from wirespeed.comparison.check import CheckReport
from wirespeed.comparison.machines import group_on
from wirespeed.errors import UsageError
from wirespeed.readers import read_text
from wirespeed.topology.cluster import build_cluster
from wirespeed.topology.machines import preset_machine


def checked(tmp_path, text: str, preset: str | None = None) -> CheckReport:
    file = tmp_path / "run.txt"
    file.write_text(text)
    return check(str(file), build_cluster(preset_machine(preset)) if preset else None)


def matrix(slow: float = 1.0, pair: float = 1.0) -> str:
    """nvbandwidth of eight H100; GPU 2 slower by one factor, one pair by another."""
    rows = []
    for a in range(8):
        cells = []
        for b in range(8):
            rate = 393.0 * (slow if 2 in (a, b) else 1.0) * (pair if (a, b) == (4, 5) else 1.0)
            cells.append("N/A" if a == b else f"{rate:.2f}")
        rows.append(f" {a}  " + "  ".join(cells))
    head = "    " + "  ".join(str(k) for k in range(8))
    title = "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"
    return "\n".join(["Running device_to_device_memcpy_read_ce.", title, head, *rows, ""]) + "\n"


def test_eight_h100_that_copy_as_they_should(tmp_path) -> None:
    report = checked(tmp_path, matrix(), "dgx-h100")
    assert report.verdict == "ok"
    assert len(report.rows) == 56
    assert "the lowest of 56" in report.sentence


def test_a_gpu_with_fewer_links_is_named(tmp_path) -> None:
    report = checked(tmp_path, matrix(slow=0.7), "dgx-h100")
    assert report.verdict == "slow"
    assert "from and to gpu2 (14 of 14) are slow" in report.sentence


def test_one_odd_pair_decides_nothing(tmp_path) -> None:
    report = checked(tmp_path, matrix(pair=0.7), "dgx-h100")
    assert report.verdict == "ok"
    assert "1 of 56 lie outside" in report.sentence


def test_the_machine_may_be_named_by_the_output_itself(tmp_path) -> None:
    text = texts.NVBANDWIDTH
    report = checked(tmp_path, text)
    assert report.machine == "dgx-h100"
    kinds = {row.operation for row in report.rows}
    assert kinds == {"p2p_copy", "d2h"}
    assert report.verdict == "ok"


def test_more_gpus_than_the_machine_has_are_refused() -> None:
    measured = read_text(matrix(), file="run.txt").measurements[-1]
    with pytest.raises(UsageError, match="not on one node"):
        group_on(build_cluster(preset_machine("hgx-h100-4")), measured)


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "preset", "verdict"),
    [
        ("nvbandwidth/02-a100x8-readme.txt", "dgx-a100", "ok"),
        ("nvbandwidth/03-gb300-station-h2d.txt", "gb300-nvl72", "ok"),
        ("nvbandwidth/04-json-shape.json", "dgx-h100", "ok"),
        ("p2pBandwidthLatencyTest/03-8gpu-one-slower-pair.txt", "dgx-a100", "slow"),
        ("p2pBandwidthLatencyTest/04-12gpu-bidir.txt", "dgx-2", "ok"),
    ],
)
def test_published_copies_are_judged_as_people_did(name, preset, verdict) -> None:
    cluster = build_cluster(preset_machine(preset))
    report = check(str(shared("samples", *name.split("/"))), cluster)
    assert report.verdict == verdict
    if verdict == "slow":
        assert "gpu0 (14 of 14)" in report.sentence


@pytest.mark.corpus
def test_copies_through_the_host_are_not_slow_for_what_they_are() -> None:
    cluster = build_cluster(preset_machine("pcie-8x-rtx4090"))
    name = "01-4090-cannot-access.txt"
    report = check(str(shared("samples", "p2pBandwidthLatencyTest", name)), cluster)
    assert report.verdict != "slow"
