"""Rules on the library's environment: settings that are there and cost speed."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.diagnosis.case import Case
from wirespeed.diagnosis.causes import cause_of
from wirespeed.diagnosis.rules._registry import rule
from wirespeed.diagnosis.stated import ASKED, FORCED, suspects
from wirespeed.evidence import Finding


@rule("forced_setting", "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html")
def settings(case: Case) -> Iterator[Finding]:
    """Variables that people set while chasing something and forgot; what they cost where known."""
    blamed = {entry.cause for compared in case.compared for entry in compared.diagnosis.causes}
    env = {
        fact.attribute: (file, fact)
        for file, fact in case.facts("env")
        if fact.attribute.startswith(("NCCL_", "RCCL_"))
    }
    values = {name: str(fact.value) for name, (_, fact) in env.items()}
    for entry in suspects(values):
        if entry.cause in blamed or entry.cause in (ASKED, FORCED):
            continue
        known = cause_of(entry.cause)
        names = [change.subject for change in entry.changes]
        yield Finding(
            code=entry.cause,
            severity="warning",
            cause=f"{entry.text} is set. {known.text}",
            evidence=tuple(case.line(env[name][0], env[name][1].line) for name in names),
            remedy=f"unset {' '.join(names)} and measure again",
            confidence=0.5,
            source_url=known.source_url,
        )
