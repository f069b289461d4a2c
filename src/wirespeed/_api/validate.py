"""validate: forecasts beside a file of published measurements."""

from __future__ import annotations

import os
from pathlib import Path

from wirespeed._api.inputs import inputs_of, with_inputs
from wirespeed.errors import InputError
from wirespeed.readers.records import read_records
from wirespeed.validation.report import ValidationReport, report


def validate(records: str | os.PathLike[str]) -> ValidationReport:
    """The report on a file of records such as collectives.json.

    What cannot be read or forecast is skipped with its reason. Raises InputError where the file
    cannot be read or holds no record.
    """
    good, bad = read_records(read_bytes(records), file=str(records))
    return with_inputs(report(good, bad), inputs_of(records=str(records)))


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The content of a file; InputError with the system's reason where it cannot be read."""
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise InputError(
            "cannot be read",
            where=str(path),
            why=error.strerror or "",
            remedy="check the name; a relative one is looked up from here",
        ) from error
