"""Keys: a configuration whose values are asked for by type, with all that is wrong at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wirespeed.errors import InputError, Problems, WirespeedError


class Keys:
    """A mapping read by alternatives: the first of several names that is there counts.

    What is missing or of a wrong kind is noted, a stand-in lets the rest be read, and
    `raise_problems` says it all.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where
        self.problems: list[WirespeedError] = []

    def get(self, *names: str) -> Any:
        """The first value that is there and not null; None where there is none."""
        return next((v for n in names if (v := self.values.get(n)) is not None), None)

    def count(self, *names: str, default: int | None = None, most: float = 1e10) -> int:
        """A positive whole number up to `most`; required without a default."""
        value = self.get(*names)
        if value is None:
            if default is not None:
                return default
            self._note(f"{names[0]} is missing", "a model is not known without it")
            return 1
        if isinstance(value, bool) or not isinstance(value, int | float) or not _whole(value, most):
            why = f"a positive whole number up to {most:,.0f} is expected"
            self._note(f"{names[0]} is {value!r}", why)
            return 1
        return int(value)

    def layers(self, *names: str) -> int:
        """The number of layers, within what a model can have."""
        return self.count(*names, most=10_000)

    def number(self, *names: str, default: float) -> float:
        """A number of at least zero."""
        value = self.get(*names)
        if value is None:
            return default
        # The comparison is false for NaN.
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e18:
            self._note(f"{names[0]} is {value!r}", "a number of at least zero is expected")
            return default
        return float(value)

    def flag(self, *names: str, default: bool) -> bool:
        """True or false."""
        value = self.get(*names)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._note(f"{names[0]} is {value!r}", "true or false is expected")
            return default
        return value

    def table(self, name: str) -> Keys:
        """A table below; empty where there is none. Its problems are noted here."""
        value = self.get(name)
        below = Keys(value if isinstance(value, Mapping) else {}, f"{self.where}: {name}")
        below.problems = self.problems
        return below

    def complain(self, what: str, why: str, remedy: str = "") -> None:
        """Note what is wrong with the configuration as a whole."""
        self.problems.append(InputError(what, where=self.where, why=why, remedy=remedy))

    def raise_problems(self) -> None:
        """Raise all that was noted, if anything was."""
        if self.problems:
            raise Problems(self.where, self.problems)

    def _note(self, what: str, why: str) -> None:
        self.problems.append(InputError(what, where=self.where, why=why))


def _whole(value: float, most: float) -> bool:
    return 0 < value <= most and float(value).is_integer()
