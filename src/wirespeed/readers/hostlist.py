"""Slurm's host lists: node[1-3,07],rack2 to names and back to a count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from wirespeed.errors import InputError

MOST_HOSTS = 200_000
_PART = re.compile(r"[^,\[\]]*(?:\[[^\[\]]*\][^,\[\]]*)*")
_PIECE = re.compile(r"\[([^\[\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def split_hosts(text: str) -> list[str]:
    """The parts of a list between commas that stand outside of brackets.

    Raises InputError where a bracket has no partner.
    """
    parts = [part for part in _PART.findall(text) if part]
    if any(sum(part.count(sign) for part in parts) != text.count(sign) for sign in "[]"):
        raise _wrong(text, "a bracket is not closed")
    return parts


def expand_hosts(text: str) -> list[str]:
    """The names of a list, in its order.

    Raises InputError where brackets do not hold rising ranges, or for more than 200,000 names.
    """
    if count_hosts(text) > MOST_HOSTS:
        raise _wrong(text, f"it names more than {MOST_HOSTS} hosts")
    names: list[str] = []
    for part in split_hosts(text.strip()):
        choices = [list(_choices(piece)) for piece in _pieces(part)]
        names += ["".join(words) for words in product(*choices)]
    return names


def count_hosts(text: str) -> int:
    """How many names a list has; InputError where brackets do not hold rising ranges."""
    total = 0
    for part in split_hosts(text.strip()):
        count = 1
        for piece in _pieces(part):
            if piece[1] is not None:
                count *= sum(high - low + 1 for low, high, _ in _ranges(piece))
        total += count
    return total


def _pieces(part: str) -> list[re.Match[str]]:
    return list(_PIECE.finditer(part))


def _choices(piece: re.Match[str]) -> Iterator[str]:
    if piece[1] is None:
        yield piece[2]
        return
    for low, high, digits in _ranges(piece):
        for number in range(low, high + 1):
            yield str(number).zfill(digits)


def _ranges(piece: re.Match[str]) -> Iterator[tuple[int, int, int]]:
    """First, last and the digits that they are written with."""
    for word in piece[1].split(","):
        numbers = _RANGE.fullmatch(word.strip())
        if not numbers:
            raise _wrong(piece[0], f"{word[:20]!r} is no number and no range")
        low, high = int(numbers[1]), int(numbers[2] or numbers[1])
        if high < low:
            raise _wrong(piece[0], f"the range {word[:20]} is empty")
        yield low, high, len(numbers[1])


def _wrong(text: str, why: str) -> InputError:
    return InputError(
        "this is no list of hosts",
        where=text[:60] or "a list of hosts",
        why=why,
        remedy="write node[1-3,7] as Slurm does",
    )
