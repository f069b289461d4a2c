"""examples/ holds what the presets' own graphs print."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from inventory.matrices import oddities
from wirespeed.inventory import resolve

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("examples", ROOT / "tools" / "examples.py")
assert SPEC is not None
assert SPEC.loader is not None
TOOL = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(TOOL)


@pytest.mark.parametrize("name", TOOL.texts())
def test_an_example_is_as_its_preset_prints_it(name):
    assert (ROOT / "examples" / name).read_text(encoding="utf-8") == TOOL.texts()[name]


def test_the_demo_reads_a_dgx_h100():
    machine = resolve(str(ROOT / "examples" / "dgx-h100-topo-m.txt")).machine
    assert machine.basis.preset == "dgx-h100"
    assert not machine.oddities


def test_the_bad_node_has_one_gpu_without_nvlink():
    path = ROOT / "examples" / "dgx-h100-gpu2-without-nvlink-topo-m.txt"
    assert oddities(resolve(str(path)).machine) == {"nvlink-lost": "gpu2"}
