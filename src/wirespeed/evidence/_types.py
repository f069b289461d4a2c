"""Fact, Remark, Evidence; Row, Measurement; EvidenceLine, Finding."""

from __future__ import annotations

from typing import Literal

import msgspec

Value = str | int | float | bool | tuple[int, ...]


class Fact(msgspec.Struct, frozen=True):
    """One statement of a file: `subject`'s `attribute` is `value`, seen on `line` (from 1).

    Subjects are components in the file's own words but in this package's spelling: `gpu0`, `nic3`,
    `cpu0`, `pci 0000:1b:00.0`; a pair is `gpu0>nic3`. The same subject and attribute with another
    value elsewhere is a contradiction, which the inventory reports.
    """

    subject: str
    attribute: str
    value: Value
    line: int
    inferred: bool = False
    """True where the reader completed it (a cut row by symmetry) instead of reading it."""


class Remark(msgspec.Struct, frozen=True):
    """Something about the text itself that a person should know: a cut row, an unknown word."""

    code: str
    text: str
    line: int = 0


class Row(msgspec.Struct, frozen=True):
    """One measured size. `size` [B] as nccl-tests counts it, None for a plateau; `time` [s]."""

    size: int | None
    time: float | None
    algbw: float | None = None
    """[B/s] as printed."""
    busbw: float | None = None
    """[B/s] as printed."""
    in_place: bool = False
    line: int = 0


class Measurement(msgspec.Struct, frozen=True):
    """Rows that one run of one operation gave."""

    operation: str
    file: str
    rows: tuple[Row, ...]
    ranks: int | None = None
    dtype: str | None = None
    remarks: tuple[Remark, ...] = ()
    launch: str | None = None
    """process, thread or graph, where the text says so."""
    reduction: str | None = None
    """sum, max …; None where nothing is reduced or the text does not say."""
    source: str = ""
    """Copies only: where the bytes come from: `gpu0` or `host`."""
    target: str = ""
    """Copies only: where the bytes go."""
    bidirectional: bool = False
    """Copies only: both directions at once; `algbw` is the sum of both, `time` that of one."""


class Evidence(msgspec.Struct, frozen=True):
    """All that one text says. `format` is the reader's name, `file` what to call the text."""

    format: str
    file: str
    facts: tuple[Fact, ...]
    remarks: tuple[Remark, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    host: str = ""
    """The host that a prompt or a prefix in a paste names; empty where none does."""

    def value(self, subject: str, attribute: str) -> Value | None:
        """The first value stated, or None."""
        for fact in self.facts:
            if fact.subject == subject and fact.attribute == attribute:
                return fact.value
        return None


class EvidenceLine(msgspec.Struct, frozen=True):
    """A line of a file that a finding rests on; line 0 where the file as a whole says it."""

    file: str
    line: int
    text: str


Severity = Literal["ok", "info", "warning", "error"]


class Finding(msgspec.Struct, frozen=True):
    """What is wrong (or plainly well: severity `ok`), where it is seen, and what to do about it."""

    code: str
    """A cause code of the records, or one a rule for what only logs show."""
    severity: Severity
    cause: str
    """A sentence."""
    evidence: tuple[EvidenceLine, ...]
    remedy: str
    """A command, a variable, or what to look at next."""
    confidence: float
    """How sure, 0 to 1."""
    source_url: str = ""
    """The public thread or document that confirms the rule."""
