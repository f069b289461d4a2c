"""`rocm-smi --showtopo` and its parts: how AMD GPUs of a host reach each other.

| subject | attributes |
|---|---|
| `gpu0` | index, numa, numa_affinity (as printed; -1 is unknown and left out) |
| `gpu0>gpu1` | rocm_link (XGMI, PCIE …), hops, weight |

The text holds no bandwidth, no NIC and no number of links.

Remarks: `matrix-cut` (rows completed by symmetry are inferred; others are missing).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wirespeed.evidence import Evidence
from wirespeed.evidence._types import Value
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, whole
from wirespeed.readers._text import Line, sure_lines

NAME = "rocm-topo"

_BANNER = re.compile(
    r"=+ *(?P<what>Weight between two GPUs|Hops between two GPUs|Link Type between two GPUs|"
    r"Numa Nodes) *=*",
    re.IGNORECASE,
)
_SIGN = re.compile(_BANNER.pattern + r"|GPU\[\d+\]\s*: \(Topology\)", re.IGNORECASE)
_NUMA = re.compile(
    r"\s*GPU(?:\[(\d{1,3})\]| (\d{1,3}))\s*: (?:\(Topology\) )?(Numa \w+): *(-?\d{1,6})(?!\d)"
)
_NAME = re.compile(r"GPU(\d{1,3})")
_ATTRIBUTES = {"weight": "weight", "hops": "hops", "link": "rocm_link"}
_MOST_GPUS = 128


@dataclass(slots=True)
class _Matrix:
    """One matrix: the GPUs of its header, and (row, column) to value and line."""

    attribute: str
    line: int
    columns: list[int] = field(default_factory=list)
    cells: dict[tuple[int, int], tuple[Value, int]] = field(default_factory=dict)


def sniff(text: str) -> float:
    """1 where a banner of the tool or a line of its NUMA part stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of all parts that are there; raises InputError where none names a GPU."""
    found = Gathered()
    matrix: _Matrix | None = None
    for line in sure_lines(text):
        if banner := _BANNER.search(line.text):
            _close(matrix, found)
            kind = banner["what"].split()[0].lower()
            known = _ATTRIBUTES.get(kind)
            matrix = _Matrix(known, line.number) if known else None
        elif numa := _NUMA.match(line.text):
            _read_numa(numa, line, found)
        elif matrix and line.text.strip() and not _read_row(line, matrix, found):
            _close(matrix, found)
            matrix = None
    _close(matrix, found)
    return found.evidence(
        NAME,
        file,
        nothing="a banner of rocm-smi has no GPU below it",
        remedy="give the whole output of `rocm-smi --showtopo`",
    )


def _read_numa(numa: re.Match[str], line: Line, found: Gathered) -> None:
    subject = f"gpu{int(numa[1] or numa[2])}"
    attribute = {"numa node": "numa", "numa affinity": "numa_affinity"}.get(numa[3].lower())
    found.add(subject, "index", int(subject[3:]), line.number)
    if attribute and int(numa[4]) >= 0:
        found.add(subject, attribute, int(numa[4]), line.number)


def _read_row(line: Line, matrix: _Matrix, found: Gathered) -> bool:
    """Takes a header or a row; False for what is neither."""
    names = [_NAME.fullmatch(word) for word in line.text.split()]
    numbers = [int(name[1]) for name in names if name]
    if not matrix.columns:
        if not numbers or len(numbers) != len(names) or len(numbers) > _MOST_GPUS:
            return False
        matrix.columns = numbers
        for number in numbers:
            found.add(f"gpu{number}", "index", number, line.number)
        return True
    words = line.text.split()
    if len(numbers) != 1 or not names[0]:
        return False
    cells = words[1:]
    for column, word in zip(matrix.columns, cells, strict=False):
        value = whole(word) if matrix.attribute != "rocm_link" else word
        if value is not None and column != numbers[0] and word not in ("0", "None", "N/A"):
            matrix.cells[numbers[0], column] = value, line.number
    return True


def _close(matrix: _Matrix | None, found: Gathered) -> None:
    """States the cells of a matrix, and by symmetry those of rows that are cut."""
    if matrix is None:
        return
    missing = 0
    for row in matrix.columns:
        for column in matrix.columns:
            if row == column:
                continue
            subject = f"gpu{row}>gpu{column}"
            if cell := matrix.cells.get((row, column)):
                found.add(subject, matrix.attribute, cell[0], cell[1])
            elif cell := matrix.cells.get((column, row)):
                found.add(subject, matrix.attribute, cell[0], cell[1], inferred=True)
                missing += 1
            else:
                missing += 1
    if missing:
        text = f"{missing} cells of the {matrix.attribute} matrix are missing"
        found.note("matrix-cut", text, matrix.line)


FORMAT = Format(NAME, "`rocm-smi --showtopo`", sniff, read)
