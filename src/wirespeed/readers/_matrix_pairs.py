"""From a matrix to facts on its devices and pairs, completed by symmetry where rows are cut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from wirespeed.errors import first_of
from wirespeed.evidence import Fact, Remark
from wirespeed.readers._matrix_blocks import Block
from wirespeed.readers._matrix_cells import CUT, Table, read_table
from wirespeed.readers._matrix_columns import Columns, resolve_columns
from wirespeed.readers._matrix_words import Name

_MOST_NAMED = 8


@dataclass(slots=True)
class Findings:
    """Facts and remarks as they gather."""

    facts: list[Fact] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Matrix:
    """One matrix, read: its block, columns and rows, and what each column is called in facts."""

    block: Block
    columns: Columns
    table: Table
    subjects: dict[int, str]

    @property
    def line(self) -> int:
        """Where the matrix begins."""
        return self.block.header.line if self.block.header else self.block.rows[0].line

    def name(self, position: int) -> Name:
        """The device of a column with a subject."""
        name = self.columns.names[position]
        assert name is not None
        return name


def read_matrix(block: Block, *, file: str) -> Matrix:
    """The matrix of a block with rows; raises InputError where its columns cannot be told."""
    columns = resolve_columns(block, file=file)
    return Matrix(block, columns, read_table(block, columns), _subjects(columns.names))


def _subjects(names: Sequence[Name | None]) -> dict[int, str]:
    """gpu3 keeps the number that is printed; NICs with driver names count in column order."""
    nics = [at for at, name in enumerate(names) if name and not name.is_gpu]
    numbered = all(name.number is not None for at in nics if (name := names[at]))
    subjects: dict[int, str] = {}
    for at, name in enumerate(names):
        if name and name.is_gpu:
            subjects[at] = f"gpu{name.number}"
        elif name:
            subjects[at] = f"nic{name.number if numbered else nics.index(at)}"
    return subjects


def pair_findings(matrix: Matrix, attribute: str) -> Findings:
    """Facts of every ordered pair, and remarks on what is cut, missing, asymmetric or unknown."""
    rows, guessed = matrix.table.rows, matrix.columns.inferred
    found = Findings(remarks=[*matrix.columns.remarks, *matrix.table.remarks])
    completed: dict[int, int] = {}
    unknown: dict[int, list[int]] = {}
    for here, subject in matrix.subjects.items():
        for there, other in matrix.subjects.items():
            if here == there:
                continue
            word, line, by_symmetry = _word(matrix, here, there)
            if word is None:
                unknown.setdefault(here, []).append(there)
                continue
            completed[here] = completed.get(here, 0) + by_symmetry
            inferred = by_symmetry or here in guessed or there in guessed
            found.facts.append(Fact(f"{subject}>{other}", attribute, word, line, inferred))
            if here < there and not by_symmetry:
                back, back_line, copied = _word(matrix, there, here)
                if not copied and back != word:
                    text = (
                        f"{matrix.name(here).text} to {matrix.name(there).text} is {word}, "
                        f"but the other way {back} (line {back_line})"
                    )
                    found.remarks.append(Remark("asymmetric", text, line))
    for here, cells in rows.items():
        if cells.state == CUT:
            text = (
                f"row {matrix.name(here).text} ends early: "
                f"{_gaps(completed.get(here, 0), len(unknown.get(here, ())))}"
            )
            found.remarks.append(Remark("row-cut", text, cells.row.line))
    found.remarks.extend(_missing_rows(matrix, completed, unknown))
    found.remarks.extend(_unknown_pairs(matrix, unknown))
    return found


def _word(matrix: Matrix, here: int, there: int) -> tuple[str | None, int, bool]:
    """The word between two columns, its line, and whether only the other direction is printed."""
    rows = matrix.table.rows
    if here in rows and there in rows[here].words:
        return rows[here].words[there], rows[here].row.line, False
    if there in rows and here in rows[there].words:
        return rows[there].words[here], rows[there].row.line, True
    return None, 0, False


def _gaps(completed: int, unknown: int) -> str:
    text = f"{completed} cells are taken from the other rows by symmetry"
    return f"{text}, {unknown} stand nowhere" if unknown else text


def _missing_rows(
    matrix: Matrix, completed: dict[int, int], unknown: dict[int, list[int]]
) -> Iterable[Remark]:
    missing = [at for at in matrix.subjects if at not in matrix.table.rows]
    if missing:
        cells = sum(completed.get(at, 0) for at in missing)
        gaps = _gaps(cells, sum(len(unknown.get(at, ())) for at in missing))
        names = ", ".join(matrix.name(at).text for at in missing)
        text = f"no row can be read of {names}: {gaps}"
        yield Remark("row-missing", text, matrix.line)


def _unknown_pairs(matrix: Matrix, unknown: dict[int, list[int]]) -> Iterable[Remark]:
    pairs = [
        f"{matrix.name(here).text}–{matrix.name(there).text}"
        for here, others in unknown.items()
        for there in others
        if here < there
    ]
    if pairs:
        text = f"no row says how these are connected: {first_of(pairs, _MOST_NAMED)}"
        yield Remark("pair-unknown", text, matrix.line)
