"""What starting costs, told by the modules that are loaded and not by the clock."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.real

COMMAND_LINE = ("rich", "cyclopts")
NUMERICS = ("numpy", "scipy", "networkx")
LATER = ("torch", "ray", "duckdb", "plotly", "starlette", "uvicorn")

IMPORT = "import wirespeed"
HELP = """
import sys
from wirespeed.cli import main
sys.argv = ["wirespeed", "--help"]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
"""


def loaded(code: str, tmp_path) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after this code."""
    names = tmp_path / "names"
    write = f"\nimport sys; open({str(names)!r}, 'w').write(' '.join(sys.modules))"
    subprocess.run([sys.executable, "-c", code + write], check=True, capture_output=True)
    return {name.partition(".")[0] for name in names.read_text().split()}


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        pytest.param(IMPORT, (*COMMAND_LINE, *NUMERICS, *LATER), id="import wirespeed"),
        pytest.param(HELP, (*NUMERICS, *LATER), id="wirespeed --help"),
    ],
)
def test_starting_loads_only_what_is_needed(code, absent, tmp_path):
    modules = loaded(code, tmp_path)
    assert "wirespeed" in modules
    assert modules.isdisjoint(absent), sorted(modules.intersection(absent))
