"""What outsiders may rely on: names, signatures, schemas, versions."""

from __future__ import annotations

import inspect
import sys
import tomllib
from pathlib import Path

import pytest

import wirespeed as ws

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from schema import RESULTS, file_of, generated  # noqa: E402

NAMES = [
    *("WirespeedError", "__version__"),
    *(
        "bound",
        "check",
        "cluster",
        "collective",
        "curve",
        "diff",
        "doctor",
        "expect",
        "faults",
        "load",
        "model",
        "read",
        "scale",
        "topo",
        "train",
        "validate",
    ),
]
KEYWORDS = {
    "topo": {"source"},
    "cluster": {"source", "nodes", "fabric", "library", "env", "changes"},
    "collective": {"op", "on", "sizes", "ranks", "dtype", "algo", "proto", "launch"},
    "curve": {"op", "on", "ranks"},
    "bound": {"op", "on", "size"},
    "check": {"file", "on"},
    "doctor": {"sources", "on"},
    "diff": {"a", "b"},
    "expect": {"on"},
    "faults": {"op", "on", "size"},
    "validate": {"records"},
    "load": {"path"},
    "model": {"name_or_config"},
    "train": {"model", "on", "layout", "global_batch", "seq"},
    "scale": {"model", "on", "nodes", "layout"},
}


def test_exactly_these_names_are_exported_in_order():
    assert ws.__all__ == NAMES
    assert dir(ws) == NAMES


@pytest.mark.parametrize("name", KEYWORDS)
def test_functions_take_what_the_contract_says(name):
    assert KEYWORDS[name] <= set(inspect.signature(getattr(ws, name)).parameters)


@pytest.mark.parametrize("name", KEYWORDS)
def test_functions_say_what_they_return(name):
    assert inspect.getdoc(getattr(ws, name))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="colective"):
        _ = ws.colective


@pytest.mark.parametrize("schema", RESULTS)
def test_the_schema_that_is_kept_is_todays(schema):
    """Fields may be added, never renamed or removed: read the difference before rewriting it."""
    assert file_of(schema).read_text() == generated(schema), "python tools/schema.py rewrites it"


def test_the_package_has_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == ws.__version__
