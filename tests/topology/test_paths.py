"""Paths in one table: gathered, scattered and taken apart, none is lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.topology.paths import Paths, empty, gather, scatter

Uses = list[list[tuple[int, float]]]
uses = st.lists(st.lists(st.tuples(st.integers(0, 99), st.floats(0.1, 2)), max_size=5), max_size=8)


def table(rows: Uses) -> Paths:
    first = np.cumsum([0, *map(len, rows)])
    flat = [use for row in rows for use in row]
    return Paths(
        first,
        np.array([r for r, _ in flat], np.int64),
        np.array([s for _, s in flat], np.float64),
    )


def rows_of(paths: Paths) -> Uses:
    of = [paths.of(t) for t in range(len(paths))]
    return [list(zip(r.tolist(), s.tolist(), strict=True)) for r, s in of]


@given(uses)
def test_a_table_gives_back_its_rows(rows):
    assert rows_of(table(rows)) == rows
    assert table(rows).owner().tolist() == [k for k, row in enumerate(rows) for _ in row]


@given(uses, st.data())
def test_gathered_rows_stand_in_the_order_asked_for(rows, data):
    number = st.integers(0, len(rows) - 1)
    wanted = data.draw(st.lists(number, max_size=12)) if rows else []
    assert rows_of(gather(table(rows), np.array(wanted, np.int64))) == [rows[k] for k in wanted]


@given(uses, st.data())
def test_parts_of_a_transfer_are_joined_in_their_order(rows, data):
    """The way out, across and in may each be found for some transfers only."""
    count = 5
    owner = st.integers(0, count - 1)
    places = [data.draw(owner) for _ in rows]
    half = len(rows) // 2
    parts = [
        (np.array(places[:half], np.int64), table(rows[:half])),
        (np.array(places[half:], np.int64), table(rows[half:])),
    ]
    expected: Uses = [[] for _ in range(count)]
    for place, row in zip(places, rows, strict=True):
        expected[place] += row
    assert rows_of(scatter(parts, count)) == expected


def test_empty_paths_cross_nothing():
    assert rows_of(empty(3)) == [[], [], []]
