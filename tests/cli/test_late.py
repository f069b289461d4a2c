"""`wirespeed collective --late`: what one rank that comes late costs the call."""

from __future__ import annotations

import pytest

RING = ("collective", "all_reduce", "--on", "dgx-h100", "--sizes", "1M,64M", "--algo", "Ring")


def test_a_late_rank_ends_a_ring_later_by_as_much(run):
    found = run(*RING, "--late", "3=2ms", "--json").json
    (row,) = found["late"]
    assert row["late"] == ["node0/gpu3=2ms"]
    assert (row["nodes"], row["size_bytes"], row["algorithm"]) == (1, 2**26, "Ring")
    assert row["waited_us"] == pytest.approx(2000, rel=1e-3)
    assert row["late_us"] == pytest.approx(row["time_us"] + row["waited_us"])
    assert row["time_us"] == pytest.approx(found["rows"][-1]["time_us"], rel=1e-3)


@pytest.mark.slow
def test_of_two_late_ranks_the_later_counts_and_a_slow_link_adds_to_it(run):
    both = ("--late", "3=2ms", "--late", "node1/gpu0=500us")
    late = run(*RING, "--nodes", "2", *both, "--json").json["late"][0]
    assert late["waited_us"] == pytest.approx(2000, rel=1e-3)
    slow = ("--change", "node1/nic0=0.5")
    slower = run(*RING, "--nodes", "2", *both, *slow, "--json").json["late"][0]
    assert slower["late_us"] > 1.1 * late["late_us"]


def test_a_person_reads_who_is_late_and_what_it_costs(run):
    out = run(*RING, "--late", "3=2ms").out
    assert "With node0/gpu3=2ms late" in out
    assert "64M ends 2,000.0 us later" in out


def test_nobody_is_late_unless_named(run):
    assert run(*RING, "--json").json["late"] == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--late", "3=2"), "a time is a number and its unit"),
        (("--late", "3"), "is not a time"),
        (("--late", "8=2ms"), "ranks run from 0 to 7"),
        (("--late", "3=2ms", "--ranks", "0-2"), "takes no part"),
    ],
)
def test_what_cannot_be_is_refused_in_words(run, words: tuple[str, ...], why: str):
    found = run(*RING, *words)
    assert (found.status, why in found.err) == (2, True)


def test_an_algorithm_that_is_not_followed_says_how_to_force_one_that_is(run):
    words = ("collective", "all_reduce", "--on", "dgx-h100", "--sizes", "64M", "--late", "3=2ms")
    found = run(*words)
    assert (found.status, "--algo Ring" in found.err) == (2, True)
