"""parse_counts: LIST as options write it."""

from __future__ import annotations

from wirespeed.errors import UsageError


def parse_counts(text: str, where: str = "--nodes") -> list[int]:
    """Numbers of "1,2,4", "1:16" (doubling) or "2:18:x3" (that factor), in that order, each once.

    Raises UsageError for anything else, zero included.
    """
    counts: dict[int, None] = {}
    for part in text.split(","):
        first, *rest = (piece.strip() for piece in part.split(":"))
        count = _number(text, first, where)
        if not rest:
            counts[count] = None
            continue
        last = _number(text, rest[0], where)
        factor = _number(text, rest[1].removeprefix("x"), where) if len(rest) > 1 else 2
        if len(rest) > 2 or last < count or factor < 2:
            raise _unreadable(text, f"{part!r} is no range: FROM:TO or FROM:TO:xF, rising", where)
        while count <= last:
            counts[count] = None
            count *= factor
    return list(counts)


def one_count(text: str, where: str = "--nodes") -> int:
    """The one number that a text holds; UsageError for a list."""
    counts = parse_counts(text, where)
    if len(counts) > 1:
        raise _unreadable(text, "one number is needed here", where)
    return counts[0]


def _number(text: str, part: str, where: str) -> int:
    if not (part.isascii() and part.isdecimal()):
        raise _unreadable(text, f"{part!r} is not a whole number", where)
    if len(part) > _DIGITS or not 1 <= int(part) <= _MOST:
        raise _unreadable(text, f"numbers run from 1 to {_MOST:,}", where)
    return int(part)


def _unreadable(text: str, why: str, where: str) -> UsageError:
    return UsageError(
        f"{text!r} cannot be used",
        where=where,
        why=why,
        remedy="write for example 16, a list 1,2,16 or a range 1:64 (doubling) or 2:18:x3",
    )


_MOST = 65_536
"""Nodes of the largest default fabric: 65,536 ports a rail."""
_DIGITS = 20
"""So many are read, leading zeros included; Python refuses a few thousand."""
