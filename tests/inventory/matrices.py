"""Matrices written for these tests, and what to ask of the machine read from one."""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed.evidence import Evidence
from wirespeed.inventory.combined import combine
from wirespeed.inventory.machine import Read, read_machine
from wirespeed.readers import read_text
from wirespeed.topology.machine import Machine


def evidence_of(text: str, file: str = "box.txt") -> Evidence:
    return read_text(text, file=file)


def machine_from(evidence: Sequence[Evidence], *, gpu: str | None = None) -> Machine:
    """The machine that some files describe together."""
    return combine(evidence, gpu=gpu).machine


def read_matrix(text: str, *, gpu: str | None = None) -> Read:
    return read_machine([evidence_of(text)], gpu=gpu)


def machine_of_matrix(text: str, *, gpu: str | None = None) -> Machine:
    return read_matrix(text, gpu=gpu).machine


def square(gpus: int, word: str, *, numa: str = "", nics: int = 0, nic_words: str = "") -> str:
    """All pairs of GPUs alike. `numa` has a digit for each GPU; `nic_words` a row for each GPU."""
    names = [f"GPU{i}" for i in range(gpus)] + [f"NIC{i}" for i in range(nics)]
    rows = [line.split() for line in nic_words.strip().splitlines()]
    lines = ["\t".join(["", *names, "CPU Affinity", "NUMA Affinity"])]
    for i in range(gpus):
        cells = [" X " if i == j else word for j in range(gpus)]
        home = numa[i] if numa else "0"
        lines.append("\t".join([f"GPU{i}", *cells, *(rows[i] if rows else ()), "0-31", home]))
    for k in range(nics):
        column = [row[k] for row in rows]
        others = [" X " if k == other else "SYS" for other in range(nics)]
        lines.append("\t".join([f"NIC{k}", *column, *others]))
    return "\n".join([*lines, "", "Legend:", ""])


def with_cells(text: str, cells: dict[tuple[str, str], str]) -> str:
    """The matrix with other words between some pairs, in the direction given."""
    lines = [line.split("\t") for line in text.split("\n")]
    names = lines[0]
    for (a, b), word in cells.items():
        row = next(line for line in lines[1:] if line[0] == a)
        row[names.index(b)] = word
    return "\n".join("\t".join(line) for line in lines)


def both_ways(a: str, b: str, word: str) -> dict[tuple[str, str], str]:
    return {(a, b): word, (b, a): word}


def codes(machine: Machine) -> set[str]:
    """Codes of all that is said of a machine."""
    return {notice.code for notice in (*machine.warnings, *machine.oddities)}


def oddities(machine: Machine) -> dict[str, str]:
    """Code -> where, of what is odd about a machine."""
    return {notice.code: notice.where for notice in machine.oddities}


def said(machine: Machine, code: str) -> str:
    """The sentence behind a code."""
    return next(n.text for n in (*machine.warnings, *machine.oddities) if n.code == code)
