"""DoctorReport: the verdict, findings by severity, the comparison, and what explains it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from wirespeed.comparison.check import CheckReport, CheckRow, Overall
from wirespeed.diagnosis.attribution import Explained
from wirespeed.diagnosis.case import Case
from wirespeed.diagnosis.records import RecordVerdict
from wirespeed.diagnosis.rules import RULES
from wirespeed.evidence import Finding
from wirespeed.topology.result import Result

Verdict = Literal["ok", "slow", "wrong"]

_ORDER = ("error", "warning", "info", "ok")
_MOST_PLACES = 8
"""Lines that one finding shows."""


class Comparison(msgspec.Struct, frozen=True):
    """Measured rows beside the forecast, as `check` has them."""

    verdict: Overall
    sentence: str
    machine: str
    nodes: int
    ranks: int
    banded: bool
    rows: tuple[CheckRow, ...]


class DoctorReport(Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.doctor/1"):
    """What is wrong, where it is seen, what to do; or that nothing is."""

    verdict: Verdict
    """slow: measured rows fall short; wrong: something else was found; ok: nothing was."""
    sentence: str
    findings: tuple[Finding, ...] = ()
    """By severity, the surest first."""
    comparison: Comparison | None = None
    """Null where nothing was measured."""
    attribution: tuple[Explained, ...] = ()
    """What explains a shortfall, best first."""
    records: tuple[RecordVerdict, ...] = ()
    """Of a file of records one each; else empty."""


def findings_on(case: Case) -> tuple[Finding, ...]:
    """What all rules find, the gravest first; where nothing is odd a finding that says so."""
    found = [finding for look in RULES.values() for finding in look(case)]
    found.sort(key=lambda finding: (_ORDER.index(finding.severity), -finding.confidence))
    merged: dict[tuple[str, str], Finding] = {}
    for finding in found:
        # One thing seen in several files or runs is one finding with several places.
        key = (finding.code, finding.remedy)
        if key not in merged and _is_known(finding, merged.values()):
            continue
        first = merged.setdefault(key, finding)
        places = dict.fromkeys((*first.evidence, *finding.evidence))
        merged[key] = msgspec.structs.replace(first, evidence=tuple(places)[:_MOST_PLACES])
    return tuple(merged.values()) or (_nothing_odd(case),)


def _is_known(finding: Finding, surer: Iterable[Finding]) -> bool:
    """Whether a surer finding names the same cause from the same lines."""
    return any(
        finding.code == known.code and set(finding.evidence) <= set(known.evidence)
        for known in surer
    )


def verdict_on(findings: Sequence[Finding], *, slow: bool) -> tuple[Verdict, str]:
    """The verdict that findings make, and the sentence that says it."""
    odd = [finding for finding in findings if finding.severity != "ok"]
    if not odd:
        said = findings[0].cause.partition(". ")[0].rstrip(".")
        return "ok", f"{said}."
    codes = dict.fromkeys(finding.code for finding in odd)
    count = "One thing is" if len(codes) == 1 else f"{len(codes)} things are"
    sentence = f"{count} to be looked at: {', '.join(codes)}."
    return ("slow" if slow else "wrong"), sentence


def comparison_of(check: CheckReport) -> Comparison:
    """A check as the doctor shows it."""
    return Comparison(
        **{name: getattr(check, name) for name in Comparison.__struct_fields__},
    )


def _nothing_odd(case: Case) -> Finding:
    names = ", ".join(part.format for part in case.evidence)
    return Finding(
        code="nothing_odd",
        severity="ok",
        cause=f"Nothing odd is seen in what was given ({names}); nothing was measured in it.",
        evidence=tuple(case.line(part.file, 0) for part in case.evidence),
        remedy="give the output of nccl-tests and of NCCL_DEBUG=INFO too",
        confidence=0.5,
    )
