"""Rules on what is wired: the fabric's cables and rails, the copies between GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.diagnosis.case import Case
from wirespeed.diagnosis.copies import copy_findings
from wirespeed.diagnosis.fabric import fabric_findings
from wirespeed.diagnosis.rules._registry import rule
from wirespeed.evidence import Finding


@rule("fabric_wiring", "https://docs.nvidia.com/networking/display/ibdiagnet")
def fabric(case: Case) -> Iterator[Finding]:
    """Rails, missing and stray cables, links below their siblings, ports down, oversubscription."""
    yield from fabric_findings(case.evidence, case.texts)


@rule("nvlink_down", "https://github.com/Azure/azhpc-diagnostics/issues/73")
def copies(case: Case) -> Iterator[Finding]:
    """A GPU that copies more slowly to every peer than the others do."""
    yield from copy_findings(case.evidence, case.texts)
