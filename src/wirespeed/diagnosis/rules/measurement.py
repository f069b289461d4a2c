"""Rules on measurements: wrong results, a shortfall and what explains it, or that all is well."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wirespeed.diagnosis.arithmetic import arithmetic
from wirespeed.diagnosis.attribution import Explained
from wirespeed.diagnosis.case import Case, Compared
from wirespeed.diagnosis.causes import cause_of
from wirespeed.diagnosis.rules._registry import rule
from wirespeed.evidence import EvidenceLine, Finding
from wirespeed.units import format_size

_TESTS = "https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md"


@rule("wrong_values", _TESTS)
def wrong_values(case: Case) -> Iterator[Finding]:
    """The test checked the results, and they are wrong."""
    for file, remark in case.remarks("wrong-values"):
        yield Finding(
            code="wrong_values",
            severity="error",
            cause=f"{remark.text[0].upper()}{remark.text[1:]}.",
            evidence=(case.line(file, remark.line),),
            remedy="find the faulty GPU or link first: run pairs of GPUs, look at `dmesg` for Xid",
            confidence=0.95,
        )


@rule("run_failed", _TESTS)
def run_failed(case: Case) -> Iterator[Finding]:
    """The run ended before its table did."""
    for file, remark in case.remarks("run-failed"):
        yield Finding(
            code="run_failed",
            severity="error",
            cause=f"{remark.text[0].upper()}{remark.text[1:]}.",
            evidence=(case.line(file, remark.line),),
            remedy=_remedy_of(remark.text),
            confidence=0.95,
        )


_FAILURES = {
    "no CUDA-capable device|no HIP-capable|insufficient driver": (
        "see that `nvidia-smi -L` lists the GPUs there, inside the container too"
    ),
    "invalid device ordinal": "start no more ranks on a node than it has GPUs (-t times -g, tasks)",
    "More processors requested|Unable to create step|Invalid (?:account|partition)": (
        "ask the scheduler for what it has: `sinfo`, `scontrol show job`, tasks and GPUs a node"
    ),
    "out of memory": "end the sizes earlier (-e) or free the GPUs: `nvidia-smi` lists who has them",
    "Segmentation fault|signal 11": "see that all nodes load one MPI and NCCL: `ldd` on the test",
    "Connection (?:refused|timed out)|No route to host|unreachable": (
        "see that nodes reach each other over the interface that NCCL_SOCKET_IFNAME names"
    ),
}
"""What runs fail of before they measure, and what to do; anything else takes the library's log."""


def _remedy_of(text: str) -> str:
    for pattern, remedy in _FAILURES.items():
        if re.search(pattern, text, re.IGNORECASE):
            return remedy
    return "run again with NCCL_DEBUG=INFO and give that log too"


@rule("slow", _TESTS)
def shortfall(case: Case) -> Iterator[Finding]:
    """Rows beyond what such a machine gives: a finding for each cause that explains them."""
    for compared in case.compared:
        diagnosis = compared.diagnosis
        if not diagnosis.slow:
            continue
        if not diagnosis.causes:
            yield _unexplained(case, compared)
        for place, explained in enumerate(diagnosis.causes):
            yield _explained(case, compared, explained, place)


@rule("nothing_wrong", _TESTS)
def nothing_wrong(case: Case) -> Iterator[Finding]:
    """Rows that are what such a machine gives, with the arithmetic."""
    told: dict[float, str] = {}
    for compared in case.compared:
        verdict = compared.check.verdict
        if compared.diagnosis.slow or verdict in ("invalid", "slow"):
            continue
        confidence = 0.9 if verdict == "ok" else 0.6
        if confidence not in told:
            # Of findings alike the first is shown, with the places of all.
            said = "Nothing is wrong: this is what this machine gives."
            told[confidence] = f"{said} {arithmetic(compared)}"
        yield Finding(
            code="nothing_wrong",
            severity="ok",
            cause=told[confidence],
            evidence=_largest(case, compared),
            remedy="",
            confidence=confidence,
        )


@rule("slower_than_most", _TESTS)
def slower_than_most(case: Case) -> Iterator[Finding]:
    """Rows beyond the band that holds 80 % of good runs, and not so far that it is a fault."""
    for compared in case.compared:
        if compared.diagnosis.slow or compared.check.verdict != "slow":
            continue
        said = (
            "This is slower than nine good runs in ten, which proves no fault. "
            f"{compared.check.sentence}{_suspects(compared)} {arithmetic(compared)}"
        )
        yield Finding(
            code="slower_than_most",
            severity="ok",
            cause=said,
            evidence=_largest(case, compared),
            remedy="measure again, and on other nodes of the same kind; compare by `diff`",
            confidence=0.5,
        )


@rule("not_compared", _TESTS)
def not_compared(case: Case) -> Iterator[Finding]:
    """Rows that cannot be held against anything, and what is missing for that."""
    between_nics = {part.file for part in case.of_format("perftest")}
    for file, why in dict.fromkeys(case.open):
        if file in between_nics:
            continue
        yield Finding(
            code="not_compared",
            severity="ok",
            cause=f"Whether the rows are right cannot be said. {why[0].upper()}{why[1:]}.",
            evidence=(case.line(file, 0),),
            remedy="name the machine with --on: a preset or the output of nvidia-smi topo -m",
            confidence=1.0,
        )


def _explained(case: Case, compared: Compared, found: Explained, place: int) -> Finding:
    known = cause_of(found.cause)
    factor = compared.diagnosis.factor or 1.0
    said = f"{compared.measurement.operation} takes {factor:.2g} times as long as it should."
    if found.error_after is not None and found.changes and abs(found.error_after) < 0.5:
        changes = ", ".join(_short(found.changes))
        said += f" With {changes} the forecast is {found.error_after:+.0%} off the rows."
    return Finding(
        code=found.cause,
        severity="error" if place == 0 else "info",
        cause=f"{said} {known.text}",
        evidence=_largest(case, compared),
        remedy=known.remedy,
        confidence=(0.7, 0.4, 0.25)[place],
        source_url=known.source_url,
    )


def _suspects(compared: Compared) -> str:
    """What to look at first, should it be slow after all."""
    causes = [entry.cause for entry in compared.diagnosis.causes]
    return f" What would explain it: {', '.join(causes)}." if causes else ""


def _short(changes: tuple[str, ...]) -> tuple[str, ...]:
    """The changes as a sentence bears them: of many alike the first and how many more."""
    return changes if len(changes) <= 2 else (changes[0], f"{len(changes) - 1} more")


def _unexplained(case: Case, compared: Compared) -> Finding:
    return Finding(
        code="slow",
        severity="error",
        cause=f"{compared.check.sentence} No single change of the machine explains it.",
        evidence=_largest(case, compared),
        remedy="run with NCCL_DEBUG=INFO and give that log and `nvidia-smi topo -m` too",
        confidence=0.6,
    )


def _largest(case: Case, compared: Compared) -> tuple[EvidenceLine, ...]:
    """The line of the largest size."""
    timed = [row for row in compared.measurement.rows if row.size and row.time]
    last = max(timed, key=lambda row: row.size or 0)
    line = case.line(compared.measurement.file, last.line)
    if line.text:
        return (line,)
    text = f"{format_size(last.size or 0)} in {(last.time or 0) * 1e6:.4g} us"
    return (EvidenceLine(compared.measurement.file, last.line, text),)
