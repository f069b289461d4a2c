"""The kernel's log: PCIe links below what a device can do, GPUs' and switches' own errors.

| subject | attributes |
|---|---|
| `pci 0000:04:00.0` | pcie_Gbps, pcie_max_Gbps (what the path gives, what the device could take), |
| | pcie_limit_GTps, pcie_limit_lanes, pcie_limit_at (the link that limits, by its device), |
| | xid (a number; one fact each), sxid, aer (corrected, nonfatal or fatal), link_lost |
| `kernel` | iommu (translated or passthrough), iommu_enabled, peermem (what is said of it), |
| | out_of_memory, lines |
| `net ib0` | link (up or down) |

Remarks: `lines-left-out` (an ellipsis). Lines about anything else are passed over.
"""

from __future__ import annotations

import re

from wirespeed.evidence import Evidence
from wirespeed.readers._bus import ADDRESS, subject_of
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, is_ellipsis
from wirespeed.readers._text import sure_lines

NAME = "dmesg"

_LIMITED = re.compile(
    rf"({ADDRESS}): (\d+(?:\.\d+)?) Gb/s available PCIe bandwidth(?:, limited by "
    rf"(\d+(?:\.\d+)?) GT/s(?: PCIe)? x(\d+) link at ({ADDRESS}) "
    r"\(capable of (\d+(?:\.\d+)?) Gb/s)?"
)
_XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]{7,16})\): (\d{1,4})\b")
_SXID = re.compile(r"nvidia-nvswitch\d+: SXid \(PCI:([0-9a-fA-F:.]{7,16})\): (\d{3,6})\b")
_AER = re.compile(
    rf"({ADDRESS}): (?:AER: |PCIe Bus Error: ).{{0,80}}?"
    r"(severity[=:] ?)?\b(Corrected|Uncorrect\w* \(?(?:Non-?Fatal|Fatal)|Fatal|Non-?Fatal)",
    re.IGNORECASE,
)
_LOST = re.compile(rf"({ADDRESS}).{{0,60}}(?:fallen off the bus|GPU is lost)", re.IGNORECASE)
_IOMMU = re.compile(r"iommu: Default domain type: (Translated|Passthrough)", re.IGNORECASE)
_IOMMU_ON = re.compile(r"DMAR: IOMMU enabled|AMD-Vi: Interrupt remapping enabled")
_PEERMEM = re.compile(r"\b(?:nvidia[-_]peermem|nv_peer_mem)\b.{0,120}")
_MEMORY = re.compile(r"Out of memory: Killed process|oom-kill:")
_NETDEV = re.compile(r"(?:mlx\d_core|mlx\d_\d) .{0,60}?\b([a-z][\w.]{1,20}): Link (up|down)\b")
_SIGN = re.compile(
    "|".join(
        (
            r"Gb/s available PCIe bandwidth",
            r"NVRM: Xid \(PCI:",
            r"nvidia-nvswitch\d+: SXid",
            r"^(?:<\d+>)?\[ *\d{1,9}\.\d{6}\] ",
        )
    ),
    re.MULTILINE,
)


def sniff(text: str) -> float:
    """1 where the kernel's time stamps, or its words on links and GPUs, stand."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of what the kernel says of links and GPUs; it may say nothing of them."""
    found = Gathered()
    count = 0
    for line in sure_lines(text):
        words, number = line.text[:2000], line.number
        count += bool(words.strip())
        if is_ellipsis(words):
            found.left_out(words, number)
        elif limited := _LIMITED.search(words):
            _read_limited(limited, number, found)
        elif xid := _XID.search(words):
            found.add(subject_of(xid[1]) or "gpu ?", "xid", int(xid[2]), number)
            if int(xid[2]) == 79:
                found.add(subject_of(xid[1]) or "gpu ?", "link_lost", True, number)
        elif sxid := _SXID.search(words):
            found.add(subject_of(sxid[1]) or "nvswitch ?", "sxid", int(sxid[2]), number)
        elif lost := _LOST.search(words):
            found.add(subject_of(lost[1]) or "gpu ?", "link_lost", True, number)
        elif aer := _AER.search(words):
            found.add(subject_of(aer[1]) or "pci ?", "aer", _severity(aer[3]), number)
        else:
            _read_other(words, number, found)
    found.add("kernel", "lines", count, 0)
    return found.evidence(
        NAME, file, nothing="the log is empty", remedy="give the whole output of `sudo dmesg`"
    )


def _read_limited(limited: re.Match[str], line: int, found: Gathered) -> None:
    address, rate, gtps, lanes, at, capable = limited.groups()
    subject = subject_of(address) or "pci ?"
    found.add(subject, "pcie_Gbps", float(rate), line)
    if gtps:
        found.add(subject, "pcie_limit_GTps", float(gtps), line)
        found.add(subject, "pcie_limit_lanes", int(lanes), line)
        found.add(subject, "pcie_limit_at", subject_of(at), line)
        found.add(subject, "pcie_max_Gbps", float(capable), line)


def _severity(words: str) -> str:
    word = words.lower()
    if word.startswith("corrected"):
        return "corrected"
    return "nonfatal" if "non" in word else "fatal"


def _read_other(words: str, line: int, found: Gathered) -> None:
    if iommu := _IOMMU.search(words):
        found.add("kernel", "iommu", iommu[1].lower(), line)
    elif _IOMMU_ON.search(words):
        found.add("kernel", "iommu_enabled", True, line)
    elif peermem := _PEERMEM.search(words):
        found.add("kernel", "peermem", peermem[0].strip(), line)
    elif _MEMORY.search(words):
        found.add("kernel", "out_of_memory", True, line)
    elif netdev := _NETDEV.search(words):
        found.add(f"net {netdev[1]}", "link", netdev[2].lower(), line)


FORMAT = Format(NAME, "the kernel's log, as `dmesg` prints it", sniff, read)
