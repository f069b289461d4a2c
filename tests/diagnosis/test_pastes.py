"""The doctor on a paste of several outputs: each run under its own settings, lines that hold."""

from __future__ import annotations

from pathlib import Path

import wirespeed as ws
from nccl_tests_text import cluster_of, printed

MATRIX = Path("examples/dgx-h100-topo-m.txt").read_text()
WELL = printed(cluster_of("dgx-h100"), sizes=[2**27, 2**30])
SLOW = printed(cluster_of("dgx-h100", NCCL_P2P_DISABLE="1"), sizes=[2**27, 2**30])
LOG = "n:1:1 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n"


def doctor(tmp_path, text: str):
    (tmp_path / "paste.md").write_text(text)
    return ws.doctor(str(tmp_path / "paste.md"))


def test_settings_of_one_run_are_not_those_of_the_next(tmp_path):
    for first in (
        f"$ NCCL_P2P_DISABLE=1 all_reduce_perf\n{SLOW}",
        f"$ all_reduce_perf\n{LOG}{SLOW}",
    ):
        text = f"$ nvidia-smi topo -m\n{MATRIX}{first}$ all_reduce_perf\n{WELL}"
        report = doctor(tmp_path, text)
        assert report.comparison is not None
        by_verdict = [row.verdict for row in report.comparison.rows]
        assert by_verdict[-1] == "ok"
        assert report.attribution[0].cause == "p2p_disabled_env"
        assert "nothing_wrong" in {finding.code for finding in report.findings}


def test_what_shows_the_cause_is_quoted_without_what_else_the_command_held(tmp_path):
    command = "me@n1:~$ NCCL_P2P_DISABLE=1 DEPLOY=opensesame all_reduce_perf -b 1G"
    text = f"Hi,\n```\nme@n1:~$ nvidia-smi topo -m\n{MATRIX}{command}\n{SLOW}```\n"
    report = doctor(tmp_path, text)
    shown = [line for f in report.findings for line in f.evidence if "all_reduce_perf" in line.text]
    assert shown
    assert text.splitlines()[shown[0].line - 1] == command
    assert "opensesame" not in str(report)


def test_the_same_copies_twice_are_compared_alike(tmp_path):
    copies = (
        "Running device_to_device_memcpy_read_ce.\n"
        "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n"
        " 0       N/A    390.10\n 1    389.90       N/A\n\n"
        "SUM device_to_device_memcpy_read_ce 780.00\n\n"
    )
    once, twice = (
        doctor(tmp_path, f"$ nvidia-smi topo -m\n{MATRIX}$ nvbandwidth\n{copies * count}")
        for count in (1, 2)
    )
    assert once.comparison is not None
    assert twice.comparison is not None
    rows = [row.forecast_us for row in twice.comparison.rows]
    assert rows == [row.forecast_us for row in once.comparison.rows] * 2
