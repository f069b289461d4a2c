"""Runs the command line inside the test's process."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from wirespeed.cli import main


class Done(NamedTuple):
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Command:
    """`run("topo", "dgx-h100")`."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> Done:
        status = main(words)
        return Done(status, *self._capsys.readouterr())
