"""joined_copies: copies between many pairs of devices as one report, by the ends that are slow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import msgspec

from wirespeed.comparison.check import CheckReport, CheckRow, Overall
from wirespeed.errors import first_of

_MOST_NAMED = 4


def joined_copies(reports: Sequence[CheckReport], pairs: Sequence[tuple[str, str]]) -> CheckReport:
    """One report of copies; `pairs` are their ends (`gpu0`, `host`), in the order of `reports`.

    A device is slow where more than half of its copies are: single pairs outside of a band that
    holds four in five decide nothing.
    """
    if len(reports) == 1:
        return reports[0]
    of_end: defaultdict[str, list[CheckReport]] = defaultdict(list)
    for report, pair in zip(reports, pairs, strict=True):
        for end in set(pair) - {"host"}:
            of_end[end].append(report)
    order: tuple[Overall, ...] = ("slow", "fast")
    odd = {verdict: _ends(of_end, verdict) for verdict in order}
    verdict: Overall = next((verdict for verdict in order if odd[verdict]), "ok")
    sentence = _sentence(reports, pairs, verdict, odd.get(verdict, {}), of_end)
    notices = dict.fromkeys(notice for report in reports for notice in report.warnings)
    return msgspec.structs.replace(
        reports[0],
        warnings=tuple(notices),
        verdict=verdict,
        sentence=sentence,
        ranks=len(of_end),
        banded=all(report.banded for report in reports),
        rows=tuple(row for report in reports for row in report.rows),
    )


def _ends(of_end: dict[str, list[CheckReport]], verdict: Overall) -> dict[str, int]:
    """Devices most of whose copies have that verdict, and how many do.

    A device that is slow makes a copy of each of its peers slow; these have others.
    """
    counts = {
        end: sum(report.verdict == verdict for report in reports) for end, reports in of_end.items()
    }
    return {end: count for end, count in counts.items() if 2 * count > len(of_end[end])}


def _sentence(
    reports: Sequence[CheckReport],
    pairs: Sequence[tuple[str, str]],
    verdict: Overall,
    odd: dict[str, int],
    of_end: dict[str, list[CheckReport]],
) -> str:
    rows = [(report.rows[0], pair) for report, pair in zip(reports, pairs, strict=True)]
    outside = sum(row.verdict != "ok" for row, _ in rows)
    if verdict == "ok":
        row, pair = min(rows, key=lambda item: _share(item[0]))
        some = f" {outside} of {len(rows)} lie outside their range." if outside else ""
        lowest = f"the lowest of {len(rows)}: {_at(row, pair)}"
        return f"This is what such a machine gives, {lowest}.{some}"
    row, pair = max(
        (item for item in rows if item[0].verdict == verdict), key=lambda item: 1 / _share(item[0])
    )
    if len(odd) == len(of_end):
        where = "Copies are"
    else:
        named = [f"{end} ({count} of {len(of_end[end])})" for end, count in odd.items()]
        where = f"Copies from and to {first_of(named, _MOST_NAMED)} are"
    told = "slow" if verdict == "slow" else "faster than such a machine should be"
    return f"{where} {told}: {_at(row, pair)}."


def _share(row: CheckRow) -> float:
    """Measured over expected bandwidth."""
    return row.forecast_us / row.measured_us


def _at(row: CheckRow, pair: tuple[str, str]) -> str:
    measured = row.measured_busbw_GBps or row.forecast_busbw_GBps * _share(row)
    low = row.forecast_busbw_GBps * row.forecast_us / row.high_us
    high = row.forecast_busbw_GBps * row.forecast_us / row.low_us
    return (
        f"{pair[0]} to {pair[1]} has {measured:.4g} GB/s, expected {row.forecast_busbw_GBps:.4g} "
        f"({low:.4g} to {high:.4g})"
    )
