"""What the library's picture of a machine says in a log (NCCL_DEBUG_SUBSYS=GRAPH), line by line.

The tree (`+ NVL[370.8] - NVS/0` below its GPU) and the table of paths
(`GPU/1B000 :GPU/1B000 (0/5000.0/LOC) GPU/43000 (2/370.8/NVL) … NET/0 (3/48.0/PIX)`). Newer releases
write the number of the system before a device: `GPU/0-1b000`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wirespeed.evidence import Fact
from wirespeed.readers._nccl_log_lines import Said

_DEVICE = r"(?:\d+-)?([0-9a-fA-F]{1,12})(?:/[0-9a-f-]+)?"
_ROW = re.compile(rf"GPU/{_DEVICE} ?:(.*)$")
_CELL = re.compile(rf"\b(GPU|NET)/{_DEVICE} \((\d+)/([\d.]+)/([A-Z0-9]{{3}})\)")
_BRANCH = re.compile(rf"\+ (PCI|NVL|XGMI|NET)\[([\d.]+)\] - (GPU|NVS|NET)/(?:{_DEVICE})?")
_MOST_HOSTS = 8
"""Hosts whose tables are kept: those of a job are alike, and a table has thousands of cells."""


class Picture:
    """Facts of the picture; remembers below which GPU of a process a branch stands."""

    def __init__(self) -> None:
        self._below: dict[str, str] = {}

    def facts(self, line: Said, host: str) -> Iterator[Fact]:
        """What one line says of devices and of the ways between them."""
        text = line.text
        if "GPU/" not in text and "NET/" not in text and "NVS/" not in text:
            return
        if not host.removeprefix("host").isdigit() or int(host[4:]) >= _MOST_HOSTS:
            return
        if row := _ROW.match(text):
            yield from _row(row, line, host)
        elif branch := _BRANCH.search(text):
            yield from self._branch(branch, line, host)

    def _branch(self, branch: re.Match[str], line: Said, host: str) -> Iterator[Fact]:
        how, rate, kind, device = branch[1], float(branch[2]), branch[3], (branch[4] or "").lower()
        if how == "PCI" and kind == "GPU":
            self._below[line.process] = device
            yield Fact(f"{host} gpu {device}", "in_graph", True, line.number)
        elif how == "XGMI" and kind == "GPU":
            yield Fact(f"{host} gpu {device}", "in_graph", True, line.number)
        elif how == "NET" and kind == "NET":
            yield Fact(f"{host} net{_number(device)}", "graph_GBps", rate, line.number)
        elif how == "NVL" and (gpu := self._below.get(line.process)):
            if kind == "NVS":
                yield Fact(f"{host} gpu {gpu}", "nvswitch_GBps", rate, line.number)
            elif kind == "GPU":
                subject = f"{host} gpu {gpu}>gpu {device}"
                yield Fact(subject, "nvlink_GBps", rate, line.number)


def _row(row: re.Match[str], line: Said, host: str) -> Iterator[Fact]:
    here = row[1].lower()
    for kind, device, _, rate, path in _CELL.findall(row[2]):
        there = device.lower()
        if kind == "GPU":
            yield Fact(f"{host} gpu {there}", "in_graph", True, line.number)
            if there == here:
                continue
        end = f"gpu {there}" if kind == "GPU" else f"net{_number(there)}"
        subject = f"{host} gpu {here}>{end}"
        yield Fact(subject, "path", path, line.number)
        yield Fact(subject, "path_GBps", float(rate), line.number)


def _number(device: str) -> int:
    """The number of a NIC, which is written in hexadecimal."""
    return int(device or "0", 16)
