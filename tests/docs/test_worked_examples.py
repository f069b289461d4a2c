"""What the pages work out by hand is what the commands print."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

import wirespeed as ws
from wirespeed.catalog import parameters

ROOT = Path(__file__).resolve().parents[2]
CASES = {
    "ring-1": (1, "Ring", "Simple"),
    "ring-2": (2, "Ring", "Simple"),
    "ring-16": (16, "Ring", "Simple"),
    "nvls-1": (1, "NVLS", "Simple"),
    "small-ring": (1, "Ring", "LL"),
}


@pytest.fixture
def generator(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("generate_worked_examples")


def test_every_sum_is_held_against_a_forecast(generator):
    assert set(generator.SUMS) == {*CASES, "step", "step-forward", "step-backward"}


@pytest.mark.parametrize("name", CASES)
def test_a_sum_by_hand_ends_in_the_forecast(generator, name):
    nodes, algorithm, protocol = CASES[name]
    on = ws.cluster(generator.MACHINE, nodes=nodes)
    size = generator.SMALL if name == "small-ring" else generator.LARGE
    row = ws.collective("all_reduce", on, sizes=size, algo=algorithm, proto=protocol).rows[0]
    assert row.algorithm == algorithm
    assert generator.SUMS[name]().time == pytest.approx(row.time_us * 1e-6, rel=1e-9)


def test_a_step_by_hand_is_the_forecast(generator):
    step = generator.step_example
    words = {"global_batch": step.BATCH, "seq": step.SEQ, "explain": False}
    found = ws.train(step.MODEL, step.MACHINE, step.LAYOUT, **words)
    assert step.SUMS["step"]().time == pytest.approx(found.step_time_s, rel=1e-9)
    assert found.breakdown_s.host == 0


def test_a_blocks_passes_by_hand_are_most_of_the_step(generator):
    sums = generator.step_example.SUMS
    both = sums["step-forward"]().time + sums["step-backward"]().time
    assert both * 32 * 8 == pytest.approx(sums["step"]().time, rel=0.5)
    assert both * 32 * 8 < sums["step"]().time


def test_the_sums_on_the_pages_are_todays(generator):
    for name in generator.PAGES:
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert text == generator.refreshed(text), "run tools/generate_worked_examples.py"


def test_every_sum_and_table_stands_on_a_page(generator):
    pages = "".join((ROOT / "docs" / name).read_text() for name in generator.PAGES)
    for name in (*generator.SUMS, *generator.TABLES):
        assert f"<!-- sum {name} -->\n" in pages


def test_every_parameter_is_on_the_page():
    text = (ROOT / "docs" / "how-a-time-is-made.md").read_text()
    assert all(f"`{key}`" in text for key in parameters().table)
