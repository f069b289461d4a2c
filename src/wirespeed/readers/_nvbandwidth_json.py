"""nvbandwidth's JSON: the same tests as its text; numbers are strings, missing cells N/A."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from wirespeed.readers._gathered import Gathered
from wirespeed.readers._nvbandwidth_matrix import bus_id, matrix_of, state

_DEVICE = re.compile(r"\s*(\d{1,3}): (.{1,120}?) \(([0-9A-Fa-f:.]{4,24})\)")
_HEAD = {"Driver Version": "driver", "CUDA Runtime Version": "cuda_runtime", "version": "version"}


def document(text: str) -> dict[str, Any] | None:
    """The tool's object in a JSON text, what stands around it aside; None for plain text."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or '"nvbandwidth"' not in text:
        return None
    try:
        found = msgspec.json.decode(text[start : end + 1].encode())
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    inner = found.get("nvbandwidth") if isinstance(found, dict) else None
    return inner if isinstance(inner, dict) else None


def read(found_in: dict[str, Any], found: Gathered, file: str) -> None:
    """States everything; lines are unknown, so 0."""
    for key, attribute in _HEAD.items():
        if isinstance(value := found_in.get(key), str | int):
            found.add("nvbandwidth", attribute, str(value), 0)
    for text in _listed(found_in.get("GPU Device list")):
        if isinstance(text, str) and (device := _DEVICE.match(text)):
            found.add(f"gpu{int(device[1])}", "index", int(device[1]), 0)
            found.add(f"gpu{int(device[1])}", "model", device[2], 0)
            found.add(f"gpu{int(device[1])}", "bus_id", bus_id(device[3]), 0)
    for case in _listed(found_in.get("testcases")):
        if not isinstance(case, dict) or not isinstance(name := case.get("name"), str):
            continue
        _read_case(name, case, found)
        matrix = matrix_of(name, str(case.get("bandwidth_description", "")), 0)
        if matrix is None:
            continue
        for row, cells in enumerate(_listed(case.get("bandwidth_matrix"))):
            for column, cell in enumerate(_listed(cells)):
                if (value := _number(cell)) is not None:
                    state(matrix, (row, column), value, 0, found, file)


def _read_case(name: str, case: dict[str, Any], found: Gathered) -> None:
    if isinstance(status := case.get("status"), str):
        found.add(f"test {name}", "status", status.lower(), 0)
    if (total := _number(case.get("sum"))) is not None:
        found.add(f"test {name}", "sum", total, 0)
    if isinstance(error := case.get("error"), str):
        found.add(f"test {name}", "error", error, 0)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: object) -> float | None:
    """A finite number, also one that is written as a string."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e12 else None
