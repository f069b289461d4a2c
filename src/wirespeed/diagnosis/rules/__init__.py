"""Rules: what in a case is wrong, or plainly well; a function each, in the table `RULES`.

A new rule is a function with `@rule(code, source_url)` in a module that is imported here.
"""

from __future__ import annotations

from wirespeed.diagnosis.rules import (
    environment,
    limits,
    links,
    machine,
    measurement,
    network,
    pairs,
    perftest,
    wiring,
)
from wirespeed.diagnosis.rules._registry import RULES, Rule, rule

__all__ = [
    "RULES",
    "Rule",
    "environment",
    "limits",
    "links",
    "machine",
    "measurement",
    "network",
    "pairs",
    "perftest",
    "rule",
    "wiring",
]
