"""oddities_of: what looks wrong on the machine itself, one rule a function."""

from __future__ import annotations

from collections.abc import Iterable

from wirespeed.inventory.completed import Completed
from wirespeed.topology.software import Notice


def oddities_of(completed: Completed) -> Iterable[Notice]:
    """One notice for each thing that a person should look at on the machine."""
    yield from ()
