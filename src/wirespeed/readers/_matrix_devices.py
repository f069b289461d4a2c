"""Facts on each device of a matrix: its name, and the CPU and NUMA fields behind its row."""

from __future__ import annotations

from wirespeed.evidence import Fact, Remark
from wirespeed.readers._matrix_blocks import Label, Row
from wirespeed.readers._matrix_cells import FULL
from wirespeed.readers._matrix_header import CPU, FIELDS, GPU_NUMA, NUMA
from wirespeed.readers._matrix_pairs import Findings, Matrix
from wirespeed.readers._matrix_words import Name, parse_ids


def device_findings(matrix: Matrix, labels: dict[int, Label]) -> Findings:
    """Facts of every device: index, name, label, vendor_prefix and the fields of its row."""
    found = Findings()
    for at, subject in matrix.subjects.items():
        inferred = at in matrix.columns.inferred
        _name_facts(subject, matrix.name(at), matrix.line, inferred, labels, found)
    for at, cells in matrix.table.rows.items():
        _field_facts(matrix, matrix.subjects[at], cells.row, cells.fields, found)
        if cells.state == FULL and not cells.fields and _lacks_fields(matrix, cells.row):
            text = f"row {cells.row.name.text} ends before its CPU affinity"
            found.remarks.append(Remark("row-cut", text, cells.row.line))
    subjects = matrix.subjects.values()
    for number, label in labels.items():
        # A legend names NICs whose column is cut too.
        if f"nic{number}" not in subjects:
            found.facts.append(Fact(f"nic{number}", "label", label.text, label.line))
    if not matrix.columns.names:
        for row in matrix.block.rows:
            subject = f"gpu{row.name.number}"
            _name_facts(subject, row.name, row.line, False, labels, found)
            _field_facts(matrix, subject, row, row.tokens, found)
    return found


def _name_facts(
    subject: str,
    name: Name,
    line: int,
    inferred: bool,
    labels: dict[int, Label],
    found: Findings,
) -> None:
    found.facts.append(Fact(subject, "index", int(subject[3:]), line, inferred))
    found.facts.append(Fact(subject, "name", name.text, line, inferred))
    if name.is_gpu and name.prefix != "GPU":
        found.facts.append(Fact(subject, "vendor_prefix", name.prefix, line, inferred))
    if not name.is_gpu and name.number is None:
        found.facts.append(Fact(subject, "label", name.text, line))
    elif not name.is_gpu and name.number in labels:
        label = labels[name.number]
        found.facts.append(Fact(subject, "label", label.text, label.line))


def _lacks_fields(matrix: Matrix, row: Row) -> bool:
    """NIC rows have no fields in most dialects; a GPU's row lacks them only if it is cut."""
    header = matrix.block.header
    return header is not None and bool(header.fields) and row.name.is_gpu


def _field_facts(
    matrix: Matrix, subject: str, row: Row, tokens: tuple[str, ...], found: Findings
) -> None:
    columns = _columns(matrix, len(tokens))
    if len(tokens) > len(columns):
        text = f"row {row.name.text} has more fields than the header names; they are left out"
        found.remarks.append(Remark("affinity-unclear", text, row.line))
        return
    if tokens and len(tokens) < len(columns) and not row.ends_text:
        text = f"row {row.name.text} has fewer fields than the header names; they are left out"
        found.remarks.append(Remark("affinity-unclear", text, row.line))
        return
    values = dict(zip(columns, tokens, strict=False))
    if tokens and _may_be_cut(matrix, row, tokens):
        del values[columns[len(tokens) - 1]]
        text = f"row {row.name.text} ends in {tokens[-1]!r}, which may be cut and is left out"
        found.remarks.append(Remark("row-cut", text, row.line))
    for attribute, value in values.items():
        _field_fact(subject, attribute, value, row, found)


def _columns(matrix: Matrix, count: int) -> tuple[str, ...]:
    header = matrix.block.header
    if header is None or (header.cut_at and header.fields == FIELDS[: len(header.fields)]):
        return FIELDS[:count]
    return header.fields


def _may_be_cut(matrix: Matrix, row: Row, tokens: tuple[str, ...]) -> bool:
    """Whether the last field may have lost its end: the text stops there, no row bears it out."""
    if not row.ends_text:
        return False
    others = {
        other.row.tokens[-len(other.fields) :][len(tokens) - 1]
        for other in matrix.table.rows.values()
        if other.row is not row and len(other.fields) >= len(tokens)
    } | {
        other.tokens[len(tokens) - 1]
        for other in matrix.block.rows
        if not matrix.columns.names and other is not row and len(other.tokens) >= len(tokens)
    }
    return tokens[-1] != "N/A" and tokens[-1] not in others


def _field_fact(subject: str, attribute: str, value: str, row: Row, found: Findings) -> None:
    if value == "N/A":
        return
    ids = parse_ids(value)
    if ids is None or (attribute == GPU_NUMA and len(ids) != 1):
        text = f"{value!r} in row {row.name.text} is no rising list of numbers"
        found.remarks.append(Remark("unknown-word", text, row.line))
    elif attribute == CPU:
        found.facts.append(Fact(subject, CPU, value, row.line))
    elif attribute == NUMA:
        # Where GPU memory is NUMA nodes too, the CPU's node stands first.
        found.facts.append(Fact(subject, NUMA, ids[0], row.line))
        found.facts.append(Fact(subject, "numa_nodes", ids, row.line))
    else:
        found.facts.append(Fact(subject, GPU_NUMA, ids[0], row.line))
