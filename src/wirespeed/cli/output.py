"""What a verb prints: a result as JSON or as tables."""

from __future__ import annotations

import sys

from wirespeed.topology.result import Result, to_json
from wirespeed.views import document
from wirespeed.views.terminal import write


def show(result: Result, *, json: bool) -> None:
    """Print a result on standard output."""
    if json:
        print(to_json(result).decode())
    else:
        write(document(result), sys.stdout)
