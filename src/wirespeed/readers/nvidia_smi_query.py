"""`nvidia-smi -L` and `nvidia-smi --query-gpu=… --format=csv`: which GPUs a host has.

Facts: `gpu0` index, model, bus_id (0000:1b:00.0), memory_MiB, pcie_gen_current, pcie_gen_max,
pcie_width_current, pcie_width_max, and mig_instances (from -L). UUIDs and serial numbers are not
kept. A GPU without an index column is numbered by its line, and its index is inferred.

Remarks: `lines-left-out` (an ellipsis or a row that does not fit the header), `pcie-idle` (the link
runs below its maximum, as idle links do), `gpu-lost` (a GPU that answers with an error).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Fact, Remark
from wirespeed.readers import nvlink
from wirespeed.readers._format import Format
from wirespeed.readers._text import Line, clean_lines

NAME = "nvidia-smi-query"

_MOST_FACTS = 8192
_LONGEST_LINE = 4096
_HINT = re.compile(r"GPU \d|MIG |name|bus_id|memory\.total|pcie\.link")

_LISTED = re.compile(r"\s*GPU (\d{1,3}): (.+?)\s*(?:\(UUID: [^)]*\)?)?\s*$")
_MIG = re.compile(r"\s+MIG (\S+)\s+Device\s+\d+:")
_PROPERTY = re.compile(r"([a-z_][a-z0-9_.]*)(?: \[(\w+)\])?")
_BUS_ID = re.compile(r"([0-9a-f]{4}|[0-9a-f]{8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])", re.IGNORECASE)
_WHOLE = re.compile(r"(\d{1,9})(?: (?:MiB|%))?")
_ABSENT = re.compile(r"\[?(?:N/?A|Not Supported|Not Active|Insufficient Permissions)\]?")
_ERROR = re.compile(r"\[(?:Unknown Error|GPU is lost|GPU requires reset)[^\]]*\]", re.IGNORECASE)

# nvidia-smi prints its own name of a property, whichever alias was asked for.
_ATTRIBUTES = {
    "name": "model",
    "gpu_name": "model",
    "pci.bus_id": "bus_id",
    "gpu_bus_id": "bus_id",
    "memory.total": "memory_MiB",
    "pcie.link.gen.current": "pcie_gen_current",
    "pcie.link.gen.gpucurrent": "pcie_gen_current",
    "pcie.link.gen.max": "pcie_gen_max",
    "pcie.link.width.current": "pcie_width_current",
    "pcie.link.width.max": "pcie_width_max",
}
_OTHERS = (
    *("index", "timestamp", "driver_version", "count", "uuid", "gpu_uuid", "serial", "gpu_serial"),
    *("vbios_version", "persistence_mode", "compute_cap", "compute_mode", "mig.mode.current"),
    *("memory.used", "memory.free", "utilization.gpu", "utilization.memory", "pstate"),
    *("temperature.gpu", "power.draw", "power.limit"),
)


@dataclass(slots=True)
class _Found:
    facts: list[Fact] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)


def sniff(text: str) -> float:
    """1 where a line lists a GPU or is a header of query properties.

    The lists of `nvidia-smi nvlink` name GPUs too, and have a reader of their own.
    """
    lines = [line for line in clean_lines(text) if _HINT.search(line.text)]
    named = not nvlink.sniff(text) and any(_LISTED.match(line.text) for line in lines)
    return float(named or any(_read_header(line.text) for line in lines))


def read(text: str, file: str) -> Evidence:
    """Evidence of both outputs; raises InputError where a header has no rows."""
    lines = clean_lines(text)
    found = _Found()
    _read_list([line for line in lines if _HINT.search(line.text)], len(lines), found)
    headers = [at for at, line in enumerate(lines) if _read_header(line.text)]
    for at, end in pairwise([*headers, len(lines)]):
        _read_table(lines[at:end], found)
    if len(found.facts) > _MOST_FACTS:
        raise InputError(
            f"{len(found.facts)} statements on GPUs are too many for one host",
            where=file,
            why="one text is read as one host's",
            remedy="give the output of one host",
        )
    if not found.facts:
        raise InputError(
            "no GPU is listed",
            where=f"{file}:{lines[headers[0]].number}" if headers else file,
            why="a header of `nvidia-smi --query-gpu` has no row that fits below it",
            remedy="paste the whole output, with `--format=csv`",
        )
    return Evidence(NAME, file, tuple(dict.fromkeys(found.facts)), tuple(found.remarks))


def _read_list(lines: Sequence[Line], last: int, found: _Found) -> None:
    instances: dict[str, list[int]] = {}
    subject = ""
    for line in lines:
        if gpu := _LISTED.match(line.text):
            subject = f"gpu{int(gpu[1])}"
            # A listing that breaks off inside the name is told by its missing UUID.
            if line.number == last and "(UUID" not in line.text:
                text = f"the listing breaks off in {line.text.strip()!r}, which is left out"
                found.remarks.append(Remark("lines-left-out", text, line.number))
                continue
            model = gpu[2].partition(" (UUID")[0]
            found.facts.append(Fact(subject, "index", int(gpu[1]), line.number))
            found.facts.append(Fact(subject, "model", model, line.number))
        elif subject and _MIG.match(line.text):
            instances.setdefault(subject, []).append(line.number)
    for name, where in instances.items():
        found.facts.append(Fact(name, "mig_instances", len(where), where[0]))


def _read_header(text: str) -> tuple[str, ...] | None:
    """The properties of a CSV header, or None for any other line."""
    if len(text) > _LONGEST_LINE or not _HINT.search(text):
        return None
    names = [part.strip() for part in text.split(",")]
    found = [_PROPERTY.fullmatch(name) for name in names]
    properties = tuple(match[1] if match else "" for match in found)
    known = [name for name in properties if name in _ATTRIBUTES or name in _OTHERS]
    useful = any(name in _ATTRIBUTES for name in known)
    # One word may be prose; "name" alone above GPU names is a real but rare header.
    plausible = len(known) * 2 > len(names) and (len(names) > 1 or "." in names[0])
    return properties if useful and plausible else None


def _read_table(lines: Sequence[Line], found: _Found) -> None:
    properties = _read_header(lines[0].text) or ()
    count = 0
    for line in lines[1:]:
        if not line.text.strip():
            if count:
                return
            continue
        values = [value.strip() for value in line.text.split(",")]
        if len(values) != len(properties):
            if not line.text.strip().startswith(("`", "$", "#")):
                text = f"{line.text.strip()[:60]!r} does not fit the header and is left out"
                found.remarks.append(Remark("lines-left-out", text, line.number))
            continue
        _read_row(dict(zip(properties, values, strict=True)), count, line, found)
        count += 1


def _read_row(values: dict[str, str], count: int, line: Line, found: _Found) -> None:
    printed = values.get("index", "")
    index = int(printed) if printed.isdecimal() and len(printed) < 4 else count
    subject = f"gpu{index}"
    if lost := next(filter(_ERROR.fullmatch, values.values()), None):
        text = f"{subject} answers {lost}"
        found.remarks.append(Remark("gpu-lost", text, line.number))
    found.facts.append(Fact(subject, "index", index, line.number, inferred="index" not in values))
    read: dict[str, str | int] = {}
    for name, text in values.items():
        attribute = _ATTRIBUTES.get(name)
        if attribute is None or _ABSENT.fullmatch(text) or _ERROR.fullmatch(text):
            continue
        value = _READERS.get(attribute, _whole)(text)
        if value is None:
            note = f"{text[:60]!r} is no {name}"
            found.remarks.append(Remark("lines-left-out", note, line.number))
            continue
        read[attribute] = value
        found.facts.append(Fact(subject, attribute, value, line.number))
    for what in ("pcie_gen", "pcie_width"):
        now, most = read.get(f"{what}_current"), read.get(f"{what}_max")
        if isinstance(now, int) and isinstance(most, int) and now < most:
            text = f"{subject} {what} is {now} of {most}; an idle GPU may save power so"
            found.remarks.append(Remark("pcie-idle", text, line.number))


def _whole(text: str) -> str | int | None:
    match = _WHOLE.fullmatch(text)
    return int(match[1]) if match else None


def _bus_id(text: str) -> str | int | None:
    """0000:1b:00.0 of 00000000:1B:00.0; a domain above 16 bits keeps its eight digits."""
    match = _BUS_ID.fullmatch(text)
    if not match:
        return None
    domain = match[1].lower()
    if len(domain) == 8 and domain.startswith("0000"):
        domain = domain[4:]
    return f"{domain}:{match[2].lower()}"


def _model(text: str) -> str | int | None:
    return text or None


_READERS: dict[str, Callable[[str], str | int | None]] = {"model": _model, "bus_id": _bus_id}

FORMAT = Format(NAME, "`nvidia-smi -L` or `nvidia-smi --query-gpu=… --format=csv`", sniff, read)
