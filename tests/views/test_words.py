"""Numbers as people write them."""

from __future__ import annotations

import pytest

from wirespeed.views.words import counted, number, percent, rate, tally, times


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.000"),
        (0.0002, "<0.001"),
        (0.042, "0.042"),
        (4.83, "4.83"),
        (31.46, "31.5"),
        (367.52, "367.5"),
        (1340.61, "1,340.6"),
        (20483.2, "20,483"),
    ],
)
def test_three_digits_count(value, text):
    assert number(value) == text


@pytest.mark.parametrize(("value", "text"), [(450.0, "450"), (31.508, "31.5"), (63.015, "63")])
def test_rates_have_no_needless_digits(value, text):
    assert rate(value) == text


@pytest.mark.parametrize(("share", "text"), [(0.0, "0 %"), (0.001, "<1 %"), (0.826, "83 %")])
def test_a_share_that_is_there_is_not_nothing(share, text):
    assert percent(share) == text


def test_words_for_counts():
    assert counted(1, "switch") == "1 switch"
    assert counted(24, "switch") == "24 switches"
    assert counted(1024, "node") == "1,024 nodes"
    assert tally(["Xeon", "EPYC", "Xeon"]) == "2x Xeon, 1x EPYC"
    assert times(0.4211) == "x0.42"
