"""ASTRA-sim's analytical network file: one list a property, one entry a dimension.

| subject | attributes |
|---|---|
| `network` | npus (the product of all dimensions), dimensions |
| `dimension 0` | topology (Ring, Switch, FullyConnected …), npus, bandwidth_GBps (of a link, one |
| | direction), latency_ns |

Remarks: `placeholder` (tbd, which ASTRA-sim refuses), `lengths-differ`.
"""

from __future__ import annotations

import re

from wirespeed.evidence import Evidence
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, whole
from wirespeed.readers._text import sure_lines

NAME = "astra-sim"

_KEYS = ("topology", "npus_count", "bandwidth", "latency")
_LINE = re.compile(r"\s*(topology|npus_count|bandwidth|latency)\s*:\s*\[([^\]\[]{0,2000})\]")
_SIGN = re.compile(r"^\s*npus_count\s*:\s*\[", re.MULTILINE)
_MOST = 64


def sniff(text: str) -> float:
    """1 where the list of sizes stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of a network; raises InputError where no list can be read."""
    found = Gathered()
    lists: dict[str, tuple[list[str], int]] = {}
    for line in sure_lines(text):
        if entry := _LINE.match(line.text):
            words = [word.strip().strip("\"'") for word in entry[2].split(",") if word.strip()]
            lists[entry[1]] = words[:_MOST], line.number
    for key, (words, number) in lists.items():
        for at, word in enumerate(words):
            _state(f"dimension {at}", key, word, number, found)
    lengths = {len(words) for words, _ in lists.values()}
    if len(lengths) > 1:
        said = "the lists differ in length: each needs one entry a dimension"
        found.note("lengths-differ", said, min(number for _, number in lists.values()))
    counts, first = lists.get("npus_count", ([], 0))
    sizes = [whole(word) for word in counts]
    if sizes and None not in sizes:
        total = 1
        for size in sizes:
            total *= size or 0
        found.add("network", "npus", total, first)
        found.add("network", "dimensions", len(sizes), first)
    return found.evidence(
        NAME,
        file,
        nothing="no list of a dimension can be read",
        remedy=f"give the lists {', '.join(_KEYS)}",
    )


def _state(subject: str, key: str, word: str, line: int, found: Gathered) -> None:
    if key == "topology":
        found.add(subject, "topology", word, line)
        return
    if key == "npus_count":
        number: float | None = whole(word)
        attribute = "npus"
    else:
        attribute = "bandwidth_GBps" if key == "bandwidth" else "latency_ns"
        try:
            number = float(word) if len(word) < 40 else None
        except ValueError:
            number = None
    if number is None or not 0 <= number < 1e18:
        said = f"{key} of {subject} is {word[:20]!r}, which is no number"
        found.note("placeholder", said, line)
        return
    found.add(subject, attribute, number, line)


FORMAT = Format(NAME, "ASTRA-sim's network file", sniff, read)
