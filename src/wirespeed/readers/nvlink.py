"""`nvidia-smi nvlink -s` and `-e`: which NVLinks of each GPU are up, and their error counters.

| subject | attributes |
|---|---|
| `gpu0` | index, model, nvlinks, nvlinks_active (both only where no line is left out) |
| `gpu0 link3` | state (up or inactive), rate_GBps (raw signalling rate of one direction), and the |
| | counters by their printed names: replay_errors, recovery_errors, crc_errors … |

Remarks: `lines-left-out`, `links-cut` (the last GPU's list breaks off).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from wirespeed.evidence import Evidence
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, is_ellipsis, slug, whole
from wirespeed.readers._text import Line, sure_lines

NAME = "nvlink"

LINK_LINE = re.compile(
    r"^[^\n]{0,40}?\bLink (\d{1,2}): (?:(\d+(?:\.\d+)?) GB/s|<?(inactive)>?|"
    r"([A-Za-z][A-Za-z0-9 _/-]{1,60}?)\s*: *(\S{1,40}))",
    re.MULTILINE | re.IGNORECASE,
)
_GPU = re.compile(r"\s*GPU (\d{1,3}): (.+?)\s*(?:\(UUID.*)?$")
_ALL_INACTIVE = re.compile(r"all links are in-?active", re.IGNORECASE)


@dataclass(slots=True)
class _Gpu:
    """One GPU's list. `whole` is False where a line of it is left out."""

    name: str
    line: int
    links: dict[int, bool] = field(default_factory=dict)
    whole: bool = True


def sniff(text: str) -> float:
    """1 where a line gives the state or a counter of a link."""
    return float(bool(LINK_LINE.search(text) or _ALL_INACTIVE.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of both outputs; raises InputError where no link stands below a GPU."""
    found = Gathered()
    lines = sure_lines(text)
    for gpu in _gpus(lines, found):
        if gpu.links and gpu.whole and sorted(gpu.links) == list(range(len(gpu.links))):
            found.add(gpu.name, "nvlinks", len(gpu.links), gpu.line)
            found.add(gpu.name, "nvlinks_active", sum(gpu.links.values()), gpu.line)
    return found.evidence(
        NAME,
        file,
        nothing="no line of a link stands below a line of a GPU",
        remedy="give the whole output of `nvidia-smi nvlink -s`",
    )


def _gpus(lines: list[Line], found: Gathered) -> Iterator[_Gpu]:
    """The GPUs with their links; links that are listed twice (-s, then -e) count once."""
    gpus: dict[str, _Gpu] = {}
    gpu: _Gpu | None = None
    for line in lines:
        if head := _GPU.match(line.text):
            gpu = gpus.setdefault(f"gpu{int(head[1])}", _Gpu(f"gpu{int(head[1])}", line.number))
            found.add(gpu.name, "index", int(head[1]), line.number)
            if not (line.ends_text and "(UUID" not in line.text):
                found.add(gpu.name, "model", head[2].partition(" (UUID")[0], line.number)
        elif link := LINK_LINE.match(line.text):
            _read_link(link, line, gpu, found)
        elif gpu and _ALL_INACTIVE.search(line.text):
            found.add(gpu.name, "nvlinks_active", 0, line.number)
        elif is_ellipsis(line.text):
            found.left_out(line.text, line.number)
            if gpu:
                gpu.whole = False
    if gpu and not gpu.links:
        text = f"the list breaks off at {gpu.name}: nothing is said of its links"
        found.note("links-cut", text, gpu.line)
    elif gpu and len(gpu.links) < max((len(g.links) for g in gpus.values()), default=0):
        found.note("links-cut", f"the list of {gpu.name} may be cut", gpu.line)
        gpu.whole = False
    yield from gpus.values()


def _read_link(link: re.Match[str], line: Line, gpu: _Gpu | None, found: Gathered) -> None:
    if gpu is None:
        found.left_out(line.text, line.number)
        return
    number, rate, inactive, counter, value = link.groups()
    subject = f"{gpu.name} link{int(number)}"
    if counter:
        found.add(
            subject, slug(counter), whole(value) if whole(value) is not None else value, line.number
        )
        return
    gpu.links[int(number)] = not inactive
    found.add(subject, "state", "inactive" if inactive else "up", line.number)
    if rate:
        found.add(subject, "rate_GBps", float(rate), line.number)


FORMAT = Format(NAME, "`nvidia-smi nvlink -s` or `-e`", sniff, read)
