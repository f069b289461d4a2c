"""rule: the table of rules; each is a function from a Case to Findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec

from wirespeed.diagnosis.case import Case
from wirespeed.evidence import Finding

Look = Callable[[Case], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: what its findings are called, and who confirms it."""

    code: str
    look: Look
    source_url: str = ""

    def __call__(self, case: Case) -> list[Finding]:
        """The findings on a case; those that name no source get the rule's."""
        return [
            finding
            if finding.source_url
            else msgspec.structs.replace(finding, source_url=self.source_url)
            for finding in self.look(case)
        ]


RULES: dict[str, Rule] = {}
"""By name of the function, in the order in which they look."""


def rule(code: str, source_url: str = "") -> Callable[[Look], Look]:
    """Registers a function as the rule that finds `code`.

    A rule may yield findings of other codes where it passes on what others saw: then `code` says
    which family. It never rests on an absent line alone unless the log level shows that the line
    would be there.
    """

    def register(look: Look) -> Look:
        RULES[look.__name__] = Rule(code, look, source_url)
        return look

    return register
