"""What a worked example is: lines of a sum, and the time that it ends in."""

from __future__ import annotations

from typing import NamedTuple

MS, US, GB = 1e-3, 1e-6, 1e9


class Line(NamedTuple):
    """What is worked out, how, and what comes out."""

    what: str
    sum: str
    result: str


class Worked(NamedTuple):
    """A sum as lines, and the time [s] that it ends in."""

    lines: tuple[Line, ...]
    time: float
