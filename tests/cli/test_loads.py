"""`wirespeed collective --loads` and `--to dot`: what a call puts on links and parts."""

from __future__ import annotations

import pytest

CALL = ("collective", "all_reduce", "--on", "dgx-h100", "--sizes", "1M,1G")
LOAD = {"name", "count", "kind", "bytes", "share", "busy_us", "bandwidth_GBps"}


def test_loads_are_those_of_the_largest_size_the_busiest_first(run):
    found = run(*CALL, "--nodes", "2,4", "--loads", "--json").json
    assert [report["nodes"] for report in found["loads"]] == [2, 4]
    for report, row in zip(found["loads"], found["rows"][1::2], strict=True):
        assert report["size_bytes"] == 2**30
        assert report["time_us"] == pytest.approx(row["time_us"])
        assert report["rows"][0]["share"] == pytest.approx(row["wire_share"], rel=1e-6)
        busy = [load["busy_us"] for load in report["rows"]]
        assert busy == sorted(busy, reverse=True)
        assert all(set(load) == LOAD for load in report["rows"])


def test_without_the_option_there_are_none(run):
    assert run(*CALL, "--json").json["loads"] == []


def test_the_table_names_links_and_how_many_are_alike(run):
    out = run(*CALL, "--nodes", "4", "--loads", "--algo", "Ring").out
    assert "Loads of 1G in" in out
    (line,) = (line for line in out.splitlines() if line.startswith("node0/nic0>leaf0 "))
    assert line.split()[1] == "32"


def test_siblings_load_what_they_share(run):
    words = (*CALL, "--nodes", "4", "--ranks", "*/gpu0,*/gpu1", "--loads", "--json")
    alone, beside = (run(*words, *more).json for more in ((), ("--siblings",)))
    for found in (alone, beside):
        assert found["loads"][0]["time_us"] == pytest.approx(found["rows"][1]["time_us"])
    sums = [sum(r["bytes"] * r["count"] for r in f["loads"][0]["rows"]) for f in (alone, beside)]
    assert sums[1] == pytest.approx(4 * sums[0])


def test_the_drawing_shows_full_nics_and_links(run):
    out = run(*CALL, "--nodes", "4", "--algo", "Ring", "--to", "dot").out
    assert out.startswith('graph "dgx-h100" {')
    nics = [line for line in out.splitlines() if '"node0/nic0" [' in line]
    assert any(warm in line for line in nics for warm in ("#e8853b", "#b8232f"))
    assert "penwidth=2" in out


def test_a_drawing_is_of_one_cluster(run):
    done = run(*CALL, "--nodes", "1,2", "--to", "dot")
    assert done.status == 2
    assert "one cluster" in done.err


def test_the_limiting_cut_is_named(run):
    assert "The cut that limits it is " in " ".join(run(*CALL).out.split())
