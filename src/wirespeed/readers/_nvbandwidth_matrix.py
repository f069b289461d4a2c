"""A matrix of nvbandwidth: what a cell of it says, whichever way it was printed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wirespeed.readers._copies import copied
from wirespeed.readers._gathered import Gathered
from wirespeed.units import MIB

BUFFER = 512 * MIB
"""What a copy moves without `-b`. Source: nvbandwidth's README."""

_MATRIX = re.compile(
    r"\s*(?:memcpy|memory latency|\w+) (?:CE|SM) (?P<row>[CG]PU)\(row\) (?P<arrow><->|->|<-) "
    r"(?P<column>[CG]PU)\(column\) ?(?P<part>\w+\d?)? ?(?:bandwidth )?\((?P<unit>GB/s|ns|us)\)"
)
_BUS = re.compile(r"([0-9a-f]{4}|[0-9a-f]{8}):([0-9a-f]{2}:[0-9a-f]{2})(\.[0-7])?", re.IGNORECASE)


@dataclass(slots=True)
class Matrix:
    """A matrix of a test: what its rows and columns are, and the rows so far."""

    test: str
    row: str
    column: str
    arrow: str
    part: str
    unit: str
    line: int
    columns: list[int] = field(default_factory=list)


def matrix_of(test: str, description: str, line: int) -> Matrix | None:
    """The matrix that a line of description opens, or None."""
    head = _MATRIX.match(description)
    if not head:
        return None
    part = (head["part"] or "").lower()
    part = "" if part == "bandwidth" else part
    return Matrix(test, head["row"], head["column"], head["arrow"], part, head["unit"], line)


def bus_id(text: str) -> str | None:
    """0000:1b:00.0 of 00000000:1b:00 (the tool leaves the function out), or None."""
    bus = _BUS.fullmatch(text)
    if not bus:
        return None
    domain = bus[1].lower()
    domain = domain[4:] if len(domain) == 8 and domain.startswith("0000") else domain
    return f"{domain}:{bus[2].lower()}{bus[3] or '.0'}"


def state(
    matrix: Matrix, at: tuple[int, int], value: float, line: int, found: Gathered, file: str
) -> None:
    """States a cell, and measures it where it is one copy between two devices."""
    row, column = at
    if value <= 0 or (matrix.row == matrix.column and row == column):
        return
    a = "host" if matrix.row == "CPU" else f"gpu{row}"
    b = "host" if matrix.column == "CPU" else f"gpu{column}"
    turned = matrix.arrow == "<-" or matrix.test.startswith("device_to_host")
    source, target = (b, a) if turned else (a, b)
    unit = "GBps" if matrix.unit == "GB/s" else matrix.unit
    name = "_".join(filter(None, (matrix.test or "test", matrix.part, unit)))
    found.add(f"{source}>{target}", name, value, line)
    single = matrix.test.startswith(("host_to_device", "device_to_host", "device_to_device"))
    both = "bidirectional" in matrix.test
    if unit != "GBps" or not single or "latency" in matrix.test:
        return
    if not both or (matrix.part == "total" and "host" not in (source, target)):
        found.measurements.append(
            copied(source, target, value, size=BUFFER, file=file, line=line, both=both)
        )
