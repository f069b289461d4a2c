"""matrix_text: what `nvidia-smi topo -m` of a recent driver would print of a machine."""

from __future__ import annotations

import numpy as np

from wirespeed.inventory.graph_words import graph_words
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.unit import Unit

_FIELDS = ("CPU Affinity", "NUMA Affinity", "GPU NUMA ID")
_UNDERLINE, _PLAIN = "\x1b[4m", "\x1b[0m"
_LEGEND = (
    "",
    "Legend:",
    "",
    "  X    = the device itself",
    "  SYS  = across the link between NUMA nodes",
    "  NODE = across host bridges of one NUMA node",
    "  PHB  = across one host bridge",
    "  PXB  = across several PCIe switches, below the host bridge",
    "  PIX  = across one PCIe switch at most",
    "  NV#  = over that many bonded NVLinks",
)


def matrix_text(unit: Unit, *, cores: int = 32, underline: bool = True) -> str:
    """The matrix of the unit's first node, with tabs, a legend and one of the NICs.

    `cores` of each NUMA node, two threads a core, give the CPU affinity. `underline`: the header
    stands between escape sequences, as drivers from R550 on print it.
    """
    words = graph_words(unit)
    gpus, nics = (_of_first_node(unit, kind) for kind in (ComponentKind.GPU, ComponentKind.NIC))
    names = [f"gpu{unit.index[c]}" for c in gpus] + [f"nic{unit.index[c]}" for c in nics]
    title = "\t".join(["", *(name.upper() for name in names), *_FIELDS])
    lines = [f"{_UNDERLINE}{title}{_PLAIN}" if underline else title]
    cpus = int((unit.kind[unit.node == 0] == ComponentKind.CPU).sum())
    for at, name in enumerate(names):
        cells = [" X " if other == name else words[name, other] for other in names]
        behind = _fields(int(unit.numa[gpus[at]]), cpus, cores) if at < len(gpus) else ("",) * 4
        lines.append("\t".join([name.upper(), *cells, *behind]))
    lines += _LEGEND
    if nics:
        labels = (unit.labels.get(c, f"mlx5_{unit.index[c]}") for c in nics)
        lines += ["", "NIC Legend:", ""]
        lines += [f"  NIC{unit.index[c]}: {label}" for c, label in zip(nics, labels, strict=True)]
    return "\n".join(lines) + "\n"


def _of_first_node(unit: Unit, kind: ComponentKind) -> list[int]:
    found = np.flatnonzero((unit.kind == kind) & (unit.node == 0))
    return sorted(found.tolist(), key=lambda component: int(unit.index[component]))


def _fields(numa: int, cpus: int, cores: int) -> tuple[str, ...]:
    """CPU affinity, NUMA affinity, an empty field, GPU NUMA id."""
    first, all_cores = numa * cores, cpus * cores
    threads = (f"{start}-{start + cores - 1}" for start in (first, first + all_cores))
    return ",".join(threads), str(numa), "", "N/A"
