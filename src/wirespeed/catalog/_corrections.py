"""Wrong figures that many pages repeat, and what is right."""

from __future__ import annotations

from functools import cache
from typing import Literal

from wirespeed.catalog._table import Row, read

Mistake = Literal["direction", "bits-and-bytes", "lanes-and-links", "sparsity", "wrong-part"]


class Correction(Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One wrong figure."""

    mistake: Mistake
    claim: str
    correct: str
    why: str
    right_in: tuple[str, ...]
    """Rows that hold the right figures, as table/key."""
    found_at: str = ""
    """A page that tells it wrongly."""


@cache
def corrections() -> tuple[Correction, ...]:
    """All wrong figures."""
    return read("corrections.toml", "correction", Correction)
