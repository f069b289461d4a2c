"""Case: all that is known of one complaint, joined: what files say, the machine, a comparison."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from wirespeed.comparison.check import CheckReport
from wirespeed.diagnosis.attribution import Diagnosis
from wirespeed.diagnosis.run import Run
from wirespeed.evidence import Evidence, EvidenceLine, Fact, Measurement, Remark
from wirespeed.topology.machine import Machine

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LONGEST = 200
"""Characters of a line that a finding shows."""


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """One measurement beside its forecast, and what explains the difference."""

    measurement: Measurement
    run: Run
    check: CheckReport
    diagnosis: Diagnosis


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What rules look at.

    Attributes:
        evidence: what each file says, in the order given.
        texts: the lines of each file by its name, for findings to quote.
        machine: the machine that the files describe, or that was named; None where none is known.
        compared: every measurement that has a forecast.
        open: (file, why) of every measurement that has none.
    """

    evidence: tuple[Evidence, ...] = ()
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    machine: Machine | None = None
    compared: tuple[Compared, ...] = ()
    open: tuple[tuple[str, str], ...] = ()

    def of_format(self, name: str) -> Iterator[Evidence]:
        """The evidence that a reader gave; a paste of several outputs counts as each of them."""
        return (part for part in self.evidence if name in part.format.split("+"))

    def facts(self, subject: str = "", attribute: str = "") -> Iterator[tuple[str, Fact]]:
        """(file, fact) of all files; of one subject or one attribute where these are given."""
        for part in self.evidence:
            for fact in part.facts:
                if subject in ("", fact.subject) and attribute in ("", fact.attribute):
                    yield part.file, fact

    def remarks(self, *codes: str) -> Iterator[tuple[str, Remark]]:
        """(file, remark) of all files, measurements included, with one of the codes."""
        for part in self.evidence:
            own = [remark for measured in part.measurements for remark in measured.remarks]
            for remark in dict.fromkeys((*part.remarks, *own)):
                if remark.code in codes:
                    yield part.file, remark

    def line(self, file: str, number: int) -> EvidenceLine:
        """A line of a file as a finding quotes it; number 0 stands for the file as a whole."""
        lines = self.texts.get(file, ())
        raw = lines[number - 1] if 0 < number <= len(lines) else ""
        text = " ".join(_COLOUR.sub("", raw).split())
        return EvidenceLine(file, number, text[:_LONGEST])

    def lines(self, facts: Iterable[tuple[str, Fact]]) -> tuple[EvidenceLine, ...]:
        """The lines that facts rest on, each once."""
        return tuple(dict.fromkeys(self.line(file, fact.line) for file, fact in facts))
