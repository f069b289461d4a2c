"""README and docs show what the commands print today."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.real
def test_every_output_that_the_docs_show_is_todays_and_every_link_leads_somewhere():
    command = [sys.executable, ROOT / "tools" / "docs.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
