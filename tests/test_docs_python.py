"""The Python that README and docs show runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?<=^```python\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
EXAMPLES = [
    pytest.param(block, id=f"{page.name}-{k}")
    for page in PAGES
    for k, block in enumerate(BLOCK.findall(page.read_text()))
]


@pytest.mark.slow
@pytest.mark.parametrize("code", EXAMPLES)
def test_the_example_runs_and_prints(code, capsys):
    exec(compile(code, "example", "exec"), {})
    assert capsys.readouterr().out
