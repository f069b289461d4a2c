"""The header line of a topology matrix: devices in order, then the fields behind them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wirespeed.readers._matrix_words import Name, is_word, match_name, split_cells
from wirespeed.readers._text import Line

CPU, NUMA, GPU_NUMA = "cpu_affinity", "numa", "gpu_numa_id"
FIELDS = (CPU, NUMA, GPU_NUMA)
"""Columns behind the devices, in the order in which all drivers print them."""

# Drivers print one blank inside; re-spacing has been seen to widen it.
_FIELD = re.compile(r"(?P<cpu_affinity>CPU\s*Affinity)|(?P<numa>NUMA\s*Affinity)|(GPU\s*NUMA\s*ID)")
_FIELD_STUMP = re.compile(r"CPU(\s+A\w*)?$|NUM?A?(\s+A\w*)?$|GPU\s+N\w*(\s+I)?$")
_SPACE = re.compile(r"\s*")
_TOKEN = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Header:
    """What one header line names. A name is None where its word cannot be read."""

    line: int
    names: tuple[Name | None, ...]
    fields: tuple[str, ...]
    glued: bool
    """Names stand without a blank between them."""
    cut_at: int | None
    """Column (from 1) of the word in which the line breaks off, or None."""
    unread: tuple[str, ...]


def read_header(line: Line) -> Header | None:
    """The header that this line is, or None for any other line."""
    names: list[Name | None] = []
    fields: list[str] = []
    unread: list[str] = []
    text, at, glued, cut_at = line.text, 0, False, None
    while (start := _SPACE.match(text, at).end()) < len(text):  # type: ignore[union-attr]
        if field := _FIELD.match(text, start):
            fields.append(field.lastgroup or GPU_NUMA)
            at = field.end()
        elif _FIELD_STUMP.match(text, start):
            cut_at, at = start + 1, len(text)
        elif not fields and (found := match_name(text, start)):
            glued |= start == at and bool(names)
            names.append(found[0])
            at = found[1]
        else:
            token = _TOKEN.match(text, start)[0]  # type: ignore[index]
            if all(map(is_word, split_cells(token))):
                return None
            at = start + len(token)
            unread.append(token)
            if at == len(text.rstrip()):
                cut_at = start + 1
            elif not fields:
                names.append(None)
    header = Header(line.number, tuple(names), tuple(fields), glued, cut_at, tuple(unread))
    return header if _is_plausible(header, text) else None


def _is_plausible(header: Header, text: str) -> bool:
    known = [name for name in header.names if name]
    prefixes = {name.prefix for name in known if name.is_gpu}
    if len(prefixes) > 1 or len(header.unread) > max(1, (len(known) + len(header.unread)) // 4):
        return False
    if header.fields:
        return bool(known) or not header.unread
    if not prefixes:
        return False
    # One name alone is a row that was cut behind its name, unless it is set off as headers are.
    return len(known) > 1 or text[:1].isspace()
