"""Verdicts on a file of records: slow or not, and why, from their inputs and rows alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from wirespeed.diagnosis.attribution import Diagnosis, attribute
from wirespeed.diagnosis.run import Runs, measured_rows
from wirespeed.errors import WirespeedError
from wirespeed.readers.records import BadRecord, Inputs, Record, RecordRow
from wirespeed.topology.software import Notice


class RecordVerdict(msgspec.Struct, frozen=True):
    """What the doctor says of one record; `record` is its position in the file from 0."""

    record: int
    verdict: Literal["ok", "slow"]
    causes: tuple[str, ...] = ()
    """Codes, best first, at most three."""


def verdicts(
    records: Iterable[Record], bad: Iterable[BadRecord] = ()
) -> tuple[list[RecordVerdict], list[Notice]]:
    """One verdict a record in order of position, and why some could not be forecast."""
    runs, found, notices = Runs(), list[RecordVerdict](), list[Notice]()
    for record in records:
        try:
            diagnosis = diagnosed(runs, record.inputs, record.rows, record.rows_inplace)
        except WirespeedError as error:
            why = f"{error.what}: {error.why}" if error.why else error.what
            notices.append(_not_judged(record.position, why))
            diagnosis = Diagnosis(False, None)
        causes = tuple(entry.cause for entry in diagnosis.causes) if diagnosis.slow else ()
        verdict: Literal["ok", "slow"] = "slow" if diagnosis.slow else "ok"
        found.append(RecordVerdict(record.position, verdict, causes))
    for entry in bad:
        notices.append(_not_judged(entry.position, entry.reason))
        found.append(RecordVerdict(entry.position, "ok"))
    return sorted(found, key=lambda verdict: verdict.record), notices


def diagnosed(
    runs: Runs, inputs: Inputs, rows: tuple[RecordRow, ...], second: tuple[RecordRow, ...] = ()
) -> Diagnosis:
    """What is to be said of one run; a WirespeedError where it has no forecast."""
    run = runs.of_inputs(inputs)
    return attribute(run, measured_rows(rows, second, run, in_place=inputs.in_place))


def two_labels(records: Iterable[Record]) -> Iterator[tuple[Record, ...]]:
    """Records of one run that people judged differently: same inputs, same last rows."""
    seen: dict[object, list[Record]] = {}
    for record in records:
        rows = (*record.rows, *record.rows_inplace)[-3:]
        if any(row.time_us or row.algbw or row.busbw for row in rows):
            inputs = record.inputs
            run = (inputs.cluster.gpu, inputs.collective, inputs.ranks, inputs.env, rows)
            seen.setdefault(run, []).append(record)
    for group in seen.values():
        if len({record.health for record in group}) > 1:
            yield tuple(group)


def _not_judged(position: int, why: str) -> Notice:
    return Notice("not-forecast", f"called ok, since it cannot be forecast: {why}", f"[{position}]")
