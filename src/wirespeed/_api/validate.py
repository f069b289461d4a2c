"""validate: forecasts beside a file of published measurements."""

from __future__ import annotations

import os

from wirespeed._api.files import read_bytes
from wirespeed._api.inputs import inputs_of, with_inputs
from wirespeed.errors import UsageError
from wirespeed.readers.records import read_records
from wirespeed.readers.training_records import are_training_records, read_training_records
from wirespeed.validation.baseline import Worsened, read_baseline, worsened
from wirespeed.validation.report import ValidationReport, report
from wirespeed.validation.training_groups import read_training_baseline
from wirespeed.validation.training_groups import worsened as training_worsened
from wirespeed.validation.training_report import TrainingReport, training_report


def validate(
    records: str | os.PathLike[str], *, sample: int | None = None
) -> ValidationReport | TrainingReport:
    """The report on a file of records such as collectives.json or training.json.

    `sample` takes at most so many training runs of a series, evenly over it. What cannot be read or
    forecast is skipped with its reason. Raises InputError where the file cannot be read or holds no
    record.
    """
    if sample is not None and sample < 1:
        raise UsageError(
            f"{sample} runs of a series", where="--sample", why="it takes at least one"
        )
    data, name = read_bytes(records), str(records)
    if are_training_records(data):
        runs, unread = read_training_records(data, file=name)
        made = training_report(runs, unread, sample=sample)
        return with_inputs(made, inputs_of(records=name, sample=sample))
    if sample is not None:
        raise UsageError(
            "these are no training runs", where="--sample", why="only their series are thinned out"
        )
    good, bad = read_records(data, file=name)
    return with_inputs(report(good, bad), inputs_of(records=name))


def lost_ground(
    report: ValidationReport | TrainingReport, baseline: str | os.PathLike[str]
) -> list[Worsened]:
    """Groups whose median error is more than a point above that of an earlier report."""
    data, name = read_bytes(baseline), str(baseline)
    if isinstance(report, TrainingReport):
        return training_worsened(read_training_baseline(data, file=name), report.groups)
    return worsened(read_baseline(data, file=name), report.groups)
