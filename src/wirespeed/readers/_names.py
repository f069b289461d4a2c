"""hosts_in: whose a paste is, by the prompts and the prefixes of its lines."""

from __future__ import annotations

from wirespeed.errors import InputError
from wirespeed.readers._prefixes import unwrapped
from wirespeed.readers._prompts import Piece, marked_hosts
from wirespeed.readers._text import raw_lines
from wirespeed.readers.hostlist import expand_hosts


def hosts_in(text: str) -> set[str]:
    """Host names that prompts, heads and prefixes of a text bear; lists also name by name."""
    lines = raw_lines(text)
    whole = Piece(lines, list(range(1, len(lines) + 1)))
    found = marked_hosts(lines)
    for without in unwrapped(whole):
        found |= marked_hosts(without.whole.lines)
        if without.kind == "host":
            found |= {part.host for part in without.parts}
    return {name for host in found if host for name in (host, *_each(host))}


def _each(host: str) -> list[str]:
    try:
        return expand_hosts(host)
    except InputError:
        return []
