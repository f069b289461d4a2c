"""CUDA's p2pBandwidthLatencyTest: who can reach whom, how fast, with peer access and without.

| subject | attributes |
|---|---|
| `gpu0` | index, model, bus_id, local_GBps (its own memory, both ways) |
| `gpu0>gpu1` | p2p_access (true or false), and from its matrices: p2p_off_GBps, p2p_on_GBps, |
| | p2p_off_both_GBps, p2p_on_both_GBps (the sum of both directions), p2p_off_us, |
| | p2p_on_us, p2p_off_cpu_us, p2p_on_cpu_us |

Measurements: the copies of the two bandwidth matrices with peer access enabled; where the driver
grants none they go through host memory. A matrix whose title is cut off is known by the one that
follows; its facts are inferred.

Remarks: `matrix-unknown` (rows that no title precedes), `size-usual`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import zip_longest

from wirespeed.evidence import Evidence
from wirespeed.readers._copies import copied, note_size
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered
from wirespeed.readers._text import Line, sure_lines

NAME = "p2p-bandwidth"

COPY = 160_000_000
"""What a copy moves [B]: 40e6 integers. Source: p2pBandwidthLatencyTest.cu of cuda-samples."""

_TITLES = (
    ("P2P Connectivity Matrix", "p2p_access"),
    ("Unidirectional P2P=Disabled Bandwidth", "p2p_off_GBps"),
    ("Unidirectional P2P=Enabled Bandwidth", "p2p_on_GBps"),
    ("Bidirectional P2P=Disabled Bandwidth", "p2p_off_both_GBps"),
    ("Bidirectional P2P=Enabled Bandwidth", "p2p_on_both_GBps"),
    ("P2P=Disabled Latency Matrix", "p2p_off_us"),
    ("P2P=Enabled Latency", "p2p_on_us"),
)
"""In the order in which the tool prints them."""
_ORDER = [attribute for _, attribute in _TITLES]
_SIGN = re.compile("|".join(re.escape(title) for title, _ in _TITLES) + r"|CANNOT Access Peer Dev")
_DEVICE = re.compile(
    r"\s*Device: (\d{1,3}), (.{1,120}?), pciBusID: ([0-9a-fA-F]{1,4}), "
    r"pciDeviceID: ([0-9a-fA-F]{1,4}), pciDomainID: ?([0-9a-fA-F]{1,8})"
)
_ACCESS = re.compile(r"\s*Device=(\d{1,3}) (CAN|CANNOT) Access Peer Device=(\d{1,3})")
_CORNER = re.compile(r"\s*(D\\D|GPU|CPU)((?:\s+\d{1,3})+)\s*$")
_ROW = re.compile(r"\s*(\d{1,3})((?:\s+\d{1,9}(?:\.\d{1,4})?)+)\s*$")


@dataclass(slots=True)
class _Matrix:
    """A matrix with its rows: (row number, cells, line). No attribute: its title is cut."""

    attribute: str | None
    line: int
    columns: list[int] = field(default_factory=list)
    rows: list[tuple[int, list[float], int]] = field(default_factory=list)


def sniff(text: str) -> float:
    """1 where a title of a matrix or a line on peer access stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of all matrices; raises InputError where none has a row."""
    found = Gathered()
    matrices = _matrices(sure_lines(text), found)
    for matrix, after in zip_longest(matrices, matrices[1:]):
        _state(matrix, after, found, file)
    note_size(found, COPY)
    return found.evidence(
        NAME,
        file,
        nothing="no matrix has a row",
        remedy="give the whole output of p2pBandwidthLatencyTest",
    )


def _matrices(lines: list[Line], found: Gathered) -> list[_Matrix]:
    matrices: list[_Matrix] = []
    current: _Matrix | None = None
    for line in lines:
        text = line.text
        if title := next((name for words, name in _TITLES if words in text), None):
            current = _Matrix(title, line.number)
            matrices.append(current)
        elif corner := _CORNER.match(text):
            base = current.attribute if current else None
            if current is None or current.rows:
                attribute = _of_cpu(base) if corner[1] == "CPU" else None
                current = _Matrix(attribute, line.number)
                matrices.append(current)
            elif corner[1] == "CPU":
                current.attribute = _of_cpu(base)
            current.columns = [int(word) for word in corner[2].split()]
        elif row := _ROW.match(text):
            if current is None:
                current = _Matrix(None, line.number)
                matrices.append(current)
            cells = [float(word) for word in row[2].split()]
            current.rows.append((int(row[1]), cells, line.number))
        elif device := _DEVICE.match(text):
            _read_device(device, line.number, found)
        elif access := _ACCESS.match(text):
            subject = f"gpu{int(access[1])}>gpu{int(access[3])}"
            found.add(subject, "p2p_access", access[2] == "CAN", line.number)
    return [matrix for matrix in matrices if matrix.rows or matrix.attribute]


def _of_cpu(attribute: str | None) -> str | None:
    """The latency as the CPU sees it, which follows the GPU's."""
    if attribute in ("p2p_off_us", "p2p_on_us"):
        return attribute.replace("_us", "_cpu_us")
    return attribute


def _read_device(device: re.Match[str], line: int, found: Gathered) -> None:
    subject = f"gpu{int(device[1])}"
    bus, slot, domain = (int(device[k], 16) for k in (3, 4, 5))
    found.add(subject, "index", int(device[1]), line)
    found.add(subject, "model", device[2], line)
    found.add(subject, "bus_id", f"{domain:04x}:{bus:02x}:{slot:02x}.0", line)


def _state(matrix: _Matrix, after: _Matrix | None, found: Gathered, file: str) -> None:
    """States the cells of a matrix; of one without a title what its place says."""
    attribute, inferred = matrix.attribute, False
    if attribute is None and after and after.attribute in _ORDER[1:]:
        attribute, inferred = _ORDER[_ORDER.index(after.attribute) - 1], True
    if attribute is None:
        text = f"{len(matrix.rows)} rows without the title of their matrix are left out"
        found.note("matrix-unknown", text, matrix.line)
        return
    widest = max((len(cells) for _, cells, _ in matrix.rows), default=0)
    columns = matrix.columns or list(range(widest))
    for row, cells, line in matrix.rows:
        if len(cells) > len(columns):
            found.left_out(" ".join(map(str, cells)), line)
            continue
        for column, value in zip(columns, cells, strict=False):
            _state_cell(attribute, (row, column), value, line, inferred, found, file)


def _state_cell(
    attribute: str,
    at: tuple[int, int],
    value: float,
    line: int,
    inferred: bool,
    found: Gathered,
    file: str,
) -> None:
    source, target = (f"gpu{number}" for number in at)
    if source == target:
        if attribute == "p2p_off_GBps":
            found.add(source, "local_GBps", value, line, inferred=inferred)
        return
    if attribute == "p2p_access":
        found.add(f"{source}>{target}", attribute, value == 1, line)
        return
    found.add(f"{source}>{target}", attribute, value, line, inferred=inferred)
    both = attribute == "p2p_on_both_GBps"
    if value > 0 and (both or attribute == "p2p_on_GBps"):
        found.measurements.append(
            copied(source, target, value, size=COPY, file=file, line=line, both=both)
        )


FORMAT = Format(NAME, "the output of p2pBandwidthLatencyTest", sniff, read)
