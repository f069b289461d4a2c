"""Errors of steps do not grow unseen: the committed table is held against today's forecasts."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from support import shared
from wirespeed.catalog import parameters
from wirespeed.comparison.training_bands import step_bands
from wirespeed.readers.training_records import read_training_records
from wirespeed.training.compute import parameter_hash
from wirespeed.validation.training_groups import (
    TrainingGroup,
    read_training_baseline,
    worsened,
)
from wirespeed.validation.training_report import training_report
from wirespeed.validation.training_targets import AIMS

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "training-validation.md"
BASELINE = ROOT / "docs" / "training-groups.json"


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("generate_training_validation")


@pytest.fixture
def committed() -> tuple[TrainingGroup, ...]:
    return read_training_baseline(BASELINE.read_bytes(), file=BASELINE.name)


def test_page_and_baseline_are_of_one_run(generator, committed):
    text = PAGE.read_text()
    for group in committed:
        cells = (group.group, str(group.rows))
        assert generator.row(cells).removesuffix(" |") in text, group


def test_page_and_baseline_are_of_todays_parameters():
    again = "run make validation ACCEPT=--accept, and read what it says"
    digest = parameter_hash(parameters().digest)
    assert f"`{digest}`" in PAGE.read_text(), again
    assert digest in BASELINE.read_text(), again


def test_every_target_is_on_the_page():
    text = PAGE.read_text()
    for aim in AIMS:
        assert aim.name in text


def test_bands_hold_the_forecast_itself():
    for band in step_bands().band:
        assert band.low <= 1 <= band.high
        assert band.runs >= band.folds > 0


@pytest.mark.corpus
def test_no_group_is_worse_than_its_baseline_by_more_than_a_point(committed):
    records = shared("validation", "training.json")
    good, bad = read_training_records(records.read_bytes(), file=str(records))
    assert not [str(entry) for entry in worsened(committed, training_report(good, bad).groups)]
