"""unwrapped: a text without what launchers and loggers put before each of its lines.

Time stamps; the host's name of parallel shells (`node-0: `, `[node-0] `, `node-0 | `,
`[pod/node-0/main] `); ranks (`0: `, `[1,0]<stdout>:`, `[rank0]:`,
`(Worker pid=7)`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from wirespeed.readers._prompts import Piece

_MOST_NAMES = 4096
_SHARE = 0.8
"""Part of the lines that a prefix has to stand before, to be taken for one."""
_REPEATED = 3
"""Lines of one name that no output of a tool has at its left edge."""

_STAMP = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?:?(?:[ \t]|$)|"
    r"\[\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\](?:[ \t]|$)|"
    r"\d\d:\d\d:\d\d[.,]\d{1,9}(?:[ \t]|$)"
)
_HOST = re.compile(
    r"\[pod/(?P<d>[A-Za-z][\w.-]{0,120})/[\w.-]{1,120}\] ?|"
    r"(?P<a>[A-Za-z][\w.-]{0,120}):(?: |$)|"
    r"\[(?P<b>(?!(?:rank|default|task)\d)[A-Za-z][\w.-]{0,120})\]:?(?: |$)|"
    r"(?P<c>[A-Za-z][\w.-]{0,120}) {0,20}\|(?: |$)"
)
_RANK = re.compile(
    r"\s{0,8}(?:\[\d+,(?P<a>\d+)\]<std(?:out|err)>: ?|(?P<b>\d+): |"
    r"\[(?:rank|default|task) ?(?P<c>\d+)\]:? ?|(?:rank|task) ?(?P<d>\d+): ?|"
    r"\([A-Za-z_]\w{0,60} (?:rank=\d+, )?pid=(?P<e>\d+)[^()]{0,60}\) ?)"
)


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """A text without a prefix: as one, and by who said it where the prefix tells."""

    kind: str
    whole: Piece
    parts: tuple[Piece, ...] = ()
    passed_over: bool = False
    """Whether every reader passes over such a prefix anyway."""


def unwrapped(piece: Piece) -> Iterator[Unwrapped]:
    """The piece without each kind of prefix that most of its lines have."""
    for kind, pattern in (("time", _STAMP), ("host", _HOST), ("rank", _RANK)):
        found = [pattern.match(line) for line in piece.lines]
        filled = sum(bool(line.strip()) for line in piece.lines)
        names = Counter(_name(match) for match in found if match)
        held = {name for name, count in names.items() if count >= _REPEATED or kind != "host"}
        counted = sum(names[name] for name in held)
        if counted < _REPEATED or counted < _SHARE * filled or len(held) > _MOST_NAMES:
            continue
        whole = Piece(host=piece.host, command=piece.command)
        parts: dict[str, Piece] = {}
        last = ""
        for line, number, match in zip(piece.lines, piece.numbers, found, strict=True):
            name = _name(match) if match else ""
            stripped = line[match.end() :] if match and name in held else line
            whole.add(stripped, number)
            # A line without a prefix goes on from the one before.
            last = name if name in held else last
            said = _who(kind, last, piece.host)
            parts.setdefault(last, Piece(host=said, command=piece.command)).add(stripped, number)
        told = tuple(parts.values()) if kind != "time" else ()
        plain = kind == "rank" and all(match is None or match["a"] or match["b"] for match in found)
        yield Unwrapped(kind, whole, told, plain)


def _name(match: re.Match[str]) -> str:
    return next((name for name in match.groupdict().values() if name is not None), "")


def _who(kind: str, name: str, host: str) -> str:
    if kind == "host":
        return name or host
    # Ranks name no host, and may share one; to keep them apart is all that can be done.
    return f"rank {name}" if kind == "rank" and name else host
