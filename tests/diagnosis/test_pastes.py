"""The doctor on a paste of several outputs: each run under its own settings, lines that hold."""

from __future__ import annotations

from pathlib import Path

import wirespeed as ws
from inventory.test_from_log import log
from nccl_tests_text import cluster_of, printed
from wirespeed._api.doctor import write_redacted

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


def places(report) -> list[tuple[str, tuple[int, ...]]]:
    return [(f.code, tuple(line.line for line in f.evidence)) for f in report.findings]


def test_a_redacted_copy_gives_the_same_findings_on_the_same_lines(tmp_path):
    lost = Path("examples/dgx-h100-gpu2-without-nvlink-topo-m.txt").read_text()
    text = (
        f"(base) bob@gpu-7:~$ nvidia-smi topo -m\n{MATRIX}"
        f"(base) bob@gpu-7:~$ NCCL_P2P_DISABLE=1 WORD=hush all_reduce_perf\n{SLOW}"
        f"(base) bob@gpu-8:~$ nvidia-smi topo -m\n{lost}"
    )
    report = doctor(tmp_path, text)
    (copy,) = write_redacted([str(tmp_path / "paste.md")], str(tmp_path / "copies"))
    shown = copy.read_text()
    assert not [word for word in ("bob", "gpu-7", "gpu-8", "hush") if word in shown]
    assert places(ws.doctor(str(copy))) == places(report)
    assert {"nvlink_down", "p2p_disabled_env"} <= {code for code, _ in places(report)}


def test_a_log_in_a_file_of_its_own_says_what_the_rows_beside_it_ran_on(tmp_path):
    text = log(link="NVL[370.8] - NVS/0", env="NCCL_IB_HCA set by environment to mlx5_0")
    (tmp_path / "run.log").write_text(text)
    slow = printed(cluster_of("dgx-h100", nodes=2, NCCL_IB_HCA="mlx5_0"), sizes=[2**30])
    rows = "\n".join(line for line in slow.splitlines() if not line.startswith("#  Rank"))
    (tmp_path / "results.txt").write_text(rows)
    report = ws.doctor(str(tmp_path / "run.log"), str(tmp_path / "results.txt"))
    assert report.comparison is not None
    assert (report.comparison.nodes, report.comparison.ranks) == (2, 16)
    assert report.attribution[0].cause == "wrong_or_few_nics"
