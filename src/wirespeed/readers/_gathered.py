"""Gathered: facts and remarks as a reader finds them, and the Evidence that they make."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Fact, Measurement, Remark
from wirespeed.evidence._types import Value

_MOST_FACTS = 500_000
_ELLIPSIS = re.compile(r"\[?\s*(?:\.{3,}|\u2026)\s*\]?")
_SHOWN = 60


@dataclass(slots=True)
class Gathered:
    """What one text says, so far."""

    facts: list[Fact] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)

    def add(
        self,
        subject: str,
        attribute: str,
        value: Value | None,
        line: int,
        *,
        inferred: bool = False,
    ) -> None:
        """States a fact; None states nothing."""
        if value is not None:
            self.facts.append(Fact(subject, attribute, value, line, inferred))

    def note(self, code: str, text: str, line: int = 0) -> None:
        """Remarks on the text itself."""
        self.remarks.append(Remark(code, text, line))

    def left_out(self, text: str, line: int) -> None:
        """Remarks that lines are missing here, or that this one cannot be read."""
        shown = text.strip()[:_SHOWN]
        self.note("lines-left-out", f"{shown!r} is left out", line)

    def evidence(self, name: str, file: str, *, nothing: str, remedy: str) -> Evidence:
        """The Evidence; InputError where no fact is stated (`nothing` says why) or far too many."""
        if not self.facts and not self.measurements:
            raise InputError("nothing can be read here", where=file, why=nothing, remedy=remedy)
        if len(self.facts) > _MOST_FACTS:
            raise InputError(
                f"{len(self.facts)} statements are too many",
                where=file,
                why=f"up to {_MOST_FACTS} are read from one text",
                remedy="give a part of it",
            )
        facts = tuple(dict.fromkeys(self.facts))
        remarks = tuple(dict.fromkeys(self.remarks))
        return Evidence(name, file, facts, remarks, tuple(self.measurements))


def is_ellipsis(text: str) -> bool:
    """True for a line by which a person says that others are left out."""
    return _ELLIPSIS.fullmatch(text.strip()) is not None


def slug(text: str) -> str:
    """A printed name as an attribute: "CRC FLIT Errors" is crc_flit_errors."""
    return re.sub(r"[^a-z0-9]+", "_", text.strip().lower()).strip("_")


def whole(text: str, base: int = 10) -> int | None:
    """The whole number that a text is, or None."""
    if len(text) > 40:
        return None
    try:
        return int(text, base)
    except ValueError:
        return None
