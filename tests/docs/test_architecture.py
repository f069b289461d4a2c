"""The architecture page speaks of the house that stands."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
SOURCE = ROOT / "src" / "wirespeed"


def floors() -> list[list[str]]:
    """Packages that are there, floor by floor from the top."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contract["contracts"][0]["layers"]
    named = [re.findall(r"\w+", layer) for layer in layers]
    return [[name for name in floor if (SOURCE / name).is_dir()] for floor in named]


def test_every_package_has_its_line_in_the_order_of_the_floors():
    table = PAGE.partition("| floor |")[2].partition("\n\n")[0]
    shown = [name for line in table.splitlines() for name in re.findall(r"`(\w+)`", line[:60])]
    there = [name for floor in floors() for name in floor]
    assert [name for name in shown if name in there] == there


def test_files_that_the_page_names_are_there():
    names = re.findall(r"`([\w/]+\.(?:py|toml))`", PAGE)
    for name in names:
        found = any(SOURCE.rglob(name.rpartition("/")[2])) or (ROOT / name).exists()
        assert found or name.rpartition("/")[2] == "NAME.toml" or "NAME" in name, name


def test_types_that_the_page_names_are_there():
    code = "".join(path.read_text() for path in SOURCE.rglob("*.py"))
    section = PAGE.partition("## The types")[2].partition("\n## ")[0]
    for name in re.findall(r"\*\*`(\w+)`\*\*", section):
        assert re.search(rf"\b(class|def) {name}\b", code), name


def test_no_source_file_is_longer_than_the_rule():
    for path in SOURCE.rglob("*.py"):
        assert len(path.read_text().splitlines()) <= 400, path
