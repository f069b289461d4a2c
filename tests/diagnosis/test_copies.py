"""The GPU that copies more slowly to every peer, and matrices where none does."""

from __future__ import annotations

import pytest

from support import shared
from wirespeed.diagnosis.copies import copy_findings
from wirespeed.evidence import Finding
from wirespeed.readers import read_text


def matrix(rate: dict[tuple[int, int], float], gpus: int = 8, usual: float = 276.0) -> str:
    """p2pBandwidthLatencyTest's matrix with peer access, where some pairs have another rate."""
    lines = ["Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)"]
    lines.append("   D\\D" + "".join(f"{k:6d} " for k in range(gpus)))
    for a in range(gpus):
        cells = [1500.0 if a == b else rate.get((a, b), usual) for b in range(gpus)]
        lines.append(f"{a:6d} " + " ".join(f"{cell:6.2f}" for cell in cells))
    return "\n".join(lines) + "\n"


def found(text: str) -> tuple[Finding, ...]:
    return copy_findings([read_text(text, file="p2p.txt")], {"p2p.txt": text.split("\n")})


def row_and_column(gpu: int, rate: float, gpus: int = 8) -> dict[tuple[int, int], float]:
    return {(a, b): rate for a in range(gpus) for b in range(gpus) if gpu in (a, b)}


def test_a_gpu_with_two_of_twelve_links_down() -> None:
    (finding,) = found(matrix(row_and_column(3, 230.0)))
    assert finding.code == "nvlink_down"
    assert "gpu3 copies at 230 GB/s" in finding.cause
    assert "10 of 12 links" in finding.cause or "15 of 18 links" in finding.cause
    assert finding.evidence[0].text.startswith("3 ")


@pytest.mark.parametrize(
    "rate",
    [
        {},
        {(2, 5): 200.0},
        row_and_column(3, 270.0),
        {(a, b): 22.0 for a in range(8) for b in range(8) if a // 2 != b // 2},
    ],
)
def test_noise_one_pair_and_bridges_are_no_lost_links(rate: dict[tuple[int, int], float]) -> None:
    assert not found(matrix(rate))


def test_slots_of_a_pcie_box_differ_by_design() -> None:
    assert not found(matrix(row_and_column(0, 11.0), usual=22.0))


@pytest.mark.corpus
def test_a_published_matrix_shows_ten_of_twelve_links() -> None:
    path = shared("samples", "p2pBandwidthLatencyTest", "03-8gpu-one-slower-pair.txt")
    (finding,) = found(path.read_text("utf-8"))
    assert "gpu0 copies at" in finding.cause
    assert "0.82 of it" in finding.cause
    for name in ("01-4090-cannot-access", "02-a100-nvlink-pairs", "04-12gpu-bidir"):
        assert not found(path.with_name(f"{name}.txt").read_text("utf-8")), name
