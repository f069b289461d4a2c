"""`nvidia-smi topo -p2p`: whether the driver lets two GPUs reach each other's memory.

Facts: `gpu0>gpu1` p2p_read, p2p_write, p2p_nvlink, p2p_atomics or p2p_prop where the command line
in the paste says what was asked, else p2p_status. Words: OK; CNS, GNS, TNS (chipset, GPU, topology
not supported), NS, DR (disabled by regkey), U (unknown). Remarks are those of topo_matrix.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Remark
from wirespeed.readers._format import Format
from wirespeed.readers._matrix_blocks import Block, split_paste
from wirespeed.readers._matrix_pairs import Findings, pair_findings, read_matrix
from wirespeed.readers._text import clean_lines

NAME = "topo-p2p"

_HINT = re.compile(r"OK|NS|DR|p2p|\bU\b")
"""Without one of the words there is no status, and most texts need no closer look."""
_ATTRIBUTES = {
    "r": "p2p_read",
    "w": "p2p_write",
    "n": "p2p_nvlink",
    "a": "p2p_atomics",
    "p": "p2p_prop",
}


def sniff(text: str) -> float:
    """1 for a status matrix with rows; 0 beside a path matrix, whose reader takes both."""
    if not _HINT.search(text):
        return 0.0
    blocks = [block for block in split_paste(clean_lines(text)).blocks if block.rows]
    return float(bool(blocks) and all(block.is_p2p for block in blocks))


def read(text: str, file: str) -> Evidence:
    """Evidence of all status matrices of a text; raises InputError where there is none."""
    found = p2p_findings(split_paste(clean_lines(text)).blocks, file=file)
    if not found.facts:
        raise InputError(
            "there is no status between two GPUs here",
            where=file,
            why="the matrix has one GPU, or its rows are cut",
            remedy="paste the whole output of `nvidia-smi topo -p2p r`",
        )
    return Evidence(NAME, file, tuple(found.facts), tuple(found.remarks))


def p2p_findings(blocks: Iterable[Block], *, file: str) -> Findings:
    """Facts and remarks of the status matrices among some blocks; the first of a kind holds."""
    found = Findings()
    seen: set[str] = set()
    for block in blocks:
        if not (block.is_p2p and block.header and block.rows):
            continue
        attribute = _ATTRIBUTES.get(block.mode or "", "p2p_status")
        matrix = read_matrix(block, file=file)
        if attribute in seen:
            text = f"a second matrix of {attribute} follows and is not used"
            found.remarks.append(Remark("second-matrix", text, matrix.line))
            continue
        seen.add(attribute)
        pairs = pair_findings(matrix, attribute)
        found.facts.extend(pairs.facts)
        found.remarks.extend(pairs.remarks)
    return found


FORMAT = Format(NAME, "the status matrix of `nvidia-smi topo -p2p`", sniff, read)
