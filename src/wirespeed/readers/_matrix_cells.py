"""The cells of a matrix's rows: which belong to which column, and which rows cannot be trusted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from wirespeed.evidence import Remark
from wirespeed.readers._matrix_blocks import Block, Row
from wirespeed.readers._matrix_columns import Columns, cell_count, row_width
from wirespeed.readers._matrix_words import (
    BRIDGE_WORDS,
    P2P_WORDS,
    SELF,
    canonical,
    is_bonded,
    is_field,
    is_stump,
    is_word,
)

_DIGITS = "0123456789"
_PREFIX = re.compile(r"[A-Z]+")
_ONE_DIGIT = re.compile(r"[A-Z]+\d")

FULL, CUT, DAMAGED = "full", "cut", "damaged"


@dataclass(slots=True)
class Cells:
    """What one row says: words by column position, and the tokens behind them."""

    row: Row
    position: int
    words: dict[int, str]
    fields: tuple[str, ...]
    state: str
    """full; cut (it ends early); damaged (a cell is lost or doubled inside, part is left out)."""
    last: int
    """Position of the last cell that was read."""


@dataclass(slots=True)
class Table:
    """The rows of a matrix by column position."""

    rows: dict[int, Cells] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)


def read_table(block: Block, columns: Columns) -> Table:
    """All rows of a block laid under its columns; what does not fit is left out and remarked."""
    table = Table()
    if not columns.names:
        return table
    usual = row_width(block.rows)
    accepts = _vocabulary(block)
    for row in block.rows:
        position = columns.position(row.name)
        if position is None:
            table.remarks.append(_left_out(row, "no column bears its name"))
            continue
        if position in table.rows:
            if table.rows[position].row.tokens != row.tokens:
                table.remarks.append(_left_out(row, "another row of that name stands before it"))
            continue
        # Only the last row of a cut text ends early, or every row of one cut at its right edge.
        may_end_early = block.ends_with(row) or cell_count(row) == usual
        cells = _lay(row, position, len(columns.names), may_end_early, table.remarks)
        if cells:
            _keep_words(cells, accepts, table.remarks)
            table.rows[position] = cells
    for cells in table.rows.values():
        if cells.state == CUT or (cells.row.ends_text and not cells.fields):
            _confirm(cells, table)
    return table


def _vocabulary(block: Block) -> Callable[[str], bool]:
    """Which words may stand between two devices here.

    A vendor's bonded link is known by coming more than once; a single one is a damaged word.
    """
    if block.is_p2p:
        return P2P_WORDS.__contains__
    prefixes = Counter(
        _PREFIX.match(token)[0]  # type: ignore[index]
        for row in block.rows
        for token in row.tokens
        if is_bonded(token)
    )
    return lambda word: (
        canonical(word) in BRIDGE_WORDS
        or (is_bonded(word) and (word.startswith("NV") or prefixes[word.rstrip(_DIGITS)] > 1))
    )


def _keep_words(cells: Cells, accepts: Callable[[str], bool], remarks: list[Remark]) -> None:
    """Take out words that have no meaning in this matrix, and say which."""
    for at, word in list(cells.words.items()):
        if word == SELF:
            continue
        if accepts(word):
            cells.words[at] = canonical(word)
            continue
        del cells.words[at]
        # A cut row may end in half a word, which is said with the cut.
        if not (cells.state == CUT and at == cells.last and is_stump(word)):
            text = f"{word!r} in row {cells.row.name.text} is no word of this matrix"
            remarks.append(Remark("unknown-word", text, cells.row.line))


def _left_out(row: Row, why: str) -> Remark:
    return Remark("row-damaged", f"row {row.name.text} is left out: {why}", row.line)


def _lay(
    row: Row, position: int, width: int, may_end_early: bool, remarks: list[Remark]
) -> Cells | None:
    """Cells of a row. The X on the diagonal proves that none was lost before or behind it."""
    count = _count(row, width)
    cells, rest = row.tokens[:count], row.tokens[count:]
    own = [at for at, word in enumerate(cells) if word == SELF]
    if len(own) > 1:
        remarks.append(_left_out(row, "it has more than one X"))
        return None
    if not own:
        broken = position < count and is_word(cells[position])
        if broken or (count != width and (rest or not may_end_early or count > position + 1)):
            remarks.append(_left_out(row, "its X is missing"))
            return None
        kept = range(count)
    elif own[0] == position and (count == width or (count < width and not rest and may_end_early)):
        kept = range(count)
    elif own[0] == position:
        kept = range(position + 1)
    elif count - own[0] == width - position:
        kept = range(own[0], count)
    else:
        remarks.append(_left_out(row, "its X does not stand under its name"))
        return None
    shift = position - own[0] if own else 0
    state = FULL if count == width else CUT
    if shift or len(kept) < count:
        state, side = DAMAGED, "before" if shift else "after"
        text = f"row {row.name.text} has {count} cells of {width}; those {side} its X are left out"
        remarks.append(Remark("row-damaged", text, row.line))
    words = {at + shift: cells[at] for at in kept}
    return Cells(row, position, words, rest, state, last=max(words, default=-1))


def _count(row: Row, width: int) -> int:
    """How many tokens are cells: all up to the last word, and unknown words up to the width."""
    count = cell_count(row)
    while count < min(width, len(row.tokens)) and not is_field(row.tokens[count]):
        count += 1
    return count


def _confirm(cells: Cells, table: Table) -> None:
    """Hold a row that ends early against the other rows, and drop what they do not bear out.

    Its last word may be cut too (NV1 of NV18), and a cell lost inside it shifts what follows.
    """
    reverse = {
        at: table.rows[at].words[cells.position]
        for at in cells.words
        if at in table.rows and cells.position in table.rows[at].words
    }
    wrong = [at for at, word in reverse.items() if word != cells.words[at]]
    last = cells.words.get(cells.last, SELF)
    if _ONE_DIGIT.fullmatch(last) and reverse.get(cells.last) != last:
        del cells.words[cells.last]
        wrong = [at for at in wrong if at != cells.last]
    if wrong and cells.state == CUT:
        text = (
            f"row {cells.row.name.text} ends early and does not agree with the other rows; "
            "only its cells that agree are kept"
        )
        table.remarks.append(Remark("row-damaged", text, cells.row.line))
        agreeing = {at: cells.words[at] for at in reverse if at in cells.words and at not in wrong}
        cells.words = agreeing
