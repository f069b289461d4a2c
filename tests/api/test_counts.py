"""LIST as options write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed._api.counts import one_count, parse_counts
from wirespeed.errors import UsageError


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("16", [16]),
        ("1,2,4,16", [1, 2, 4, 16]),
        ("1:16", [1, 2, 4, 8, 16]),
        ("1:20", [1, 2, 4, 8, 16]),
        ("2:18:x3", [2, 6, 18]),
        ("2:18:3", [2, 6, 18]),
        ("1:4, 18", [1, 2, 4, 18]),
        ("4,1:4", [4, 1, 2]),
    ],
)
def test_lists_and_ranges(text, counts):
    assert parse_counts(text) == counts


@pytest.mark.parametrize(
    "text", ["", "0", "-2", "1.5", "two", "4:2", "1:8:x1", "1:2:2:2", "1,,2", "²"]
)
def test_what_is_no_list_is_refused(text):
    with pytest.raises(UsageError) as caught:
        parse_counts(text, "--racks")
    assert caught.value.where == "--racks"
    assert caught.value.remedy


@given(st.text(alphabet="0123456789:,x -.", max_size=20))
def test_any_text_is_a_list_or_a_usage_error(text):
    try:
        counts = parse_counts(text)
    except UsageError:
        return
    assert counts
    assert len(set(counts)) == len(counts)
    assert min(counts) >= 1


def test_one_is_one():
    assert one_count("7") == 7
    with pytest.raises(UsageError, match="cannot be used"):
        one_count("1:4")
