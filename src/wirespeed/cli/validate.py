"""`wirespeed validate`: forecasts beside published measurements."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from wirespeed.cli.options import OUTPUT, Json
from wirespeed.errors import UsageError

WORSE = 1


def validate(
    records: Annotated[str | None, Parameter(name="RECORDS")] = None,
    /,
    *,
    baseline: str | None = None,
    sample: int | None = None,
    json: Json = False,
    params: Annotated[bool, Parameter(group=OUTPUT)] = False,
) -> int:
    """Forecasts beside published measurements: errors by platform, operation, size and fold.

    Parameters
    ----------
    records
        A file such as collectives.json or training.json: one JSON object a line, or an array.
    baseline
        A report saved with --json: exit status 1 where a group's median worsened by over a point.
    sample
        Of training runs only so many of a series, evenly over it: a quick look.
    json
        JSON in place of tables.
    params
        Only count the parameters, by generation and transport; needs no RECORDS.
    """
    from wirespeed.cli.output import show

    if params:
        from wirespeed.validation.counts import parameter_counts

        for line in parameter_counts():
            print(line)
        return 0
    if records is None:
        raise UsageError(
            "RECORDS is missing",
            why="it names the file of measurements to forecast",
            remedy="`wirespeed validate --help` lists arguments and options",
        )
    from wirespeed._api.validate import lost_ground
    from wirespeed._api.validate import validate as report_on

    report = report_on(records, sample=sample)
    worse = lost_ground(report, baseline) if baseline else []
    show(report, json=json)
    for entry in worse:
        print(f"worse than {baseline}: {entry}", file=sys.stderr)
    return WORSE if worse else 0
