"""perftest (`ib_write_bw`, `ib_read_lat` and their kin): what RDMA between two ports gives.

| subject | attributes |
|---|---|
| `perftest` | test (rdma_write, rdma_read, send or atomic), device, link_layer (ib or ethernet), |
| | transport, connection, qps, mtu_B, gid_index, unit, memory (host, cuda or rocm) |

Measurements: operation rdma_write, rdma_read or rdma_send; a row a size with the average bandwidth
[B/s], or for latency tests the typical time. "MB/sec" are 2^20 bytes, "Gb/sec" 1e9 bits. Both sides
of a run in one file count once; a bidirectional test's bandwidth is the sum of both directions.

Remarks: `row-twice` (the other side's row), `row-unstable` (peak far above average), `row-cut`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wirespeed.evidence import Evidence, Measurement, Row
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered
from wirespeed.readers._text import Line, sure_lines
from wirespeed.units import GB, MIB, US

NAME = "perftest"

_TITLE = re.compile(
    r"\s*(RDMA_Write|RDMA_Read|Send|Atomic[\w ]{0,20}?|Raw Ethernet[\w ]{0,20}?)"
    r"( Post List)?( Bidirectional)? (BW|Latency|BW Infinite)[\w ]{0,20} Test\b"
)
_HEADER = re.compile(r"\s*#bytes\s+#iterations\s+(\S.*)")
_BANDWIDTH = re.compile(r"BW peak\[(\S{1,10})\]\s+BW average\[\S{1,10}\]")
_ROW = re.compile(r"\s*(\d{1,12})\s+(\d{1,12})((?:\s+\d{1,15}(?:\.\d{1,10})?){2,9})\s*$")
_FIELDS = (
    (re.compile(r"\bDevice\s+: (\S{1,60})"), "device"),
    (re.compile(r"\bNumber of qps\s+: (\d{1,6})"), "qps"),
    (re.compile(r"\bTransport type : (\w{1,20})"), "transport"),
    (re.compile(r"\bConnection type : (\w{1,20})"), "connection"),
    (re.compile(r"\bMtu\s+: (\d{1,6})\[B\]"), "mtu_B"),
    (re.compile(r"\bLink type\s+: (\w{1,20})"), "link_layer"),
    (re.compile(r"\bGID index\s+: (\d{1,4})"), "gid_index"),
)
_NUMBERS = ("qps", "mtu_B", "gid_index")
_MEMORY = re.compile(r"-?-use_(cuda|rocm)|\b(CUDA|ROCm?) (?:device|Dev)", re.IGNORECASE)
_UNITS = {"MB/sec": MIB, "MiB/sec": MIB, "Gb/sec": GB / 8, "KMsg/sec": 0.0}
_TESTS = {"RDMA_Write": "rdma_write", "RDMA_Read": "rdma_read", "Send": "rdma_send"}
_SIGN = re.compile(
    r"#bytes\s+#iterations\s+(?:BW peak|t_min|t_avg)|"
    r"^.{0,60}?(?:RDMA_(?:Write|Read)|Send|Atomic \w+)(?: Bidirectional)? (?:BW|Latency) Test",
    re.MULTILINE,
)
_STEADY = 1.3
"""Peak over average beyond which a row of a large message is remarked on."""


@dataclass(slots=True)
class _Run:
    """Rows of one run of one test, of whichever side printed them."""

    operation: str = "rdma"
    both: bool = False
    latency: bool = False
    unit: str = ""
    rows: dict[tuple[float, ...], Row] = field(default_factory=dict)


def sniff(text: str) -> float:
    """1 where a title or a header of columns stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of all runs; raises InputError where no row and no field can be read."""
    found = Gathered()
    runs: list[_Run] = []
    run = _Run()
    for line in sure_lines(text):
        if title := _TITLE.match(line.text):
            opened = _opened(title)
            # The other side prints the same title; only another test is another run.
            if (opened.operation, opened.both, opened.latency) != (
                run.operation,
                run.both,
                run.latency,
            ):
                run = opened
                runs.append(run)
            found.add("perftest", "test", run.operation, line.number)
        elif header := _HEADER.match(line.text):
            if not runs:
                runs.append(run)
            _read_header(header, run, line, found)
        elif row := _ROW.match(line.text):
            if runs:
                _read_row(row, run, line, found)
        else:
            _read_fields(line, found)
    for one in runs:
        if one.rows:
            found.measurements.append(_measured(one, file))
    return found.evidence(
        NAME,
        file,
        nothing="no row of a test can be read",
        remedy="give the whole output of one side",
    )


def _opened(title: re.Match[str]) -> _Run:
    operation = _TESTS.get(title[1], "rdma_" + title[1].split()[0].lower())
    return _Run(operation, both=bool(title[3]), latency=title[4] == "Latency")


def _read_header(header: re.Match[str], run: _Run, line: Line, found: Gathered) -> None:
    if bandwidth := _BANDWIDTH.search(header[1]):
        run.unit = bandwidth[1]
        found.add("perftest", "unit", run.unit, line.number)
        run.latency = False
    elif "t_" in header[1]:
        run.latency = True
        run.unit = "usec"


def _read_row(row: re.Match[str], run: _Run, line: Line, found: Gathered) -> None:
    size, cells = int(row[1]), [float(cell) for cell in row[3].split()]
    if (not run.latency and len(cells) < 3) or not run.unit:
        found.note("row-cut", f"the row of {size} bytes may be cut and is left out", line.number)
        return
    key = size, float(row[2]), *cells[:2]
    if key in run.rows:
        said = f"the row of {size} bytes is there twice: once for each side of the run"
        found.note("row-twice", said, line.number)
        return
    if run.latency:
        typical = cells[2] if len(cells) > 2 else cells[0]
        run.rows[key] = Row(size, typical * US if typical else None, line=line.number)
        return
    peak, average = cells[0], cells[1]
    factor = _UNITS.get(run.unit, 0.0)
    if not factor or not average:
        return
    rate = average * factor
    time = size * (2 if run.both else 1) / rate
    run.rows[key] = Row(size, time, algbw=rate, busbw=rate, line=line.number)
    if size >= MIB and peak > _STEADY * average:
        said = f"at {size} bytes the peak is {peak:g} {run.unit}, the average {average:g}"
        found.note("row-unstable", said, line.number)


def _read_fields(line: Line, found: Gathered) -> None:
    for pattern, attribute in _FIELDS:
        if entry := pattern.search(line.text):
            value = entry[1]
            stated = int(value) if attribute in _NUMBERS else value
            if attribute in ("link_layer", "transport"):
                stated = value.lower()
            found.add("perftest", attribute, stated, line.number)
    if memory := _MEMORY.search(line.text):
        word = (memory[1] or memory[2]).lower()
        found.add("perftest", "memory", "rocm" if word.startswith("roc") else "cuda", line.number)


def _measured(run: _Run, file: str) -> Measurement:
    rows = tuple(sorted(run.rows.values(), key=lambda row: (row.size or 0, row.line)))
    return Measurement(run.operation, file, rows, ranks=2, bidirectional=run.both)


FORMAT = Format(NAME, "perftest (ib_write_bw, ib_read_lat …)", sniff, read)
