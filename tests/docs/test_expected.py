"""The page of expected numbers shows what is forecast today."""

from __future__ import annotations

import csv
import importlib
from pathlib import Path
from types import ModuleType

import pytest

from wirespeed.catalog import parameters
from wirespeed.topology.presets import preset_names

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "expected-numbers.md"
TABLE = ROOT / "docs" / "expected-numbers.csv"
SAMPLE = ("dgx-h100", "hgx-a100-4", "pcie-8x-rtx4090", "mi300x-8", "gh200", "aws-p5", "dgx-1v")


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("generate_expected")


def test_every_preset_has_its_section_in_order():
    heads = [line[3:] for line in PAGE.read_text().splitlines() if line.startswith("## ")]
    assert heads == preset_names()


def test_the_page_names_todays_parameters(generator):
    assert PAGE.read_text().startswith(generator.head())
    assert parameters().digest in generator.head()


@pytest.mark.parametrize("name", [*SAMPLE, pytest.param("gb200-nvl72", marks=pytest.mark.slow)])
def test_the_numbers_of_a_preset_are_todays(generator, name):
    rows = generator.rows_of(name)
    again = "run tools/generate_expected.py"
    assert generator.section(name, rows) in PAGE.read_text(), again
    lines = TABLE.read_text().splitlines(keepends=True)
    assert [line for line in lines if line.startswith(f"{name},")] == list(
        generator.csv_lines(name, rows)
    ), again


def test_the_csv_has_every_number_of_the_page_with_its_range():
    with TABLE.open() as file:
        rows = list(csv.DictReader(file))
    assert {row["preset"] for row in rows} == set(preset_names())
    for row in rows:
        low, middle, high = (float(row[f"{k}busbw_GBps"]) for k in ("low_", "", "high_"))
        assert 0 < low <= middle <= high
        assert float(row["time_us"]) > 0


def test_only_what_a_network_can_join_is_shown_on_several_nodes(generator):
    assert {row.nodes for row in generator.rows_of("dgx-h100")} == {1, 2, 4}
    assert {row.nodes for row in generator.rows_of("pcie-6x-rtx4090")} == {1}
