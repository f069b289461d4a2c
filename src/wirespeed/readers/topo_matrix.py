"""`nvidia-smi topo -m`: how GPUs and NICs of one host reach each other.

Facts: `gpu0>nic1` smi (NV18, PIX, PXB, PHB, NODE, SYS; other vendors' bonded links as printed) for
every ordered pair; `gpu0` index, name, cpu_affinity, numa, numa_nodes, gpu_numa_id, vendor_prefix;
`nic0` index, name, label. A status matrix in the same paste adds p2p_* facts (see topo_p2p).

Remarks:

| code | says |
|---|---|
| header-missing | no header: columns are named by the X of the rows |
| header-cut | the header breaks off inside |
| header-misfit | the header contradicts its rows and is left aside |
| header-glued | names without blanks between them were taken apart |
| column-unnamed | columns that nothing names are left out |
| row-cut | a row ends early; what was completed by symmetry |
| row-missing | a device has no readable row; what was completed by symmetry |
| row-damaged | a row, or its part on one side of X, is left out |
| pair-unknown | pairs of which neither row says anything |
| asymmetric | the two directions of a pair bear different words |
| unknown-word | a word that the matrix does not have |
| affinity-limited | all CPU affinities are equal and cannot be the hardware's: a cpuset |
| affinity-overlap | two CPU affinities overlap without being equal: one may be damaged |
| affinity-unclear | fields that cannot be told apart are left out |
| no-matrix | only the affinity columns are there |
| second-matrix | another matrix of the same kind was not used |
| legend-cut | the text breaks off inside the NIC legend |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Fact, Remark
from wirespeed.readers._format import Format
from wirespeed.readers._matrix_blocks import MOST_ROWS, Block, Paste, split_paste
from wirespeed.readers._matrix_devices import device_findings
from wirespeed.readers._matrix_header import CPU, Header
from wirespeed.readers._matrix_pairs import Findings, Matrix, pair_findings, read_matrix
from wirespeed.readers._matrix_words import SELF, parse_ids
from wirespeed.readers._text import clean_lines
from wirespeed.readers.topo_p2p import p2p_findings

NAME = "topo-m"


def sniff(text: str) -> float:
    """1 for a matrix with rows, less for the pieces of one."""
    paste = split_paste(clean_lines(text))
    if any(not block.is_p2p for block in _readable(paste.blocks)):
        return 1.0
    if any(not block.is_p2p for block in paste.blocks):
        return 0.5
    return 0.0


def read(text: str, file: str) -> Evidence:
    """Evidence of the first path matrix of a text, and of the status matrices beside it.

    Raises InputError where no row can be read under its columns.
    """
    paste = split_paste(clean_lines(text))
    if paste.overfull:
        raise InputError(
            f"more than {MOST_ROWS} rows of matrices are too many for one host",
            where=f"{file}:{paste.overfull}",
            why="one text is read as one host's",
            remedy="give the output of one host",
        )
    blocks = [block for block in _readable(paste.blocks) if not block.is_p2p]
    if not blocks:
        raise _no_matrix(paste, file)
    matrix = read_matrix(blocks[0], file=file)
    pairs = pair_findings(matrix, "smi")
    devices = device_findings(matrix, paste.labels)
    p2p = p2p_findings(paste.blocks, file=file)
    remarks = [*pairs.remarks, *devices.remarks, *p2p.remarks]
    if not matrix.columns.names:
        text = "only the affinity columns are here; how the devices are linked is not said"
        remarks.append(Remark("no-matrix", text, matrix.line))
    remarks.extend(_affinity_remarks(matrix, pairs.facts, devices.facts))
    remarks.extend(_other_matrices(blocks[1:], pairs, file))
    if paste.cut_label:
        text = "the text breaks off inside the NIC legend; its last name is left out"
        remarks.append(Remark("legend-cut", text, paste.cut_label))
    facts = (*devices.facts, *pairs.facts, *p2p.facts)
    if len(matrix.subjects) > 1 and not any(fact.attribute in ("smi", CPU) for fact in facts):
        raise _nothing_said(matrix, file)
    return Evidence(NAME, file, facts, tuple(remarks))


def _readable(blocks: Iterable[Block]) -> list[Block]:
    """Blocks that are matrices: with rows, and a header or an X to tell the columns by."""
    return [
        block
        for block in blocks
        if block.rows and (block.header or any(SELF in row.tokens for row in block.rows))
    ]


def _affinity_remarks(
    matrix: Matrix, pairs: Sequence[Fact], devices: Sequence[Fact]
) -> Iterable[Remark]:
    """Equal affinities are the job's where GPUs sit on different nodes, or outnumber the CPUs.

    Others are those of NUMA nodes, which share no CPU.
    """
    affinities = [
        fact for fact in devices if fact.attribute == CPU and fact.subject.startswith("gpu")
    ]
    first_of = {str(fact.value): fact for fact in reversed(affinities)}
    if len(affinities) < 2 or len(first_of) > 1:
        yield from _overlapping(list(first_of.values()))
        return
    cpus = len(parse_ids(str(affinities[0].value)) or ())
    apart = any(fact.value == "SYS" and fact.subject.count("gpu") == 2 for fact in pairs)
    if apart or cpus < len(affinities):
        text = (
            f"all GPUs show the CPU affinity {affinities[0].value}: it is limited by the cpuset of "
            "the job or container and tells nothing of sockets"
        )
        yield Remark("affinity-limited", text, affinities[0].line)


def _overlapping(affinities: Sequence[Fact]) -> Iterable[Remark]:
    owner: dict[int, Fact] = {}
    for fact in affinities:
        cpus = parse_ids(str(fact.value)) or ()
        if other := next((owner[cpu] for cpu in cpus if cpu in owner), None):
            text = (
                f"{other.subject} shows the CPU affinity {other.value} and {fact.subject} "
                f"{fact.value}: they overlap, which NUMA nodes do not"
            )
            yield Remark("affinity-overlap", text, max(fact.line, other.line))
        owner.update(dict.fromkeys(cpus, fact))


def _other_matrices(blocks: Sequence[Block], first: Findings, file: str) -> Iterable[Remark]:
    said = {(fact.subject, fact.value) for fact in first.facts}
    for block in blocks:
        other = pair_findings(read_matrix(block, file=file), "smi")
        same = {(fact.subject, fact.value) for fact in other.facts} == said
        how = "it says the same as the first" if same else "it differs; only the first is used"
        line = block.header.line if block.header else block.rows[0].line
        yield Remark("second-matrix", f"a second matrix follows: {how}", line)


def _no_matrix(paste: Paste, file: str) -> InputError:
    header = paste.first_header
    remedy = "paste the whole output of `nvidia-smi topo -m`, its header and all rows"
    if header is None:
        return InputError(
            "there is no matrix of `nvidia-smi topo -m` here",
            where=file,
            why="no line is a header of device names, and no row shows an X",
            remedy=remedy,
        )
    return InputError(
        "the matrix is cut " + _cut_where(header),
        where=f"{file}:{header.line}",
        why="no row of the matrix follows, so nothing says how the devices are linked",
        remedy=remedy,
    )


def _cut_where(header: Header) -> str:
    if header.cut_at:
        return f"inside its header, in column {header.cut_at}"
    return "after its header"


def _nothing_said(matrix: Matrix, file: str) -> InputError:
    return InputError(
        f"the matrix names {len(matrix.subjects)} devices and no link between them",
        where=f"{file}:{matrix.line}",
        why="its rows are cut before their first cell, or damaged",
        remedy="paste the whole output of `nvidia-smi topo -m`, its header and all rows",
    )


FORMAT = Format(NAME, "the matrix of `nvidia-smi topo -m`", sniff, read)
