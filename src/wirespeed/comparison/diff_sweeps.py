"""diff_sweeps: two measurements size by size, with the noise of repeated runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from wirespeed.comparison.classes import SizeClass, size_class
from wirespeed.comparison.diff import (
    Difference,
    DiffReport,
    DiffRow,
    RowVerdict,
    Verdict,
    noise_at,
)
from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Row
from wirespeed.topology.result import ParameterSet
from wirespeed.topology.software import Notice
from wirespeed.units import US

Key = tuple[str, str, int, bool]
"""Operation, type, size, in place."""

_RANGES = {
    SizeClass.LARGE: "above 16M",
    SizeClass.MIDDLE: "from 64K to 16M",
    SizeClass.SMALL: "up to 64K",
}
_OF_RUN = ("version", "nccl_version", "graphs")
"""What an output says of its run that may differ between two."""


def diff_sweeps(before: Evidence, after: Evidence, parameters: ParameterSet) -> DiffReport:
    """The report on two files of measurements; of repeated sizes the best run counts.

    Raises InputError where they have no size in common.
    """
    old, new = _best(before), _best(after)
    common = [key for key in old if key in new]
    if not common:
        raise InputError(
            "these have no size of an operation in common",
            where=f"{before.file}, {after.file}",
            why=f"one measured {_operations(old)}, the other {_operations(new)}",
            remedy="compare runs of the same operation",
        )
    rows = tuple(_row(key, old[key], new[key]) for key in common)
    verdict, sentence = judge(rows)
    return DiffReport(
        parameters=parameters,
        warnings=tuple(_left_out(old, new, before.file, after.file)),
        kind="sweeps",
        verdict=verdict,
        sentence=sentence,
        before=before.file,
        after=after.file,
        rows=rows,
        differences=tuple(_settings(before, after)),
    )


def judge(rows: Sequence[DiffRow]) -> tuple[Verdict, str]:
    """Verdict and sentence: a class of sizes has changed where more than half of its rows have.

    A single row decides nothing but where it is the only one.
    """
    found: dict[SizeClass, tuple[RowVerdict, float]] = {}
    for kind in reversed(SizeClass):
        members = [row for row in rows if size_class(row.size_bytes) is kind]
        said = _of_class(members)
        if said != "same":
            found[kind] = said, median(row.change for row in members)
    if not found:
        odd = sum(row.verdict != "same" for row in rows)
        some = f" {odd} of {len(rows)} rows alone lie beyond it." if odd else ""
        return "same", f"The two differ by no more than repeated runs do.{some}"
    verdicts = {said for said, _ in found.values()}
    parts = [f"{_RANGES[kind]} {_words(change)}" for kind, (_, change) in found.items()]
    text = "; ".join(parts)
    sentence = f"After is {text}. Repeated runs differ by 4 % above 16M and by 14 % below."
    return (verdicts.pop() if len(verdicts) == 1 else "mixed"), sentence


def _words(change: float) -> str:
    """A change of time as people say it: 12 % slower, 1.8 times as fast."""
    if change >= 1:
        return f"{1 + change:.2g} times as slow"
    if change <= -0.5:
        return f"{1 / (1 + change):.2g} times as fast"
    return f"{abs(change):.0%} {'slower' if change > 0 else 'faster'}".replace("%", " %")


def _of_class(rows: Sequence[DiffRow]) -> RowVerdict:
    kinds: tuple[RowVerdict, RowVerdict] = ("slower", "faster")
    for verdict in kinds:
        count = sum(row.verdict == verdict for row in rows)
        if 2 * count > len(rows) and count >= min(2, len(rows)):
            return verdict
    return "same"


def _best(evidence: Evidence) -> dict[Key, Row]:
    """The fastest row of each size."""
    found: dict[Key, Row] = {}
    for measured in evidence.measurements:
        for row in measured.rows:
            if not (row.size and row.time):
                continue
            key = (measured.operation, measured.dtype or "", row.size, row.in_place)
            known = found.get(key)
            if known is None or (known.time or 0.0) > row.time:
                found[key] = row
    return found


def _row(key: Key, old: Row, new: Row) -> DiffRow:
    operation, _, size, in_place = key
    before, after = old.time or 0.0, new.time or 0.0
    change, noise = after / before - 1, noise_at(size)
    slower, faster = change > noise, before / after - 1 > noise
    return DiffRow(
        operation=operation,
        size_bytes=size,
        in_place=in_place,
        before_us=before / US,
        after_us=after / US,
        change=change,
        noise=noise,
        before_busbw_GBps=None if old.busbw is None else old.busbw / 1e9,
        after_busbw_GBps=None if new.busbw is None else new.busbw / 1e9,
        verdict="slower" if slower else "faster" if faster else "same",
    )


def _left_out(
    old: Mapping[Key, Row], new: Mapping[Key, Row], before: str, after: str
) -> Iterable[Notice]:
    for mine, others, file in ((old, new, before), (new, old, after)):
        count = sum(key not in others for key in mine)
        if count:
            text = f"{count} of {len(mine)} rows have no partner in the other file"
            yield Notice("row-without-partner", text, file)


def _settings(before: Evidence, after: Evidence) -> Iterable[Difference]:
    """What the two outputs say otherwise of their runs: ranks, GPUs, versions, environment."""
    old, new = _said(before), _said(after)
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield Difference("setting", name, old.get(name, ""), new.get(name, ""))


def _said(evidence: Evidence) -> dict[str, str]:
    found: dict[str, str] = {}
    for fact in evidence.facts:
        of_run = fact.subject == "run" and fact.attribute in _OF_RUN
        if of_run or fact.subject == "env":
            found[fact.attribute] = str(fact.value)
        elif fact.attribute == "gpu_model":
            found.setdefault("gpu", str(fact.value))
    ranks = sorted({str(m.ranks) for m in evidence.measurements if m.ranks})
    if ranks:
        found["ranks"] = ", ".join(ranks)
    return found


def _operations(rows: Iterable[Key]) -> str:
    return ", ".join(dict.fromkeys(f"{key[0]} {key[1]}".strip() for key in rows)) or "nothing"
