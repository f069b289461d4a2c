"""The committed pages are those that the catalog gives."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from wirespeed import catalog

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("generate_hardware_docs")


@pytest.mark.parametrize("page", ["hardware.md", "wrong-figures.md"])
def test_pages_are_up_to_date(generator: ModuleType, page: str) -> None:
    committed = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert committed == generator.PAGES[page](), "run python tools/generate_hardware_docs.py"


def test_every_table_is_on_a_page(generator: ModuleType) -> None:
    shown = {section.table for section in generator.SECTIONS} | {"correction"}
    assert shown == set(catalog.TABLES)


def test_every_row_is_on_a_page_with_its_source(generator: ModuleType) -> None:
    text = generator.hardware() + generator.wrong_figures()
    for read in catalog.TABLES.values():
        for row in read():
            assert generator.escaped(row.name) in text
            assert row.source in text
