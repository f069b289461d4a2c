"""A paste of several hosts: one machine stands for all, what another is otherwise is told."""

from __future__ import annotations

from pathlib import Path

import pytest

import wirespeed as ws
from wirespeed.inventory import resolve

WELL = Path("examples/dgx-h100-topo-m.txt").read_text()
LOST = Path("examples/dgx-h100-gpu2-without-nvlink-topo-m.txt").read_text()


def paste(*texts: str) -> str:
    return "".join(f"root@n{k}:~# nvidia-smi topo -m\n{text}" for k, text in enumerate(texts, 1))


def test_hosts_that_are_alike_are_so_many_nodes():
    resolved = resolve("-", stdin=lambda: paste(WELL, WELL, WELL))
    assert resolved.nodes == 3
    assert resolved.machine.oddities == ()
    assert "n2, n3 are as n1" in [n.text for n in resolved.machine.warnings]


def test_a_host_that_differs_is_named_with_what_is_odd_about_it():
    machine = resolve("-", stdin=lambda: paste(WELL, LOST)).machine
    (odd,) = machine.oddities
    assert odd.text.startswith("n2: gpu2 has lost its NVLinks")
    assert any(n.text.startswith("n2 differs from n1") for n in machine.warnings)


def test_lists_of_hosts_count_each():
    rule = "-" * 16
    text = f"{rule}\nn[1-4]\n{rule}\n{WELL}{rule}\nn[5-6]\n{rule}\n{WELL}"
    assert resolve("-", stdin=lambda: text).nodes == 6


def test_ranks_are_no_nodes():
    lines = WELL.splitlines()
    text = "".join(f"{rank}: {line}\n" for line in lines for rank in range(2))
    assert resolve("-", stdin=lambda: text).nodes == 1


def test_what_names_no_host_goes_with_the_first():
    text = f"$ cat gpus.csv\nindex, name\n0, NVIDIA H200\n{paste(WELL, WELL)}"
    resolved = resolve("-", stdin=lambda: text)
    assert (resolved.machine.gpu, resolved.nodes) == ("h200-sxm", 2)


@pytest.mark.parametrize("at", [1, 2])
def test_a_finding_points_at_the_line_of_the_paste(tmp_path, at: int):
    text = paste(*(LOST if k == at else WELL for k in (1, 2)))
    (tmp_path / "two.txt").write_text(text)
    report = ws.doctor(str(tmp_path / "two.txt"))
    (found,) = [f for f in report.findings if f.code == "nvlink_down"]
    lines = text.splitlines()
    place = found.evidence[0].line
    assert lines[place - 1].startswith("GPU2\tNODE")
    assert (place > len(lines) // 2) is (at == 2)


def test_a_name_with_its_domain_is_the_same_host():
    query = "root@n1.site.org:~# cat q\nindex, name\n0, NVIDIA H200\n"
    text = f"root@n1:~# nvidia-smi topo -m\n{WELL}{query}"
    resolved = resolve("-", stdin=lambda: text)
    assert (resolved.machine.gpu, resolved.nodes) == ("h200-sxm", 1)
