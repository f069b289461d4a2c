"""Whether a measurement is right: row by row, and in a sentence."""

from __future__ import annotations

import pytest

from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.comparison.bands import Band, BandClass, band_of, banded, tolerance
from wirespeed.comparison.check import check, joined
from wirespeed.comparison.expect import expect, expected
from wirespeed.comparison.expect_formats import as_azurenhc, as_csv, as_superbench
from wirespeed.comparison.machines import group_on, inputs_of
from wirespeed.errors import InputError, UsageError
from wirespeed.evidence import Evidence, Fact, Measurement, Row
from wirespeed.topology.cluster import build_cluster, everyone
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.software import Notice

SIZES = [2**k for k in range(10, 34)]


@pytest.fixture(scope="module")
def cluster():
    return build_cluster(preset_machine("dgx-h100"))


@pytest.fixture(scope="module")
def table(cluster):
    return forecast(Collective(Operation.ALL_REDUCE), cluster, SIZES, everyone(cluster))


def measured(table, factor) -> Measurement:
    """A run that takes `factor(size)` times as long as the forecast."""
    rows = [
        Row(r.size_bytes, r.time_us * 1e-6 * factor(r.size_bytes), busbw=r.busbw_GBps * 1e9)
        for r in table.rows
    ]
    return Measurement("all_reduce", "run.txt", tuple(rows), ranks=8)


def judged(table, cluster, factor, remarks=()):
    run = measured(table, factor)
    return check(run, Collective(Operation.ALL_REDUCE), cluster, everyone(cluster), remarks=remarks)


def test_what_the_forecast_says_is_fine(table, cluster):
    report = judged(table, cluster, lambda size: 1.0)
    assert report.verdict == "ok"
    assert {row.verdict for row in report.rows} == {"ok"}
    assert "This is what such a machine gives" in report.sentence


def test_half_the_bandwidth_at_large_sizes_is_slow(table, cluster):
    report = judged(table, cluster, lambda size: 2.0 if size > 2**24 else 1.0)
    assert report.verdict == "slow"
    assert report.sentence.startswith("Above 16M this is slow by a factor of 2")


def test_a_single_row_decides_nothing(table, cluster):
    report = judged(table, cluster, lambda size: 2.6 if size == 2**26 else 1.0)
    assert report.verdict == "ok"
    assert "1 of 24 rows" in report.sentence


def test_ten_percent_are_much_at_large_sizes_and_little_at_small_ones(table, cluster):
    report = judged(table, cluster, lambda size: 1.1)
    verdicts = {row.size_bytes: row.verdict for row in report.rows}
    assert (verdicts[2**12], verdicts[2**33]) == ("ok", "slow")


def test_twice_as_fast_everywhere_is_another_machine(table, cluster):
    report = judged(table, cluster, lambda size: 0.5)
    assert report.verdict == "fast"
    assert "At all sizes" in report.sentence


def test_wrong_results_make_times_meaningless(table, cluster):
    wrong = Notice("wrong-values", "108 results are out of bounds")
    assert judged(table, cluster, lambda size: 1.0, [wrong]).verdict == "invalid"


def test_a_run_that_failed_is_judged_as_far_as_it_went(table, cluster):
    failed = Notice("run-failed", "the run failed")
    report = judged(table, cluster, lambda size: 1.0, [failed])
    assert report.verdict == "ok"
    assert "failed before its end" in report.sentence


def test_several_measurements_have_the_worst_verdict(table, cluster):
    reports = [judged(table, cluster, lambda size, f=f: f) for f in (1.0, 2.0)]
    both = joined(reports)
    assert both.verdict == "slow"
    assert len(both.rows) == 2 * len(SIZES)


def test_a_measurement_without_times_is_refused(cluster):
    empty = Measurement("all_reduce", "run.txt", (Row(1024, None),), ranks=8)
    with pytest.raises(InputError, match="no row"):
        check(empty, Collective(Operation.ALL_REDUCE), cluster, everyone(cluster))


def test_fewer_ranks_are_the_first_gpus(cluster):
    run = Measurement("all_reduce", "run.txt", (), ranks=4)
    assert group_on(cluster, run).gpus.tolist() == everyone(cluster).gpus[:4].tolist()


def test_more_ranks_than_gpus_are_refused(cluster):
    with pytest.raises(UsageError, match="16 ranks do not fit on 8 GPUs"):
        group_on(cluster, Measurement("all_reduce", "run.txt", (), ranks=16))


def test_the_list_of_devices_says_on_what_it_ran():
    facts = [
        Fact(f"rank{rank}", attribute, value, rank)
        for rank in range(16)
        for attribute, value in (("host", f"n{rank // 8}"), ("gpu_model", "NVIDIA H200"))
    ]
    run = Measurement("all_reduce", "run.txt", (), ranks=16, dtype="half", launch="thread")
    inputs = inputs_of(Evidence("nccl-tests", "run.txt", tuple(facts)), run)
    assert (inputs.cluster.nodes, inputs.cluster.gpus_per_node) == (2, 8)
    assert (inputs.cluster.gpu, inputs.launch) == ("NVIDIA H200", "single process")


def test_without_a_list_of_devices_the_machine_must_be_named():
    run = Measurement("all_reduce", "run.txt", (), ranks=8)
    with pytest.raises(InputError, match="does not say on what it ran"):
        inputs_of(Evidence("nccl-tests", "run.txt", ()), run)


NARROW = Band("nvswitch", ">16M", "all_reduce", "Hopper", 0.95, 1.05, 100, 9)
BROAD = Band("nvswitch", ">16M", "any", "any", 0.8, 1.3, 500, 30)
KNOWN = {band.covers: band for band in (NARROW, BROAD)}


def test_the_narrowest_class_gives_the_band():
    assert band_of(BandClass("nvswitch", ">16M", "all_reduce", "Hopper"), KNOWN) is NARROW
    assert band_of(BandClass("nvswitch", ">16M", "alltoall", "Hopper"), KNOWN) is BROAD
    assert band_of(BandClass("mesh", ">16M", "alltoall", "Hopper"), KNOWN) is None


def test_a_band_lies_around_the_forecast_and_an_open_input_widens_it(table):
    row, of = table.rows[-1], BandClass("nvswitch", ">16M", "all_reduce", "Hopper")
    plain, wider = (banded(row, of, unknown=n, known=KNOWN) for n in (0, 2))
    assert plain.low_us == pytest.approx(0.95 * row.time_us)
    assert wider.low_us < plain.low_us < plain.high_us < wider.high_us
    assert plain.validity == "inside"


def test_a_broader_band_is_the_edge_of_what_was_validated(table):
    of = BandClass("nvswitch", ">16M", "alltoall", "Hopper")
    assert banded(table.rows[-1], of, known=KNOWN).validity == "edge"


def test_expected_numbers_have_a_range_around_them(table):
    row = expected(table.rows[-1])
    assert row.low_busbw_GBps == pytest.approx(row.busbw_GBps / (1 + tolerance(row.size_bytes)))
    assert row.low_busbw_GBps < row.busbw_GBps < row.high_busbw_GBps


@pytest.fixture(scope="module")
def report(cluster):
    return expect([cluster])


def test_the_table_holds_collectives_and_copies(report):
    assert {"all_reduce", "alltoall", "p2p_copy", "h2d", "d2h"} <= {
        row.operation for row in report.rows
    }


def test_csv_has_a_line_for_each_row(report):
    lines = as_csv(report).splitlines()
    assert len(lines) == len(report.rows) + 1
    assert lines[0].startswith("nodes,ranks,operation,size_bytes")


def test_azurenhc_checks_the_all_reduce_of_a_node_and_its_copies(report):
    text = as_azurenhc(report)
    low = max(
        (r for r in report.rows if r.operation == "all_reduce"), key=lambda r: r.size_bytes
    ).low_busbw_GBps
    assert f" * || check_nccl_allreduce {low:.1f} 1 16G" in text
    assert " * || check_gpu_bw " in text


def test_superbench_rules_name_the_metric_and_the_lower_end(report):
    text = as_superbench(report)
    assert "nccl-bw.*/allreduce_8589934592_busbw.*" in text
    assert "allreduce_8_busbw" not in text
