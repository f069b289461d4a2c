"""Baselines: a table of groups of an earlier run, and what has become worse since."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from wirespeed.errors import InputError
from wirespeed.validation.groups import Group

ALLOWED = 0.01
"""By how much a group's median may worsen: one point."""


class Worsened(msgspec.Struct, frozen=True):
    """A group whose median error grew by more than is allowed, or that has lost its rows."""

    group: str
    before: float
    now: float | None
    """None where the group is no longer there."""

    def __str__(self) -> str:
        if self.now is None:
            return f"{self.group}: was {self.before:.1%}, has no rows any more"
        return f"{self.group}: median error {self.now:.1%}, was {self.before:.1%}"


class _Saved(msgspec.Struct):
    groups: tuple[Group, ...]


def read_baseline(data: bytes, *, file: str) -> tuple[Group, ...]:
    """The groups of a report that was saved as JSON; InputError for anything else."""
    try:
        return msgspec.json.decode(data, type=_Saved).groups
    except msgspec.DecodeError as error:
        raise no_baseline(file, str(error)) from None


def no_baseline(file: str, why: str) -> InputError:
    """The error for a file that holds no groups."""
    return InputError(
        "this is no baseline",
        where=file,
        why=why,
        remedy="save one with `wirespeed validate FILE --json`",
    )


def worsened(before: Iterable[Group], now: Iterable[Group]) -> list[Worsened]:
    """Groups of a baseline that got worse, the largest loss first."""
    current = {name_of(group): group for group in now}
    found = [entry for group in before if (entry := _compared(group, current)) is not None]
    return sorted(found, key=lambda entry: entry.before - (entry.now or float("inf")))


def _compared(group: Group, current: Mapping[str, Group]) -> Worsened | None:
    name = name_of(group)
    latest = current.get(name)
    if latest is None:
        return Worsened(name, group.median, None)
    if latest.median <= group.median + ALLOWED:
        return None
    return Worsened(name, group.median, latest.median)


def name_of(group: Group) -> str:
    """The class of a group in words: nvswitch, all_reduce, >16M, Hopper."""
    words = (group.platform, group.operation, group.size_class, group.generation, group.folds)
    said = [word for word in words if word != "all"]
    return ", ".join(said) or "all"
