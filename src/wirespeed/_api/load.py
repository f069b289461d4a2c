"""load: results from the files that `--json` wrote."""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import msgspec

from wirespeed._version import __version__
from wirespeed.errors import InputError
from wirespeed.topology.result import Result

RESULTS = {
    "wirespeed.check/1": ("wirespeed.comparison.check", "CheckReport"),
    "wirespeed.collective/1": ("wirespeed.collectives.result", "CollectiveForecast"),
    "wirespeed.diff/1": ("wirespeed.comparison.diff", "DiffReport"),
    "wirespeed.doctor/1": ("wirespeed.diagnosis.report", "DoctorReport"),
    "wirespeed.expect/1": ("wirespeed.comparison.expect", "ExpectReport"),
    "wirespeed.faults/1": ("wirespeed.planning.faults", "FaultReport"),
    "wirespeed.scale/1": ("wirespeed.planning.scaling", "ScaleReport"),
    "wirespeed.topo/1": ("wirespeed.topology.report", "TopoReport"),
    "wirespeed.train/1": ("wirespeed.training.result", "StepForecast"),
    "wirespeed.validate/1": ("wirespeed.validation.report", "ValidationReport"),
    "wirespeed.validate_training/1": ("wirespeed.validation.training_report", "TrainingReport"),
}
"""Schema -> where its class is; loaded when such a file is."""


class _Head(msgspec.Struct):
    schema: str


def load(path: str | os.PathLike[str]) -> Result:
    """The result that a JSON file holds.

    Raises InputError where it cannot be read or is none of this package's results.
    """
    file = Path(path)
    try:
        text = file.read_bytes()
    except OSError as error:
        raise InputError("cannot be read", where=str(file), why=error.strerror or "") from error
    try:
        schema = msgspec.json.decode(text, type=_Head).schema
    except msgspec.DecodeError as error:
        raise _foreign(file, str(error)) from error
    if schema not in RESULTS:
        raise _foreign(file, f"its schema is {schema!r}; known: {', '.join(RESULTS)}")
    try:
        loaded = msgspec.json.decode(text, type=result_type(schema))
    except msgspec.DecodeError as error:
        raise _foreign(file, str(error)) from error
    return loaded


def result_type(schema: str) -> type[Result]:
    """The class of a schema."""
    module, name = RESULTS[schema]
    found: type[Result] = getattr(importlib.import_module(module), name)
    return found


def _foreign(file: Path, why: str) -> InputError:
    return InputError(
        "is not a result of wirespeed",
        where=str(file),
        why=why,
        remedy=f"write one with --json; this is version {__version__}",
    )
