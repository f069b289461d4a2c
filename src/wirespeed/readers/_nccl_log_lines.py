"""Lines of a library's log: who said it, how loud, and what.

`host:pid:tid [device] NCCL INFO text`, with a file and line before WARN, a time before the host,
and what launchers put in front of all. Lines of ranks are interleaved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from wirespeed.readers._text import Line

_LONGEST = 4096

_TIME = r"(?:\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[^\]\s]*\]?\s+)?"
_RAY = re.compile(r"^\s*(?:\([A-Za-z_]+ pid=\d+[^)]*\)\s*)?(?:\[[^\]]*rank\s*\d+\]:?\s*)?")
_SAID = re.compile(
    rf"{_TIME}(?:(?P<host>[A-Za-z0-9_.-]+):(?P<pid>\d+):(?P<tid>\d+)\s+)?"
    rf"{_TIME}(?:\[(?P<device>\d+)\]\s+)?{_TIME}"
    r"(?:(?P<place>[\w./+-]+\.(?:cc?|cpp|h|hpp|cu)):\d+\s+)?"
    r"(?P<library>NCCL|RCCL)\s+(?P<level>INFO|WARN|TRACE)\s*(?P<text>.*)$"
)


@dataclass(frozen=True, slots=True)
class Said:
    """One line of the library."""

    number: int
    host: str
    """Empty where the line does not say."""
    process: str
    device: int | None
    level: str
    place: str
    """The source file that warned."""
    text: str


def said(lines: list[Line]) -> Iterator[Said]:
    """The library's lines of a text, in order."""
    for line in lines:
        if len(line.text) > _LONGEST or "CCL" not in line.text:
            continue
        rest = _RAY.sub("", line.text, count=1)
        match = _SAID.match(rest.lstrip())
        if match is None:
            continue
        yield Said(
            number=line.number,
            host=match["host"] or "",
            process=match["pid"] or "",
            device=None if match["device"] is None else int(match["device"]),
            level=match["level"],
            place=match["place"] or "",
            text=match["text"].strip(),
        )
