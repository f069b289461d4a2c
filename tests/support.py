"""What tests share: where the corpus of other people's files lies."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(*parts: str) -> Path:
    """A path below ../shared, or a skip that says why."""
    if not SHARED.is_dir():
        # A linked work tree lies one folder deeper than a clone.
        for parent in Path(__file__).resolve().parents[3:5]:
            if (parent / "shared" / "DESIGN.md").is_file():
                return parent.joinpath("shared", *parts)
        pytest.skip("the corpus ../shared is not beside this checkout")
    return SHARED.joinpath(*parts)
