"""Rules on the machine itself: what its own description shows to be odd."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.diagnosis.case import Case
from wirespeed.diagnosis.rules._registry import rule
from wirespeed.evidence import EvidenceLine, Fact, Finding, Severity
from wirespeed.topology.software import Notice

_GRAVE = ("nvlink-lost", "nvlink-short", "pcie-narrow")
"""Oddities that are defects wherever they show; the others may be meant."""
_CODES = {
    "nvlink-lost": "nvlink_down",
    "nvlink-short": "nvlink_down",
    "acs-redirect": "acs_iommu",
}
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
    """The line that is named; else those that say how the part named first reaches others.

    Of a part without such lines those that show its links down, else all about it.
    """
    file, _, number = notice.where.rpartition(":")
    if file in case.texts and number.isdigit():
        return (case.line(file, int(number)),)
    host, _, where = notice.where.rpartition(": ")
    part = where.split(", ")[0].split("-")[0].split(">")[0]
    of_host = [
        (evidence.file, fact)
        for evidence in case.evidence
        if host in ("", evidence.host)
        for fact in evidence.facts
    ]
    about = [entry for entry in of_host if _part(entry[1]) == part]
    ways = [entry for entry in about if ">" in entry[1].subject]
    down = [
        (file, fact)
        for file, fact in of_host
        if (fact.attribute, fact.value) == ("state", "inactive")
        and fact.subject.startswith(f"{part} link")
    ]
    return case.lines(ways or down or about)[:3]


def _part(fact: Fact) -> str:
    """The part that a fact is about, where it starts from one: "gpu0" of "gpu0>nic1"."""
    return fact.subject.split(">")[0].removeprefix("pci ")
