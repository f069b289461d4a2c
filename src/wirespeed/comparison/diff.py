"""DiffReport: two sweeps or two machines, before and after, and what is more than noise."""

from __future__ import annotations

from typing import Literal

import msgspec

from wirespeed.comparison.classes import SizeClass, size_class
from wirespeed.topology.result import Result

RowVerdict = Literal["same", "slower", "faster"]
Verdict = Literal["same", "slower", "faster", "mixed", "different"]

NOISE = {SizeClass.LARGE: 0.04, SizeClass.MIDDLE: 0.14, SizeClass.SMALL: 0.14}
"""By how much repeated runs of one machine differ in nine cases of ten.

Source: repeated sweeps differ by 1-4 % at large sizes and by 6-14 % below (NCCL 2.29.2, one node).
"""


class DiffRow(msgspec.Struct, frozen=True):
    """One size of one operation before and after [us]."""

    operation: str
    size_bytes: int
    in_place: bool
    before_us: float
    after_us: float
    change: float
    """Time after over time before, less 1."""
    noise: float
    """The change up to which two runs of one machine may differ."""
    before_busbw_GBps: float | None
    after_busbw_GBps: float | None
    verdict: RowVerdict


class Difference(msgspec.Struct, frozen=True):
    """Something that is otherwise: a part, a link, a path, a setting. Empty where it is not."""

    what: Literal["part", "link", "path", "setting", "oddity"]
    name: str
    before: str
    after: str


class DiffReport(Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.diff/1"):
    """What changed between two sweeps or two machines, and whether it is beyond noise."""

    kind: Literal["sweeps", "machines"]
    verdict: Verdict
    sentence: str
    before: str
    after: str
    rows: tuple[DiffRow, ...] = ()
    differences: tuple[Difference, ...] = ()


def noise_at(size: int) -> float:
    """The noise of a message of `size` [B]."""
    return NOISE[size_class(size)]
