"""A file of records: one verdict each, from inputs and rows alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from support import shared
from wirespeed.diagnosis.records import two_labels, verdicts
from wirespeed.readers.records import are_records, read_records

H200 = {"gpu": "H200-SXM", "nodes": 1, "gpus_per_node": 8}
ROW = [8 * 2**30, None, None, 366.0]
"""What a ring gives on eight GPUs, and NVLS does not."""


def record(**changes) -> dict:
    plain = {"id": "a", "source": "s", "cluster": H200, "ranks": 8, "collective": "all_reduce"}
    return plain | {"rows": [ROW]} | changes


def judged(*records: dict):
    return verdicts(*read_records(json.dumps(list(records)), file="r"))


def test_the_contract_s_form():
    fast = record(rows=[[2**33, None, None, 478.0]])
    found, notices = judged(record(env={"NCCL_NVLS_ENABLE": "0"}), fast)
    assert [(entry.record, entry.verdict) for entry in found] == [(0, "slow"), (1, "ok")]
    assert found[0].causes[0] == "nvls_off"
    assert len(found[0].causes) <= 3
    assert found[1].causes == ()
    assert notices == []


def test_what_cannot_be_forecast_or_read_is_ok_with_a_warning():
    found, notices = judged(
        record(cluster={"gpu": None}), {"rows": []}, record(collective="ep_dispatch"), record()
    )
    assert [entry.record for entry in found] == [0, 1, 2, 3]
    assert [entry.verdict for entry in found[:3]] == ["ok"] * 3
    assert [notice.where for notice in notices] == ["[0]", "[2]", "[1]"]
    assert all("cannot be forecast" in notice.text for notice in notices)


@pytest.mark.parametrize(
    "said",
    [
        {"id": "another", "source": "elsewhere", "fold": "f", "date": "2024"},
        {"health": "misconfigured", "cause": "gdr_off", "reason": "slow", "verdict": "gdr"},
        {"health": "healthy", "notes": "fine", "env_stated": "NCCL_P2P_DISABLE=1"},
    ],
)
def test_no_name_remark_or_label_moves_a_verdict(said):
    assert judged(record(**said)) == judged(record())


def test_a_run_with_two_labels_is_listed():
    good, _ = read_records(
        json.dumps([record(), record(id="b", health="misconfigured"), record(ranks=4)]), file="r"
    )
    assert [[entry.position for entry in group] for group in two_labels(good)] == [[0, 1]]


def test_records_are_known_by_their_content():
    assert are_records(json.dumps([record()]))
    assert are_records(json.dumps(record()) + "\n" + json.dumps(record()))
    assert not are_records(json.dumps({"schema": "wirespeed.check/1"}))
    assert not are_records("# nccl-tests\n")
    assert not are_records("[1, 2]")
    assert not are_records("{")


@pytest.mark.corpus
@pytest.mark.slow
def test_causes_of_published_records_are_named_and_good_ones_left_in_peace():
    records = shared("validation", "collectives.json")
    good, bad = read_records(records.read_bytes(), file=str(records))
    found, notices = verdicts(good, bad)
    left = {notice.where for notice in notices}
    assert len(found) == len(good) + len(bad)
    said = {entry.record: entry for entry in found}
    healthy = [said[r.position] for r in good if r.health == "healthy"]
    assert sum(entry.verdict == "slow" for entry in healthy) <= 0.03 * len(healthy)
    shares: dict[str, list[tuple[bool, bool]]] = {}
    for entry in good:
        figures = any(row.time_us or row.algbw or row.busbw for row in entry.rows)
        forecast = f"[{entry.position}]" not in left
        known = forecast and entry.cause not in (None, "unresolved")
        if entry.health == "misconfigured" and figures and known:
            causes = said[entry.position].causes
            hit = entry.cause in causes, causes[:1] == (entry.cause,)
            shares.setdefault(entry.source, []).append(hit)
    means = np.array([np.mean(hits, axis=0) for hits in shares.values()])
    inside, first = means.mean(axis=0)
    assert first >= 0.6
    assert inside >= 0.7
