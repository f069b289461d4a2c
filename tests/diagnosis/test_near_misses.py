"""Each rule fires on what it is for, and keeps still on what only looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

import wirespeed as ws
from diagnosis.near_misses import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_rules_tell_a_fault_from_what_looks_like_one(case: Case, tmp_path: Path):
    for name, text in case.texts.items():
        (tmp_path / name).write_text(text)
    report = ws.doctor(str(tmp_path))
    found = [finding.code for finding in report.findings]
    if case.fires is not None:
        assert case.fires in found
        (first, *_) = [f for f in report.findings if f.code == case.fires]
        assert first.severity == "ok" or (first.remedy and first.source_url)
        assert first.evidence
    assert not set(case.silent) & set(found)
