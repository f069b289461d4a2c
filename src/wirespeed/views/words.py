"""Words and numbers as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LINKS = {
    "pcie": "PCIe",
    "nvlink": "NVLink",
    "xgmi": "xGMI",
    "c2c": "C2C",
    "cpu": "the link between CPUs",
    "root": "a port of the host bridge",
    "network": "the network",
}
"""Kinds of links, as in JSON."""

PARTS = {
    "cpu": "the memory of a CPU",
    "root": "peer to peer through a host bridge",
    "pcie": "a PCIe switch as a whole",
    "nvswitch": "an NVSwitch as a whole",
    "nic": "a NIC as a whole",
    "gpu": "a GPU as a whole",
}
"""Kinds of components that are a bottleneck themselves."""

WAYS = {
    "NV": "bonded NVLinks",
    "NVB": "NVLinks of a GPU in between",
    "XGMI": "xGMI links",
    "XGMI over a GPU": "xGMI links of a GPU in between",
    "PIX": "one PCIe switch",
    "PXB": "several PCIe switches",
    "PHB": "a host bridge (CPU)",
    "NODE": "host bridges of one NUMA node",
    "SYS": "the link between NUMA nodes",
    "": "no way",
}
"""What lies between two devices, by nvidia-smi's word."""


def number(value: float) -> str:
    """A number with three digits that count, four from 100 on: 0.042, 31.5, 367.5, 20,483."""
    size = abs(value)
    if 0 < size < 0.001:
        return "<0.001"
    decimals = 3 if size < 1 else 2 if size < 10 else 1 if size < 10_000 else 0
    return f"{value:,.{decimals}f}"


def rate(value: float) -> str:
    """A bandwidth without needless digits: 450, 31.5, 25."""
    return f"{value:.1f}".removesuffix(".0")


def percent(share: float) -> str:
    """A share as a whole percentage; what is not nothing is at least <1 %."""
    return "<1 %" if 0 < share < 0.005 else f"{share * 100:.0f} %"


def times(factor: float) -> str:
    """A factor: x1.05, x0.42."""
    return f"x{factor:.2f}"


def counted(count: int, noun: str) -> str:
    """1 node, 2 nodes, 8 switches."""
    if count == 1:
        return f"{count} {noun}"
    return f"{count:,} {noun}{'es' if noun.endswith(('ch', 's')) else 's'}"


def tally(names: Iterable[str]) -> str:
    """Equal names counted: 2x Xeon, 1x EPYC."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{count}x {name}" for name, count in counts.items())


def listed(words: Sequence[str]) -> str:
    """a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
