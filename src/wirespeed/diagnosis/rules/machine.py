"""Rules on the machine itself: what its own description shows to be odd."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.diagnosis.case import Case
from wirespeed.diagnosis.rules._registry import rule
from wirespeed.evidence import EvidenceLine, Finding, Severity
from wirespeed.topology.software import Notice

_GRAVE = ("nvlink-lost", "nvlink-short", "pcie-narrow")
"""Oddities that are defects wherever they show; the others may be meant."""
_CODES = {"nvlink-lost": "nvlink_down", "nvlink-short": "nvlink_down"}
"""What the records call them, where they have a code."""
_DOCS = "https://docs.nvidia.com/deploy/nvidia-smi/index.html"
_REMEDY = "look at the parts that are named: `nvidia-smi topo -m`, `lspci -vv`"


@rule("machine_oddity", _DOCS)
def oddities(case: Case) -> Iterator[Finding]:
    """What `topo` calls odd, with the lines of the files that speak of the parts."""
    for notice in case.machine.oddities if case.machine else ():
        severity: Severity = "error" if notice.code in _GRAVE else "warning"
        text, _, advice = notice.text.partition("; ")
        yield Finding(
            code=_CODES.get(notice.code, notice.code.replace("-", "_")),
            severity=severity,
            cause=f"{text}.",
            evidence=_lines(case, notice),
            remedy=advice or _REMEDY,
            confidence=0.9 if severity == "error" else 0.6,
        )


def _lines(case: Case, notice: Notice) -> tuple[EvidenceLine, ...]:
    """The lines that say how the part that is named first reaches others; else all about it."""
    host, _, where = notice.where.rpartition(": ")
    part = where.split(", ")[0].split("-")[0].split(">")[0]
    about = [
        (evidence.file, fact)
        for evidence in case.evidence
        for fact in evidence.facts
        if host in ("", evidence.host) and fact.subject.split(">")[0] == part
    ]
    ways = [(file, fact) for file, fact in about if ">" in fact.subject]
    return case.lines(ways or about)[:3]
