"""nvbandwidth, text or JSON: bandwidths and latencies between GPUs, and between GPUs and host.

| subject | attributes |
|---|---|
| `nvbandwidth` | version, driver, cuda_runtime, cuda_driver |
| `gpu0` | index, model, bus_id |
| `gpu0>gpu1`, `host>gpu0`, `gpu0>host` | the test's name with _GBps or _ns; source to target |
| `test NAME` | status (passed, waived or failed), sum, error |

Bidirectional tests between GPUs print two directions and their sum: `…_read1_GBps`,
`…_read2_GBps`, `…_total_GBps`, with the row as source. Those between host and GPU print the one
direction that the name begins with.

Measurements: every unidirectional copy of a pair, and the totals between GPUs; not what several
GPUs do at once. Remarks: `lines-left-out`, `matrix-cut`, `waived`, `size-usual`,
`devices-differ` (a matrix names GPUs that the list of devices lacks).
"""

from __future__ import annotations

import re

from wirespeed.evidence import Evidence
from wirespeed.readers import _nvbandwidth_json
from wirespeed.readers._copies import note_size
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, is_ellipsis
from wirespeed.readers._nvbandwidth_matrix import BUFFER, Matrix, bus_id, matrix_of, state
from wirespeed.readers._text import Line, sure_lines

NAME = "nvbandwidth"

_SIGN = re.compile(
    r"\bnvbandwidth Version|Running \w+_(?:ce|sm)\.|"
    r"(?:memcpy|memory latency) (?:CE|SM) [CG]PU\(row\)|\"nvbandwidth\"\s*:"
)
_RUNNING = re.compile(r"\s*Running (\w{1,80})\.?\s*$")
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,12})?")
_SUM = re.compile(r"\s*SUM (\w{1,100}) +(\d+\.?\d*)")
_WAIVED = re.compile(r"\s*Waived: *(\w*)")
_ERROR = re.compile(r"\s*(?:\[?Error\]?|ERROR)\b(.*)")
_VERSIONS = (
    (re.compile(r"nvbandwidth Version: (\S+)"), "version"),
    (re.compile(r"CUDA Runtime Version: (\S+)"), "cuda_runtime"),
    (re.compile(r"CUDA Driver Version: (\S+)"), "cuda_driver"),
    (re.compile(r"^Driver Version: (\S+)"), "driver"),
)
_DEVICE = re.compile(r"\s*(?:Device )?(\d{1,3}): (.{1,120}?) \(([0-9A-Fa-f:.]{4,24})\)")


def sniff(text: str) -> float:
    """1 where a test, its matrix or the tool's own name stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of all tests; raises InputError where nothing was measured."""
    found = Gathered()
    if (document := _nvbandwidth_json.document(text)) is not None:
        _nvbandwidth_json.read(document, found, file)
    else:
        _read_lines(sure_lines(text), found, file)
    _compare_devices(found)
    note_size(found, BUFFER)
    return found.evidence(
        NAME,
        file,
        nothing="no test has a matrix",
        remedy="give the whole output of nvbandwidth, text or JSON",
    )


def _compare_devices(found: Gathered) -> None:
    """Remarks on matrices that name GPUs which the list of devices lacks."""
    listed = {fact.subject for fact in found.facts if fact.attribute == "model"}
    named = {
        end
        for fact in found.facts
        if fact.attribute.endswith("_GBps")
        for end in fact.subject.split(">")
        if end.startswith("gpu")
    }
    if listed and named - listed:
        text = f"matrices name {len(named)} GPUs, the list of devices {len(listed)}"
        found.note("devices-differ", text)


def _read_lines(lines: list[Line], found: Gathered, file: str) -> None:
    test = ""
    matrix: Matrix | None = None
    for line in lines:
        text = line.text
        if running := _RUNNING.match(text):
            test, matrix = running[1], None
        elif opened := matrix_of(test, text, line.number):
            matrix = opened
        elif total := _SUM.match(text):
            found.add(f"test {total[1]}", "sum", float(total[2]), line.number)
            matrix = None
        elif waived := _WAIVED.match(text):
            if waived[1]:
                found.add(f"test {waived[1]}", "status", "waived", line.number)
            found.note("waived", "a test was waived: this machine cannot run it", line.number)
        elif device := _DEVICE.match(text):
            _read_device(device, line.number, found)
        elif is_ellipsis(text):
            found.left_out(text, line.number)
            matrix = None
        elif matrix and text.strip():
            if not _read_row(line, matrix, found, file):
                matrix = None
        else:
            _read_version(line, found)


def _read_version(line: Line, found: Gathered) -> None:
    for pattern, attribute in _VERSIONS:
        if version := pattern.search(line.text):
            found.add("nvbandwidth", attribute, version[1], line.number)


def _read_device(device: re.Match[str], line: int, found: Gathered) -> None:
    subject = f"gpu{int(device[1])}"
    found.add(subject, "index", int(device[1]), line)
    found.add(subject, "model", device[2], line)
    found.add(subject, "bus_id", bus_id(device[3]), line)


def _read_row(line: Line, matrix: Matrix, found: Gathered, file: str) -> bool:
    """Takes the header or a row of numbers; False where the matrix is over."""
    words = line.text.split()
    if not matrix.columns:
        matrix.columns = [int(word) for word in words if word.isdecimal() and len(word) < 4]
        return len(matrix.columns) == len(words)
    cells = words[1:]
    if not (words[0].isdecimal() and len(words[0]) < 4) or len(cells) > len(matrix.columns):
        return False
    for column, cell in zip(matrix.columns, cells, strict=False):
        if _NUMBER.fullmatch(cell):
            state(matrix, (int(words[0]), column), float(cell), line.number, found, file)
    return True


FORMAT = Format(NAME, "the output of nvbandwidth", sniff, read)
