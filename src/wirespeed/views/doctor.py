"""The doctor's report: the verdict, findings by severity, then the comparison."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.diagnosis.report import DoctorReport
from wirespeed.evidence import EvidenceLine, Finding
from wirespeed.topology.software import Notice
from wirespeed.views.check import rows_table
from wirespeed.views.document import Block, Column, Document, Facts, Heading, Items, Sentence, Table
from wirespeed.views.words import counted, percent

_SEVERITIES = {
    "error": "Wrong",
    "warning": "Look at this",
    "info": "It may also be",
    "ok": "Well",
}
_OPEN = ("not_compared", "nothing_odd")
"""Findings that say what could not be told."""
_RECORDS = (
    Column("record"),
    Column("verdict", right=False),
    Column("causes, best first", right=False),
)
_ATTRIBUTION = (
    Column("cause", right=False),
    Column("changes", right=False),
    Column("error before"),
    Column("after"),
)
_MOST_ROWS = 60
_WIDEST = 48


def document(report: DoctorReport) -> Document:
    """What a person reads, the most telling first."""
    return tuple(_blocks(report))


def _blocks(report: DoctorReport) -> Iterator[Block]:
    yield Heading(f"Verdict: {report.verdict}")
    if report.verdict == "ok":
        yield Sentence(report.sentence)
    else:
        yield Items((report.sentence,), odd=True)
    for severity, title in _SEVERITIES.items():
        found = [finding for finding in report.findings if finding.severity == severity]
        if found:
            is_open = severity == "ok" and all(finding.code in _OPEN for finding in found)
            yield Heading("Left open" if is_open else title)
            for finding in found:
                yield from _finding(finding)
    yield from _records(report)
    yield from _comparison(report)
    if report.warnings:
        yield Heading("Notes")
        yield Items(tuple(_note(warning) for warning in report.warnings[:_MOST_ROWS]))


def _finding(finding: Finding) -> Iterator[Block]:
    odd = finding.severity in ("error", "warning")
    yield Items((f"{finding.code}: {finding.cause}",), odd=odd)
    details = [("seen in", _place(line)) for line in finding.evidence]
    if finding.remedy:
        details.append(("do", finding.remedy))
    if finding.severity != "ok":
        details.append(("how sure", f"{percent(finding.confidence)}, {finding.source_url}"))
    yield Facts(tuple(details))


def _place(line: EvidenceLine) -> str:
    where = f"{line.file}:{line.line}" if line.line else line.file
    return f"{where}: {line.text}" if line.text else where


def _records(report: DoctorReport) -> Iterator[Block]:
    slow = [entry for entry in report.records if entry.verdict == "slow"]
    if not slow:
        return
    yield Heading(f"{counted(len(slow), 'slow record')} of {len(report.records)}")
    rows = tuple((str(e.record), e.verdict, ", ".join(e.causes)) for e in slow)
    yield Table(_RECORDS, rows)


def _comparison(report: DoctorReport) -> Iterator[Block]:
    comparison = report.comparison
    if comparison is None:
        return
    where = f"{counted(comparison.nodes, 'node')}, {counted(comparison.ranks, 'GPU')}"
    yield Heading(f"Measured beside forecast: {comparison.machine}, {where}")
    if report.attribution:
        rows = tuple(
            (
                entry.cause,
                _changes(entry.changes),
                _error(entry.error_before),
                _error(entry.error_after),
            )
            for entry in report.attribution
        )
        yield Table(_ATTRIBUTION, rows)
    yield rows_table(comparison.rows)


def _error(share: float | None) -> str:
    return "" if share is None else f"{share * 100:+.0f} %"


def _changes(changes: tuple[str, ...]) -> str:
    """The changes, shortened where they are many."""
    text = " ".join(changes) or "(of unknown size)"
    return text if len(text) <= _WIDEST else f"{changes[0]} and {len(changes) - 1} more"


def _note(notice: Notice) -> str:
    return f"{notice.text} ({notice.where})" if notice.where else notice.text
