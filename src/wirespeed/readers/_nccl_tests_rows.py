"""Rows of an nccl-tests table: which columns stand where, and what a line of them says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wirespeed.units import US

DTYPES = {
    "float": 4,
    "half": 2,
    "bfloat16": 2,
    "double": 8,
    "int8": 1,
    "uint8": 1,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "f8e4m3": 1,
    "f8e5m2": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "char": 1,
    "int": 4,
}
"""Bytes of an element, by the names that the tests print."""

_MEASURED = {"time": "time", "cputime": "time", "algbw": "algbw", "busbw": "busbw"}
_MEASURED |= {"error": "wrong", "#wrong": "wrong"}
_INTERVALS = ("i_min", "i_max", "i_p99", "i_cv%")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d\S*)?|\d\d:\d\d:\d\d(?:\.\d+)?")
_SIZE = re.compile(r"\d+(?:[_,]\d+)*")
_LONGEST_SIZE = 24
_NOTHING = ("n/a", "nan", "-nan", "-", "inf")
_PLACEHOLDER = re.compile(r"X+(?:\.X+)?", re.IGNORECASE)
DEVICE = re.compile(
    r"#\s+Rank\s+(\d{1,9})\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+(\d{1,9})\s+"
    r"\[([^\]]+)\]\s+(.+?)\s*$"
)
"""A line of the list of devices: rank, host, device, bus id, model."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table: those that describe a row, then those measured, in order."""

    lead: tuple[str, ...]
    measured: tuple[str, ...]


STOCK = Columns(("size", "count", "type", "redop", "root"), ("time", "algbw", "busbw", "wrong") * 2)
"""What tables without a header are taken for."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One group of measured columns: seconds and B/s; None where the table says N/A."""

    time: float | None
    algbw: float | None
    busbw: float | None
    wrong: float | None


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of a table. `readings` are out of place, then in place where that is there."""

    size: int
    count: int | None
    dtype: str | None
    redop: str | None
    root: int | None
    readings: tuple[Reading, ...]
    torn: bool


def header_columns(text: str) -> Columns | None:
    """The columns that a header line names; None where the line is no header."""
    words = text.replace("#wrong", " #wrong ").lstrip("# \t").lower().split()
    if "size" not in words or not {"time", "cputime"} & set(words) or "busbw" not in words:
        return None
    words = [word for word in words if word != "timestamp"]
    first = next(k for k, word in enumerate(words) if word in ("time", "cputime"))
    return Columns(tuple(words[:first]), tuple(_MEASURED.get(word, word) for word in words[first:]))


def is_placeholder(text: str) -> bool:
    """Whether a line is a row of a documentation template: a size and XXX.XX."""
    words = text.split()
    return bool(words) and _is_size(words[0]) and any(map(_PLACEHOLDER.fullmatch, words[1:]))


def table_row(text: str, columns: Columns | None) -> TableRow | None:
    """The row that a line holds; None where it is none.

    Without a header only lines with a type in their third column are rows.
    """
    words = [word for word in text.split() if not _STAMP.fullmatch(word)]
    if len(words) < 3 or not _is_size(words[0]):
        return None
    if columns is None or columns.lead != ("size",):
        if words[2].lower() not in DTYPES or not _is_size(words[1]):
            return None
        return _full_row(words, columns or STOCK)
    readings, torn = _readings(words[1:], columns.measured)
    return TableRow(_size(words[0]), None, None, None, None, readings, torn) if readings else None


def _full_row(words: list[str], columns: Columns) -> TableRow | None:
    rest = words[3:]
    redop = root = None
    # Old alltoall tables leave the operator blank; broadcasts have none.
    if rest and re.fullmatch(r"[a-z]\w*", rest[0], re.IGNORECASE) and _number(rest[0]) is None:
        if rest[0].lower() not in _NOTHING:
            redop = rest[0].lower()
        rest = rest[1:]
    if "root" in columns.lead and rest and re.fullmatch(r"-?\d{1,9}", rest[0]):
        root, rest = int(rest[0]), rest[1:]
    measured = columns.measured
    if columns is STOCK and len(rest) >= 16:
        measured = (("time", "algbw", "busbw", *_INTERVALS, "wrong")) * 2
    readings, torn = _readings(rest, measured)
    if not readings:
        return None
    return TableRow(_size(words[0]), _size(words[1]), words[2].lower(), redop, root, readings, torn)


def _readings(words: list[str], measured: tuple[str, ...]) -> tuple[tuple[Reading, ...], bool]:
    """Complete groups, and whether the line ends within one."""
    starts = [k for k, name in enumerate(measured) if name == "time"]
    ends = [*starts[1:], len(measured)]
    found = []
    for start, end in zip(starts, ends, strict=True):
        names = dict(zip(measured[start:end], words[start:end], strict=False))
        if not {"time", "algbw", "busbw"} <= set(names):
            break
        values = {name: _number(word) for name, word in names.items()}
        if any(
            values[name] is None and names[name].lower() not in _NOTHING
            for name in ("time", "algbw", "busbw")
        ):
            break
        found.append(
            Reading(
                _scaled(values["time"], US),
                _scaled(values["algbw"], 1e9),
                _scaled(values["busbw"], 1e9),
                values.get("wrong"),
            )
        )
    return tuple(found), len(words) < len(measured)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def _is_size(word: str) -> bool:
    return len(word) <= _LONGEST_SIZE and bool(_SIZE.fullmatch(word))


def _size(word: str) -> int:
    return int(word.replace("_", "").replace(",", ""))
