"""What can go wrong, for one catch or for many.

WirespeedError            every error that this package raises on purpose
├── UsageError            an option or argument that has no meaning
├── InputError            a file or text that cannot be read
├── UnknownName           a name that nothing here bears: a preset, a GPU, an address
└── Infeasible            understood, but it cannot be built or run

Each says what is wrong, where (file, line or key), why, and what to do about it. Anything else that
reaches a user is a bug.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

_SHOWN = 24
"""Names that a message lists; of more it says how many, and what lists them."""


def first_of(names: Sequence[str], most: int, between: str = ", ") -> str:
    """The first names of a list as a sentence bears them, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{between.join(names[:most])}{more}"


class WirespeedError(Exception):
    """Base of all expected errors; the command line prints it and exits with status 2."""

    def __init__(self, what: str, *, where: str = "", why: str = "", remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.why = why
        self.remedy = remedy

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return "\n".join([head, *(f"  {line}" for line in (self.why, self.remedy) if line)])


class UsageError(WirespeedError):
    """An option or argument that has no meaning."""


class InputError(WirespeedError):
    """A file or text that cannot be read."""


class UnknownName(WirespeedError):
    """A name that nothing here bears; the message offers the nearest ones.

    `see` is the command that lists all.
    """

    def __init__(
        self, kind: str, name: str, known: Iterable[str], *, where: str = "", see: str = ""
    ) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
        listed = f"known: {first_of(names, _SHOWN)}{see and f': {see}'}"
        remedy = f"did you mean {' or '.join(near)}?" if near else listed
        super().__init__(f"there is no {kind} {name!r}", where=where, remedy=remedy)


class Infeasible(WirespeedError):
    """Understood, but it cannot be built or run, such as a fabric with too few ports."""


class Problems(InputError):
    """All that is wrong with one file that a person wrote, at once."""

    def __init__(self, file: str, problems: Iterable[WirespeedError]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{len(self.problems)} problems", where=file)

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return str(self.problems[0])
        return "\n".join([f"{self.where}: {self.what}", *map(str, self.problems)])
