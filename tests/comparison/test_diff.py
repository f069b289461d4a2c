"""Two sweeps or two machines: what changed, and what is only noise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccl_tests_text import cluster_of
from wirespeed.comparison.diff import noise_at
from wirespeed.comparison.diff_machines import diff_machines
from wirespeed.comparison.diff_sweeps import diff_sweeps
from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Fact, Measurement, Row
from wirespeed.topology.result import ParameterSet

SIZES = [2**k for k in range(10, 34)]
NONE = ParameterSet("")


def sweep(factor=lambda size: 1.0, *, name="a.txt", sizes=SIZES, operation="all_reduce", facts=()):
    rows = tuple(Row(size, (1e-5 + size / 2e11) * factor(size), busbw=2e11) for size in sizes)
    measured = Measurement(operation, name, rows, ranks=8)
    return Evidence("nccl-tests", name, tuple(facts), (), (measured,))


def compared(factor, **changes):
    return diff_sweeps(sweep(), sweep(factor, name="b.txt", **changes), NONE)


def test_a_run_is_the_same_as_itself():
    report = compared(lambda size: 1.0)
    assert report.verdict == "same"
    assert {row.verdict for row in report.rows} == {"same"}
    assert report.differences == ()


@given(st.floats(-1, 1))
def test_changes_within_the_noise_of_repeated_runs_are_none(share):
    report = compared(lambda size: (1 + 0.99 * noise_at(size)) ** share)
    assert report.verdict == "same"


@pytest.mark.parametrize(("factor", "verdict"), [(1.3, "slower"), (1 / 1.3, "faster")])
def test_large_sizes_beyond_noise_are_said_with_by_how_much(factor, verdict):
    report = compared(lambda size: factor if size > 2**24 else 1.0)
    assert report.verdict == verdict
    assert "above 16M" in report.sentence
    assert ("30 % slower" if factor > 1 else "23 % faster") in report.sentence


def test_five_per_cent_is_noise_for_small_sizes_and_not_for_large_ones():
    report = compared(lambda size: 1.05)
    verdicts = {row.size_bytes: row.verdict for row in report.rows}
    assert verdicts[2**10] == verdicts[2**24] == "same"
    assert verdicts[2**25] == verdicts[2**33] == "slower"


def test_one_row_alone_decides_nothing():
    report = compared(lambda size: 2.0 if size == 2**30 else 1.0)
    assert report.verdict == "same"
    assert "1 of 24 rows alone" in report.sentence


def test_faster_here_and_slower_there_is_mixed():
    report = compared(lambda size: 1.5 if size > 2**24 else 0.5)
    assert report.verdict == "mixed"


def test_swapping_the_two_swaps_the_verdict():
    a, b = sweep(), sweep(lambda size: 1.5, name="b.txt")
    assert diff_sweeps(a, b, NONE).verdict == "slower"
    assert diff_sweeps(b, a, NONE).verdict == "faster"


def test_of_repeated_runs_the_best_counts():
    slow, fast = sweep(lambda size: 1.8), sweep()
    twice = Evidence("nccl-tests", "a.txt", (), (), (*slow.measurements, *fast.measurements))
    assert diff_sweeps(twice, sweep(name="b.txt"), NONE).verdict == "same"


def test_rows_without_a_partner_are_counted():
    report = compared(lambda size: 1.0, sizes=SIZES[:20])
    assert [notice.text for notice in report.warnings] == [
        "4 of 24 rows have no partner in the other file"
    ]


def test_other_operations_are_no_comparison():
    with pytest.raises(InputError, match="no size of an operation in common"):
        compared(lambda size: 1.0, operation="all_gather")


def test_settings_that_differ_are_named():
    facts = [Fact("run", "nccl_version", "2.27.3", 1), Fact("env", "NCCL_ALGO", "Ring", 2)]
    (algo, version) = compared(lambda size: 1.0, facts=facts).differences
    assert (algo.what, algo.name, algo.before, algo.after) == ("setting", "NCCL_ALGO", "", "Ring")
    assert (version.name, version.after) == ("nccl_version", "2.27.3")


def test_a_machine_is_the_same_as_itself():
    machine = cluster_of("dgx-h100")
    report = diff_machines(machine, machine, NONE)
    assert (report.kind, report.verdict, report.differences) == ("machines", "same", ())


def test_a_link_at_half_differs_and_so_do_the_paths_over_it():
    whole = cluster_of("dgx-h100")
    hurt = cluster_of("dgx-h100", changes=["gpu0-nvswitch0=0.5"])
    found = diff_machines(whole, hurt, NONE).differences
    links = [entry for entry in found if entry.what == "link"]
    assert [entry.name for entry in links] == ["node0/gpu0-node0/nvswitch0"]
    assert links[0].before.endswith("125 GB/s")
    assert links[0].after.endswith("62.5 GB/s")


def test_other_gpus_are_other_parts():
    found = diff_machines(cluster_of("dgx-h100"), cluster_of("dgx-a100"), NONE).differences
    gpu = next(entry for entry in found if entry.name == "node0/gpu0")
    assert "H100" in gpu.before
    assert "A100" in gpu.after
    assert {entry.what for entry in found} >= {"part", "link", "path"}
