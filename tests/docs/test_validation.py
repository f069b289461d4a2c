"""Errors do not grow unseen: the committed table of groups is held against today's forecasts."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from support import shared
from wirespeed.catalog import parameters
from wirespeed.readers.records import read_records
from wirespeed.validation.baseline import read_baseline, worsened
from wirespeed.validation.groups import Group
from wirespeed.validation.report import report

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "validation.md"
BASELINE = ROOT / "docs" / "validation-groups.json"


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("generate_validation_docs")


@pytest.fixture
def committed() -> tuple[Group, ...]:
    return read_baseline(BASELINE.read_bytes(), file=BASELINE.name)


def test_page_and_baseline_are_of_one_run(generator, committed):
    text = PAGE.read_text()
    for group in committed:
        if group.operation == group.generation == group.folds == "all":
            where = (generator.PLATFORMS[group.platform], generator.size_words(group.size_class))
            cells = (*where, "as shipped", f"{group.rows:,}", str(group.records))
            assert generator.row(cells).removesuffix(" |") in text, group


def test_page_and_baseline_are_of_todays_parameters():
    again = "run make validation ACCEPT=--accept, and read what it says"
    assert f"`{parameters().digest}`" in PAGE.read_text(), again
    assert parameters().digest in BASELINE.read_text(), again


def test_page_says_what_each_measured_share_is_when_held_out():
    text = PAGE.read_text()
    for key, entry in parameters().table.items():
        if key.endswith(("nvlink_share", "switched_share")) and entry.confidence == "measured":
            assert f"| `{key}` | {entry.value:.3f} |" in text, key


def test_every_target_has_its_group(generator, committed):
    for target in generator.TARGETS:
        assert generator.one(committed, target.platform, size_class=target.size)


@pytest.mark.corpus
def test_no_group_is_worse_than_its_baseline_by_more_than_a_point(committed):
    records = shared("validation", "collectives.json")
    good, bad = read_records(records.read_bytes(), file=str(records))
    assert not [str(entry) for entry in worsened(committed, report(good, bad).groups)]
