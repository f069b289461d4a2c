"""nccl-tests and rccl-tests: measured sizes and times, from any version's text or JSON (-J).

Measurements: one for each operation, type, operator and root of a run, rows in both columns.
Facts: `rank0` host, device, gpu_model, bus_id; `run` version, nccl_version, threads,
gpus_per_thread, graphs; `env` NCCL_… (of JSON and of the command; nothing else of an environment
is kept).

Remarks: `wrong-values`, `run-failed`, `table-cut`, `torn-row`, `placeholder`, `ranks-recovered`,
`ranks-differ`, `operation-inferred`, `several-tables`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Fact, Measurement, Remark, Row
from wirespeed.readers._format import Format
from wirespeed.readers._nccl_tests_json import is_json, library_version, read_json
from wirespeed.readers._nccl_tests_rows import (
    DEVICE,
    DTYPES,
    Columns,
    TableRow,
    header_columns,
    is_placeholder,
    table_row,
)
from wirespeed.readers._text import Line, clean_lines

NAME = "nccl-tests"
OPERATIONS = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "alltoall",
    "sendrecv",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "hypercube",
)

_SHARES = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "alltoall": 1}
_SHARES |= {"gather": 1, "scatter": 1}
"""busbw / algbw is this times (n - 1) / n."""
_ROUNDED = 0.005e9
"""[B/s] by which a printed bandwidth may be off."""
_TELLING = 0.5e9
_MOST_RANKS = 2**20

_PERF = re.compile(r"\b(" + "|".join(OPERATIONS) + r")(?:_perf|\.cu\b)")
_CONFIG = re.compile(r"#?\s*nThreads? (\d{1,9}) nGpus (\d{1,9})")
_GRAPHS = re.compile(r"\bgraph: (\d{1,9})")
_VERSION = re.compile(r"# nccl-tests version (\S+)(?:.*nccl-library=(\d{1,9}))?")
_BOUNDS = re.compile(r"# Out of bounds values\s*:\s*(\d{1,18})\s*(\w*)")
_FAILURE = re.compile(
    r"Test (?:NCCL|CUDA|HIP) failure|Test failure|NCCL failure|srun: error|Segmentation fault|"
    r"mpirun noticed|Call to \w+ returned|^Aborted",
    re.IGNORECASE,
)
_SETTING = re.compile(r"\b((?:NCCL|RCCL)_[A-Z0-9_]{1,60})=([^\s;]{1,200})")
"""A variable before a command, or among the options of what launches it (-x, --env)."""
_LEAD = re.compile(r"#?\s{0,80}\bsize\b.{0,400}?\bbusbw\b")


@dataclass(slots=True)
class _Table:
    """Rows of one run, operation, type, operator and root."""

    operation: str | None
    dtype: str | None
    redop: str | None
    root: int | None
    rows: list[tuple[TableRow, int]] = field(default_factory=list)
    run: int = 0


@dataclass(slots=True)
class _Paste:
    """What was found in a text so far."""

    tables: list[_Table] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    columns: Columns | None = None
    operation: str | None = None
    devices: dict[int, int] = field(default_factory=dict)
    """Number of the run by the highest rank listed in it."""
    launch: dict[int, str] = field(default_factory=dict)
    run: int = 0
    ended: bool = True
    started: bool = False


def sniff(text: str) -> float:
    """1 for a table or its header, 0.5 where a test was only started, else 0."""
    if is_json(text):
        return 1.0
    if _LEAD.search(text) or _CONFIG.search(text):
        return 1.0
    rows = (table_row(line.text, None) for line in clean_lines(text[:20000]))
    if any(row is not None for row in rows):
        return 1.0
    return 0.5 if re.search(r"\b\w{1,40}_perf(?:_mpi)?\s+-", text) else 0.0


def read(text: str, file: str) -> Evidence:
    """Evidence with the measurements of a text; none of a run that says that it failed before.

    Raises InputError where no row was measured and nothing says why.
    """
    if is_json(text):
        return read_json(text, file)
    paste = _Paste()
    lines = clean_lines(text)
    for line in lines:
        _take(line, paste)
    failed = any(remark.code == "run-failed" for remark in paste.remarks)
    if not paste.tables and not failed:
        raise _no_table(lines, paste, file)
    if not paste.ended:
        last = lines[-1].number
        paste.remarks.append(
            Remark("table-cut", "the table has no end: no line of bounds or average follows", last)
        )
    measurements = tuple(_measurement(table, paste, file) for table in paste.tables)
    return Evidence(NAME, file, tuple(paste.facts), tuple(paste.remarks), measurements)


def _take(line: Line, paste: _Paste) -> None:
    text = line.text
    row = table_row(text, paste.columns)
    if row is not None:
        _add_row(row, line.number, paste)
    elif columns := header_columns(text):
        paste.columns = columns
        paste.started = True
        paste.run += bool(paste.tables) and paste.tables[-1].run == paste.run
    elif is_placeholder(text):
        remark = Remark("placeholder", "a template: XXX in place of numbers", line.number)
        if not any(known.code == remark.code for known in paste.remarks):
            paste.remarks.append(remark)
    elif text.lstrip().startswith("#"):
        _take_comment(text, line.number, paste)
    elif match := _FAILURE.search(text):
        paste.ended = True
        if not any(known.code == "run-failed" for known in paste.remarks):
            said = text.strip()[:160]
            paste.remarks.append(Remark("run-failed", f"the run failed: {said}", line.number))
        if named := _PERF.search(text[match.start() :]):
            _name_operation(named[1], paste)
    elif named := _PERF.search(text):
        _name_operation(named[1], paste)
        paste.facts += [
            Fact("env", name, value.strip("'\""), line.number)
            for name, value in _SETTING.findall(text)
        ]


def _name_operation(name: str, paste: _Paste) -> None:
    paste.operation = name
    for table in paste.tables:
        if table.run == paste.run and table.operation is None:
            table.operation = name


def _take_comment(text: str, number: int, paste: _Paste) -> None:
    if match := _CONFIG.search(text):
        paste.run += bool(paste.tables) and paste.tables[-1].run == paste.run
        paste.columns = None
        threads, gpus = int(match[1]), int(match[2])
        graphs = _GRAPHS.search(text)
        paste.facts += [
            Fact("run", "threads", threads, number),
            Fact("run", "gpus_per_thread", gpus, number),
        ]
        paste.launch[paste.run] = "thread" if threads * gpus > 1 else "process"
        if graphs and int(graphs[1]):
            paste.facts.append(Fact("run", "graphs", int(graphs[1]), number))
            paste.launch[paste.run] = "graph"
    elif match := _VERSION.match(text):
        paste.facts.append(Fact("run", "version", match[1], number))
        if match[2]:
            paste.facts.append(Fact("run", "nccl_version", library_version(int(match[2])), number))
    elif match := DEVICE.match(text):
        rank = int(match[1])
        paste.devices[paste.run] = max(paste.devices.get(paste.run, -1), rank)
        subject = f"rank{rank}"
        paste.facts += [
            Fact(subject, "host", match[2], number),
            Fact(subject, "device", int(match[3]), number),
            Fact(subject, "gpu_model", match[5], number),
        ]
        if ":" in match[4]:
            paste.facts.append(Fact(subject, "bus_id", match[4].lower(), number))
    elif match := _BOUNDS.match(text):
        paste.ended = True
        if match[2].upper() == "FAILED" or int(match[1]):
            what = f"{match[1]} results are out of bounds: the bandwidths mean nothing"
            paste.remarks.append(Remark("wrong-values", what, number))
    elif text.startswith("# Avg bus bandwidth"):
        paste.ended = True
    elif named := _PERF.search(text):
        _name_operation(named[1], paste)


def _add_row(row: TableRow, number: int, paste: _Paste) -> None:
    paste.ended = False
    last = paste.tables[-1] if paste.tables else None
    same = (
        last is not None
        and last.run == paste.run
        and (last.dtype, last.redop, last.root) == (row.dtype, row.redop, row.root)
        and last.rows[-1][0].size <= row.size
    )
    if last is None or not same:
        last = _Table(paste.operation, row.dtype, row.redop, row.root, run=paste.run)
        paste.tables.append(last)
    last.rows.append((row, number))
    if row.torn:
        what = f"the row of {row.size} bytes is cut: {len(row.readings)} of its columns are read"
        paste.remarks.append(Remark("torn-row", what, number))
    if any(reading.wrong for reading in row.readings) and not any(
        remark.code == "wrong-values" for remark in paste.remarks
    ):
        what = "results are wrong (#wrong is not 0): the bandwidths mean nothing"
        paste.remarks.append(Remark("wrong-values", what, number))


def _measurement(table: _Table, paste: _Paste, file: str) -> Measurement:
    remarks: list[Remark] = []
    first = table.rows[0][1]
    operation = table.operation
    if operation is None:
        operation = infer_operation([row for row, _ in table.rows])
        what = f"no line names the operation: the columns look like {operation}"
        remarks.append(Remark("operation-inferred", what, first))
    ranks = _ranks(table, operation, paste, remarks)
    return Measurement(
        operation=operation,
        file=file,
        rows=tuple(rows_of(table.rows)),
        ranks=ranks,
        dtype=table.dtype,
        remarks=tuple(remarks),
        launch=paste.launch.get(table.run),
        reduction=None if table.redop in (None, "none") else table.redop,
    )


def rows_of(rows: Iterable[tuple[TableRow, int]]) -> Iterable[Row]:
    """Rows out of place, then in place, of each line of a table."""
    for row, line in rows:
        for place, reading in enumerate(row.readings):
            if reading.time is None and reading.algbw is None:
                continue
            yield Row(row.size, reading.time, reading.algbw, reading.busbw, place == 1, line)


def _ranks(table: _Table, operation: str, paste: _Paste, remarks: list[Remark]) -> int | None:
    highest = paste.devices.get(table.run)
    fitting = ranks_of([row for row, _ in table.rows], operation)
    line = table.rows[0][1]
    if highest is not None and (fitting is None or highest + 1 in fitting):
        return highest + 1
    if fitting is None or len(fitting) > 1:
        return None if highest is None else highest + 1
    if highest is None:
        what = f"busbw / algbw is that of {fitting[0]} ranks"
        remarks.append(Remark("ranks-recovered", what, line))
    else:
        what = f"devices are listed up to rank {highest}, busbw / algbw is that of {fitting[0]}"
        remarks.append(Remark("ranks-differ", what, line))
    return fitting[0]


def ranks_of(rows: Iterable[TableRow], operation: str) -> range | None:
    """Numbers of ranks that busbw / algbw allows within its printed digits.

    None where it tells nothing: the factor is constant, or all bandwidths are too small.
    """
    rows = list(rows)
    if operation not in _SHARES:
        return None
    if operation != "all_reduce" and (counted := _ranks_by_count(rows)) is not None:
        return range(counted, counted + 1)
    low, high = 0.0, 1.0
    for row in rows:
        for reading in row.readings:
            if reading.algbw and reading.busbw and reading.algbw >= _TELLING:
                share = reading.busbw / reading.algbw / _SHARES[operation]
                slack = _ROUNDED / reading.algbw + _ROUNDED / reading.busbw
                low, high = max(low, share * (1 - slack)), min(high, share * (1 + slack))
    if low == 0 or low >= 1 or low > high:
        return None
    most = math.floor(1 / (1 - high)) if high < 1 - 1e-9 else _MOST_RANKS
    fitting = range(max(2, math.ceil(1 / (1 - low))), most + 1)
    return fitting if len(fitting) else None


def _ranks_by_count(rows: Iterable[TableRow]) -> int | None:
    """Ranks where the count is of one rank's part: size = count x element x ranks."""
    for row in rows:
        if row.count and row.dtype in DTYPES and row.size:
            ranks, rest = divmod(row.size, row.count * DTYPES[row.dtype])
            if not rest and ranks >= 2:
                return ranks
    return None


def infer_operation(rows: list[TableRow]) -> str:
    """The operation that the columns of a table fit, the most common one where several do."""
    first = rows[0]
    ratios = [
        reading.busbw / reading.algbw
        for row in rows
        for reading in row.readings
        if reading.algbw and reading.busbw and reading.algbw > 1e9
    ]
    ratio = sorted(ratios)[len(ratios) // 2] if ratios else 1.0
    if ratio > 1.02:
        return "all_reduce"
    reduces = first.redop not in (None, "none")
    if first.root is not None and first.root >= 0:
        return "reduce" if reduces else "broadcast"
    if ratio < 0.98:
        checked = [row.readings[1].wrong for row in rows if len(row.readings) > 1]
        gathers = not checked or any(wrong is not None for wrong in checked)
        return "reduce_scatter" if reduces else "all_gather" if gathers else "alltoall"
    # Two ranks: the factor of all_reduce is 1 as that of the plain ones.
    return "sendrecv" if first.redop == "none" else "all_reduce"


def _no_table(lines: list[Line], paste: _Paste, file: str) -> InputError:
    if any(remark.code == "placeholder" for remark in paste.remarks):
        why = "its numbers are placeholders such as XXX.XX: a template, no measurement"
    else:
        why = f"none of {len(lines)} lines is a row of sizes, times and bandwidths"
    return InputError(
        "no nccl-tests table found",
        where=file,
        why=why,
        remedy="give the whole output of a run that got as far as its table",
    )


FORMAT = Format(NAME, "the output of nccl-tests or rccl-tests", sniff, read)
