"""check: a measurement beside the forecast of its machine, with a verdict in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
import numpy as np

from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective
from wirespeed.collectives.result import ForecastRow
from wirespeed.comparison.bands import tolerance, with_bands
from wirespeed.comparison.classes import SizeClass, size_class
from wirespeed.errors import InputError
from wirespeed.evidence import Measurement, Row
from wirespeed.topology.cluster import Cluster, Group
from wirespeed.topology.result import ParameterSet, Result
from wirespeed.topology.software import Notice
from wirespeed.units import US, format_size

Verdict = Literal["ok", "slow", "fast"]
Overall = Literal["ok", "slow", "fast", "invalid"]


_RANGES = {
    SizeClass.LARGE: "Above 16M",
    SizeClass.MIDDLE: "From 64K to 16M",
    SizeClass.SMALL: "Up to 64K",
}


class CheckRow(msgspec.Struct, frozen=True):
    """One measured size beside its forecast [us]."""

    operation: str
    size_bytes: int
    in_place: bool
    measured_us: float
    forecast_us: float
    low_us: float
    high_us: float
    verdict: Verdict
    measured_busbw_GBps: float | None
    forecast_busbw_GBps: float
    algorithm: str
    protocol: str


class CheckReport(Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.check/1"):
    """Whether a measurement is what its machine should give."""

    verdict: Overall
    """invalid: the results are wrong, so that the times mean nothing."""
    sentence: str
    machine: str
    nodes: int
    ranks: int
    banded: bool
    """Whether `low_us` and `high_us` are validated bands; else what repeated runs may differ by."""
    rows: tuple[CheckRow, ...]


def check(
    measurement: Measurement,
    collective: Collective,
    cluster: Cluster,
    group: Group,
    *,
    remarks: Iterable[Notice] = (),
    unknown: int = 0,
) -> CheckReport:
    """The measurement row by row beside the forecast of its run on a cluster.

    `remarks` is what the reader said of the text. Raises InputError where no row has a time.
    """
    timed = [row for row in measurement.rows if row.size and row.time]
    if not timed:
        raise InputError("no row has a size and a time", where=measurement.file)
    rows: list[CheckRow] = []
    banded = True
    for in_place in (False, True):
        mine = [row for row in timed if row.in_place is in_place]
        if not mine:
            continue
        asked = msgspec.structs.replace(collective, in_place=in_place)
        sizes = sorted({int(row.size or 0) for row in mine})
        made = with_bands(forecast(asked, cluster, sizes, group), cluster, group, unknown=unknown)
        table = {row.size_bytes: row for row in made.rows}
        banded = banded and all(row.low_us is not None for row in made.rows)
        rows += [_row(row, table[int(row.size or 0)]) for row in mine]
    notices = tuple(remarks)
    verdict, sentence = judge(rows, [notice.code for notice in notices])
    return CheckReport(
        parameters=ParameterSet(cluster.parameters.digest),
        warnings=(*notices, *cluster.warnings),
        verdict=verdict,
        sentence=sentence,
        machine=cluster.machine.name,
        nodes=len(np.unique(cluster.topology.node[group.gpus])),
        ranks=len(group),
        banded=banded,
        rows=tuple(rows),
    )


def joined(reports: Sequence[CheckReport]) -> CheckReport:
    """Checks of several measurements of one run as one: the worst verdict, all sentences, rows."""
    if len(reports) == 1:
        return reports[0]
    order = ("invalid", "slow", "fast", "ok")
    worst = min((report.verdict for report in reports), key=order.index)
    said = dict.fromkeys(f"{r.rows[0].operation}: {r.sentence}" for r in reports)
    notices = dict.fromkeys(notice for report in reports for notice in report.warnings)
    return msgspec.structs.replace(
        reports[0],
        warnings=tuple(notices),
        verdict=worst,
        sentence=" ".join(said),
        banded=all(report.banded for report in reports),
        rows=tuple(row for report in reports for row in report.rows),
    )


def _row(row: Row, forecast_row: ForecastRow) -> CheckRow:
    measured = (row.time or 0.0) / US
    low, high = forecast_row.low_us, forecast_row.high_us
    if low is None or high is None:
        slack = 1 + tolerance(forecast_row.size_bytes)
        low, high = forecast_row.time_us / slack, forecast_row.time_us * slack
    return CheckRow(
        operation=forecast_row.operation,
        size_bytes=forecast_row.size_bytes,
        in_place=row.in_place,
        measured_us=measured,
        forecast_us=forecast_row.time_us,
        low_us=low,
        high_us=high,
        verdict="slow" if measured > high else "fast" if measured < low else "ok",
        measured_busbw_GBps=None if row.busbw is None else row.busbw / 1e9,
        forecast_busbw_GBps=forecast_row.busbw_GBps,
        algorithm=forecast_row.algorithm,
        protocol=forecast_row.protocol,
    )


def judge(rows: Sequence[CheckRow], remarks: Sequence[str] = ()) -> tuple[Overall, str]:
    """Verdict and sentence of all rows: never on one row, the large sizes first.

    A class of sizes is slow or fast where more than half of its rows are, and at least two of them
    (or the only one there is). Single rows at the hand-over of protocols thus decide nothing.
    """
    if "wrong-values" in remarks:
        return "invalid", "The results of this run are wrong, so its bandwidths mean nothing."
    by_class = {
        kind: [row for row in rows if size_class(row.size_bytes) is kind] for kind in SizeClass
    }
    verdicts = {kind: _of_class(members) for kind, members in by_class.items() if members}
    failed = " The run failed before its end." if "run-failed" in remarks else ""
    kinds: tuple[Verdict, Verdict] = ("slow", "fast")
    for verdict in kinds:
        found = [kind for kind in reversed(SizeClass) if verdicts.get(kind) == verdict]
        if found:
            where = "At all sizes" if len(found) == len(verdicts) > 1 else _RANGES[found[0]]
            told = _slow if verdict == "slow" else _fast
            return verdict, told(by_class[found[0]], where) + failed
    return "ok", _fine(rows) + failed


def _of_class(rows: Sequence[CheckRow]) -> Verdict:
    kinds: tuple[Verdict, Verdict] = ("slow", "fast")
    for verdict in kinds:
        count = sum(row.verdict == verdict for row in rows)
        if 2 * count > len(rows) and count >= min(2, len(rows)):
            return verdict
    return "ok"


def _slow(rows: Sequence[CheckRow], where: str) -> str:
    last = rows[-1]
    factor = float(np.median([row.measured_us / row.forecast_us for row in rows]))
    return f"{where} this is slow by a factor of {factor:.2g}: {_at(last)}."


def _fast(rows: Sequence[CheckRow], where: str) -> str:
    last = rows[-1]
    return (
        f"{where} this is faster than such a machine should be: {_at(last)}. "
        "The machine may be another than the one it was compared with."
    )


def _fine(rows: Sequence[CheckRow]) -> str:
    last = max(rows, key=lambda row: row.size_bytes)
    odd = sum(row.verdict != "ok" for row in rows)
    some = f" {odd} of {len(rows)} rows lie outside their range." if odd else ""
    return f"This is what such a machine gives: {_at(last)}.{some}"


def _at(row: CheckRow) -> str:
    """What was measured and expected at one size: bandwidths where they say something."""
    size = format_size(row.size_bytes)
    if size_class(row.size_bytes) is SizeClass.SMALL or row.measured_busbw_GBps is None:
        return (
            f"at {size} {row.measured_us:.3g} us, expected {row.forecast_us:.3g} us "
            f"({row.low_us:.3g} to {row.high_us:.3g})"
        )
    expected = row.forecast_busbw_GBps
    low, high = (expected * row.forecast_us / limit for limit in (row.high_us, row.low_us))
    return (
        f"at {size} busbw is {row.measured_busbw_GBps:.4g} GB/s, expected {expected:.4g} "
        f"({low:.4g} to {high:.4g})"
    )
