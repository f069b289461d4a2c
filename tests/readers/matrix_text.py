"""Machines whose links are known, printed as `nvidia-smi topo -m` and its users would."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wirespeed.evidence import Evidence

LEGEND = (
    "",
    "Legend:",
    "",
    "  X    = Self",
    "  SYS  = over the link between NUMA nodes",
    "  NV#  = a bonded set of # NVLinks",
)
FIELD_TITLES = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")


@dataclass(frozen=True)
class Machine:
    """`words[a][b]` between devices in column order; GPUs first; `fields` of each GPU's row."""

    names: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    fields: tuple[tuple[str, ...], ...]
    labels: tuple[str, ...] = ()

    @property
    def gpus(self) -> int:
        return len(self.fields)

    @property
    def subjects(self) -> list[str]:
        nics = range(len(self.names) - self.gpus)
        gpus = [f"gpu{re.sub('[A-Z]+', '', name)}" for name in self.names[: self.gpus]]
        return [*gpus, *(f"nic{number}" for number in nics)]

    def pairs(self) -> dict[str, str]:
        """What a reader must say of each ordered pair."""
        subjects = self.subjects
        return {
            f"{a}>{b}": self.words[i][j].replace("SOC", "SYS")
            for i, a in enumerate(subjects)
            for j, b in enumerate(subjects)
            if i != j
        }


@dataclass(frozen=True)
class Dialect:
    """How drivers, terminals and people print it."""

    separator: str = "\t"
    fields: int = 3
    """How many columns the driver has behind the devices."""
    double_tab: bool = False
    ansi: str = ""
    """`before` or `after` the first tab, or nothing."""
    dedent: bool = False
    prompt: bool = False
    fence: bool = False
    quote: str = ""
    empty_fields: bool = False
    legend: bool = True
    newline: str = "\n"


def print_matrix(machine: Machine, dialect: Dialect | None = None) -> str:
    """The text of a machine in a dialect."""
    look = dialect or Dialect()
    titles = FIELD_TITLES[: look.fields]
    header = ["", *machine.names, *titles]
    lines = [_join(header[1:] if look.dedent else header, look)]
    if look.ansi:
        head = lines[0]
        at = 0 if look.ansi == "before" or look.separator != "\t" else 1
        lines[0] = f"{head[:at]}\x1b[4m{head[at:]}\x1b[0m"
    for at, name in enumerate(machine.names):
        cells = [" X " if word == "X" else word for word in machine.words[at]]
        behind: tuple[str, ...] = ("",) * 4 if look.empty_fields and look.separator == "\t" else ()
        if at < machine.gpus:
            behind = machine.fields[at][: look.fields]
            if look.double_tab and look.separator == "\t" and len(behind) == 3:
                behind = (behind[0], behind[1], "", behind[2])
        lines.append(_join([name, *cells, *behind], look))
    if look.legend:
        lines += LEGEND
    if machine.labels:
        lines += ["", "NIC Legend:", ""]
        lines += [f"  NIC{at}: {label}" for at, label in enumerate(machine.labels)]
    if look.prompt:
        lines.insert(0, "user@host:~$ nvidia-smi topo -m")
    if look.fence:
        lines = ["Here is our box:", "```", *lines, "```", "Any idea why it is slow?"]
    return "".join(f"{look.quote}{line}{look.newline}" for line in lines)


def _join(cells: list[str], look: Dialect) -> str:
    if look.separator == "\t":
        return "\t".join(cells)
    return "".join(f"{cell.strip():<14}" for cell in cells).rstrip()


def square(text: str) -> tuple[tuple[str, ...], ...]:
    """The words of a small matrix written row by row."""
    return tuple(tuple(line.split()) for line in text.strip().splitlines())


def mesh(gpus: int, word: str) -> tuple[tuple[str, ...], ...]:
    """All pairs alike."""
    return tuple(tuple("X" if i == j else word for j in range(gpus)) for i in range(gpus))


TWO_SOCKETS = Machine(
    names=("GPU0", "GPU1", "GPU2", "GPU3", "NIC0", "NIC1"),
    words=square(
        """
        X    NV4  NODE SYS  PIX  SYS
        NV4  X    SYS  NODE PXB  SYS
        NODE SYS  X    NV4  SYS  PHB
        SYS  NODE NV4  X    SYS  NODE
        PIX  PXB  SYS  SYS  X    SYS
        SYS  SYS  PHB  NODE SYS  X
        """
    ),
    fields=(
        ("0-31,64-95", "0", "N/A"),
        ("0-31,64-95", "0", "N/A"),
        ("32-63,96-127", "1", "N/A"),
        ("32-63,96-127", "1", "N/A"),
    ),
    labels=("mlx5_2", "mlx5_bond_0"),
)
"""Four GPUs, two NICs, every word once: what most tests here cut and damage."""


def pairs_of(evidence: Evidence, attribute: str = "smi") -> dict[str, object]:
    """Subject -> value of all pair facts."""
    return {f.subject: f.value for f in evidence.facts if f.attribute == attribute}


def codes(evidence: Evidence) -> set[str]:
    """The codes of its remarks."""
    return {remark.code for remark in evidence.remarks}
