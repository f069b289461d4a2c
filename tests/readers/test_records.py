"""Files of published measurements: what is read, what is left out, and where bad lines stand."""

from __future__ import annotations

import json

import pytest

from support import shared
from wirespeed.errors import InputError
from wirespeed.readers.records import read_records

LEAST = {"collective": "all_reduce", "rows": [[1024, 10.0, 0.1, 0.2]]}


def test_an_array_and_one_object_a_line_are_the_same():
    records = [LEAST, {**LEAST, "collective": "alltoall"}]
    lines = "\n".join(json.dumps(record) for record in records)
    array = "[\n" + ",\n".join(json.dumps(record) for record in records) + "\n]\n"
    assert read_records(lines, file="a") == read_records(array, file="a")


def test_what_is_no_input_may_be_absent_and_counts_as_healthy_and_grade_a():
    [record], _ = read_records(json.dumps(LEAST), file="a")
    assert (record.health, record.grade, record.fold, record.inputs.in_place) == (
        "healthy",
        "A",
        "",
        False,
    )


def test_nulls_are_as_good_as_absent():
    nulls = dict.fromkeys(("cluster", "env", "health", "grade", "id", "rows_inplace", "in_place"))
    assert read_records(json.dumps(LEAST | nulls), file="a") == read_records(
        json.dumps(LEAST), file="a"
    )


def test_unknown_fields_are_ignored():
    text = json.dumps(LEAST | {"weather": "fine", "cluster": {"colour": "green"}})
    assert read_records(text, file="a") == read_records(json.dumps(LEAST), file="a")


def test_a_bad_line_keeps_its_position_and_the_others_theirs():
    bad = '{"collective": "all_reduce", "rows": [[1, "fast", 2, 3]]}'
    text = "\n".join([json.dumps(LEAST), bad, "{oops", json.dumps(LEAST)])
    good, broken = read_records(text, file="a")
    assert [record.position for record in good] == [0, 3]
    assert [entry.position for entry in broken] == [1, 2]
    assert all(entry.reason.startswith("not a record") for entry in broken)


def test_a_cut_array_gives_the_records_before_the_cut():
    text = "[\n" + json.dumps(LEAST) + ",\n" + json.dumps(LEAST)[:30]
    good, broken = read_records(text, file="a")
    assert len(good) == 1
    assert [entry.position for entry in broken] == [1]


def test_a_record_without_an_operation_is_no_record():
    _, [broken] = read_records('{"rows": []}', file="a")
    assert "collective" in broken.reason


def test_rows_may_be_short_and_sizes_written_as_decimals():
    [record], _ = read_records('{"collective": "h2d", "rows": [[1e6, 5]]}', file="a")
    [row] = record.rows
    assert (row.size, row.time_us, row.algbw, row.busbw) == (1_000_000, 5.0, None, None)


def test_settings_are_texts_and_those_that_are_null_are_not_set():
    text = json.dumps(LEAST | {"env": {"NCCL_B": 1, "NCCL_A": "x", "NCCL_ALGO": None}})
    [record], _ = read_records(text, file="a")
    assert record.inputs.env == (("NCCL_A", "x"), ("NCCL_B", "1"))


def test_a_text_without_objects_is_refused():
    with pytest.raises(InputError, match="no records here"):
        read_records("size time algbw busbw\n", file="a")


@pytest.mark.corpus
def test_every_record_of_the_corpus_is_read():
    good, bad = read_records(shared("validation", "collectives.json").read_bytes(), file="c")
    assert not bad
    assert len(good) > 700
    assert sum(len(record.rows) + len(record.rows_inplace) for record in good) > 15_000
