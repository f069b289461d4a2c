"""paste_of: the Evidence of every output that a text holds, with the lines of the whole text.

A text is read as it stands; taken apart at prompts and fences where two outputs or more come out
of it; and without the prefixes of its lines where more can be read so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Fact, Measurement, Remark, Row
from wirespeed.readers._prefixes import Unwrapped, unwrapped
from wirespeed.readers._prompts import Piece, pieces
from wirespeed.readers._registry import read_whole, recognised
from wirespeed.readers._text import raw_lines

_DEEPEST = 3
_OF_A_JOB = frozenset({"nccl-log", "nccl-tests"})
"""Formats whose one text is of many hosts and ranks."""


@dataclass(slots=True)
class _Found:
    """Parts that were read of a text, or why none was."""

    parts: list[Evidence] = field(default_factory=list)
    refused: InputError | None = None

    @property
    def said(self) -> int:
        """Statements and rows."""
        return sum(map(_said, self.parts))


def paste_of(text: str, file: str) -> tuple[Evidence, ...]:
    """Evidence of each output; raises InputError where nothing of the text can be read."""
    lines = raw_lines(text)
    whole = Piece(lines, list(range(1, len(lines) + 1)))
    found = _Reading(file, text, whole).read(whole, 0)
    if not found.parts:
        assert found.refused is not None
        raise found.refused
    return tuple(found.parts)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One text in work."""

    file: str
    text: str
    whole: Piece

    def read(self, piece: Piece, depth: int) -> _Found:
        """The piece as it stands, or without a prefix where that gives more."""
        best = self._apart(piece, depth)
        if depth >= _DEEPEST:
            return best
        for found in unwrapped(piece):
            best = self._without(found, best, depth + 1)
        return best

    def _without(self, found: Unwrapped, best: _Found, depth: int) -> _Found:
        names = _formats(best)
        if found.kind == "rank" and names and names <= _OF_A_JOB and found.passed_over:
            return best
        whole = self.read(found.whole, depth)
        if whole.said > best.said:
            best, names = whole, _formats(whole)
        if len(found.parts) < 2 or (names and names <= _OF_A_JOB):
            return best if found.kind != "host" else self._named(best, found)
        parts = [self.read(part, depth) for part in found.parts]
        if found.kind == "rank":
            # Ranks that print the same machine say it once, not a machine each.
            wins = max(part.said for part in parts) > best.said
        else:
            wins = sum(part.said for part in parts) >= max(1, best.said)
        return _together(parts) if wins else best

    def _named(self, best: _Found, found: Unwrapped) -> _Found:
        """The parts with the one host that all lines name."""
        hosts = {part.host for part in found.parts if part.host}
        if len(hosts) != 1 or best.said == 0:
            return best
        host = hosts.pop()
        parts = [msgspec.structs.replace(part, host=part.host or host) for part in best.parts]
        return _Found(parts, best.refused)

    def _apart(self, piece: Piece, depth: int) -> _Found:
        """What stands between prompts and fences, where that is two outputs or more."""
        between = pieces(piece) if depth < _DEEPEST else [piece]
        whole = self._whole(piece, _only_host(between) or piece.host)
        if len(between) > 1:
            known = [part for part in between if self._is_known(part)]
            if len(known) > 1:
                apart = _together([self.read(part, depth + 1) for part in known])
                if len(apart.parts) > 1:
                    return apart if _are_several(apart, whole) else whole
        for part in between if len(between) > 1 and not whole.parts else ():
            # Words around one output may hide what it is.
            found = self._whole(part, part.host)
            if found.parts:
                return found
        return whole

    def _is_known(self, piece: Piece) -> bool:
        text = self._text(piece)
        return recognised(text) or any(recognised(self._text(u.whole)) for u in unwrapped(piece))

    def _text(self, piece: Piece) -> str:
        return self.text if piece is self.whole else piece.text(len(self.whole.lines))

    def _whole(self, piece: Piece, host: str) -> _Found:
        try:
            parts = read_whole(self._text(piece), file=self.file)
        except InputError as error:
            return _Found(refused=error)
        if len(piece.lines) < len(self.whole.lines):
            parts = [_renumbered(part, piece.numbers) for part in parts]
        return _Found([msgspec.structs.replace(part, host=host) for part in parts])


def _are_several(apart: _Found, whole: _Found) -> bool:
    """Whether a text is better taken apart: hosts, runs with settings of their own, or more said.

    One reader may know the outputs of several commands, and what belongs together in them.
    """
    hosts = {part.host for part in apart.parts if part.host}
    runs = sum(bool(part.measurements) for part in apart.parts)
    if len(hosts) > 1 or runs > 1:
        return True
    return not _statements(apart) <= _statements(whole)


def _statements(found: _Found) -> set[Fact | Row]:
    facts = {fact for part in found.parts for fact in part.facts}
    return facts.union(
        row for part in found.parts for measured in part.measurements for row in measured.rows
    )


def _together(found: Sequence[_Found]) -> _Found:
    """All parts; what was refused beside them is remarked on."""
    parts = [part for one in found for part in one.parts]
    refused = [one.refused for one in found if one.refused is not None]
    if parts and refused:
        left = tuple(Remark("part-left-out", f"{error.what}: {error.why}") for error in refused)
        parts[0] = msgspec.structs.replace(parts[0], remarks=(*parts[0].remarks, *left))
    return _Found(parts, refused[0] if refused else None)


def _only_host(between: Sequence[Piece]) -> str:
    """The host that all prompts of a text name, where it is one."""
    hosts = {piece.host for piece in between if piece.host}
    return hosts.pop() if len(hosts) == 1 else ""


def _formats(found: _Found) -> set[str]:
    return {name for part in found.parts for name in part.format.split("+")}


def _said(part: Evidence) -> int:
    return len(part.facts) + sum(len(measured.rows) for measured in part.measurements)


def _renumbered(evidence: Evidence, numbers: Sequence[int]) -> Evidence:
    """The evidence with lines of the whole text."""

    def moved(line: int) -> int:
        return numbers[line - 1] if 0 < line <= len(numbers) else 0

    def remark(old: Remark) -> Remark:
        return Remark(old.code, old.text, moved(old.line))

    def fact(old: Fact) -> Fact:
        return Fact(old.subject, old.attribute, old.value, moved(old.line), old.inferred)

    def measured(old: Measurement) -> Measurement:
        rows = tuple(msgspec.structs.replace(row, line=moved(row.line)) for row in old.rows)
        remarks = tuple(map(remark, old.remarks))
        return msgspec.structs.replace(old, rows=rows, remarks=remarks)

    return Evidence(
        evidence.format,
        evidence.file,
        tuple(map(fact, evidence.facts)),
        tuple(map(remark, evidence.remarks)),
        tuple(map(measured, evidence.measurements)),
        evidence.host,
    )
