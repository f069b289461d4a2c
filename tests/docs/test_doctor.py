"""docs/doctor.md: counted by source, and of today's thresholds."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from wirespeed.diagnosis.attribution import REACH
from wirespeed.readers.records import read_records

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "doctor.md"

H200 = {"gpu": "H200-SXM", "nodes": 1, "gpus_per_node": 8}
SLOW, FAST = [[2**33, None, None, 366.0]], [[2**33, None, None, 478.0]]


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("generate_doctor_docs")


def record(source: str, rows=SLOW, **said) -> dict:
    plain = {"cluster": H200, "ranks": 8, "collective": "all_reduce", "source": source}
    return plain | {"id": source, "rows": rows, "env": {"NCCL_NVLS_ENABLE": "0"}} | said


@pytest.fixture
def found(generator):
    sick = {"health": "misconfigured", "cause": "nvls_off"}
    records = [
        record("a", **sick),
        record("a", FAST, **sick),
        record("b", **sick | {"cause": "gdr_off"}),
        record("c", **sick | {"cause": "unresolved"}),
        record("d"),
        record("e", FAST),
        record("f", cluster={}, **sick),
    ]
    return generator.judged(read_records(json.dumps(records), file="r")[0])


def test_each_source_counts_once(generator, found):
    scored = [entry for entry in generator.scored(found) if entry.diagnosis is not None]
    assert generator.by_source(scored) == (3, 2, 0.25, 0.25)


def test_false_alarms_are_healthy_records_that_are_called_slow(generator, found):
    count, wrong = generator.alarms(found)
    assert count == 2
    assert [entry.record.source for entry in wrong] == ["d"]


def test_what_was_named_instead_is_counted_by_cause(generator, found):
    lines = generator.by_cause(found)
    assert r"| gdr\_off | nvls\_off 1 | 1 | 0 | 0 | 0 |" in lines
    assert r"| nvls\_off |  | 2 | 1 | 1 | 1 |" in lines


def test_the_page_says_which_threshold_is_in_use():
    assert f"| {REACH:g} | in use |" in PAGE.read_text()
    assert f"more than {REACH:g} times" in PAGE.read_text()
