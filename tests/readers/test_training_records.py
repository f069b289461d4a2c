"""Files of training runs: told from collectives by content, inputs kept apart from the rest."""

from __future__ import annotations

import json

import msgspec
import pytest

from support import shared
from wirespeed.errors import InputError
from wirespeed.readers.training_records import (
    TrainingInputs,
    are_training_records,
    read_training_records,
)

RUN = {"model": {"layers": 2}, "cluster": {"gpu": "H100", "gpus": 8}, "global_batch": 16}
SWEEP = {"collective": "all_reduce", "cluster": {"gpu": "H100"}, "rows": []}


def text(*records: object) -> str:
    return json.dumps(list(records))


def test_the_kind_of_a_file_is_seen_from_its_first_record():
    assert are_training_records(text(RUN))
    assert not are_training_records(text(SWEEP))
    assert are_training_records("\n".join(map(json.dumps, (RUN, RUN))))


def test_absent_fields_are_none_and_unknown_ones_are_ignored():
    (record,), bad = read_training_records(text({**RUN, "weather": "fine"}), file="r")
    assert not bad
    assert record.inputs.layout.dp is record.inputs.recompute is None
    assert record.measured.step_time_s is None
    assert (record.grade, record.position) == ("A", 0)


def test_what_is_no_record_is_named_by_its_place_and_the_rest_is_read():
    good, bad = read_training_records(text(RUN, {"model": 3}, RUN), file="r")
    assert [record.position for record in good] == [0, 2]
    assert [entry.position for entry in bad] == [1]
    assert bad[0].reason


def test_a_file_without_records_is_an_error():
    with pytest.raises(InputError):
        read_training_records("[]", file="r")


def test_inputs_hold_nothing_but_inputs():
    fields = {field.name for field in msgspec.structs.fields(TrainingInputs)}
    assert fields == {
        *("cluster", "model", "layout", "framework", "task", "precision"),
        *("global_batch", "micro_batch", "recompute", "overlap"),
    }


@pytest.mark.corpus
def test_all_published_runs_are_read():
    file = shared("validation", "training.json")
    good, bad = read_training_records(file.read_bytes(), file=str(file))
    assert not bad
    assert len(good) == len(json.loads(file.read_bytes()))
