"""as_topology: hwloc's tree in the words of a topology XML, with NVLinks counted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wirespeed.catalog import nvlink_of
from wirespeed.evidence import Evidence, Fact
from wirespeed.inventory.from_xml_ids import gpu_by_id, gpu_row
from wirespeed.units import GB

_CPU_CLASS = "0x068001"
_GPU_CLASS = "0x030200"
_CPU_BRIDGE = "cpu"
_FIRST_RATE = 20 * GB
"""Of a link where the catalog does not have the GPU: NVLink 1's."""
_GPU = re.compile(r"gpu\d+")


def as_topology(evidence: Evidence) -> Evidence:
    """The evidence with the links of each GPU as counts, as NCCL's file has them.

    hwloc states bandwidths; a link's own rate is that of the GPU's generation.
    """
    rate = _link_rate(evidence)
    buses = {f.subject: str(f.value) for f in evidence.facts if f.attribute == "bus_id"}
    facts: list[Fact] = []
    for fact in evidence.facts:
        if fact.attribute == "nvlink_MBps" and isinstance(fact.value, int):
            facts += _counted(fact, rate, buses)
        else:
            facts.append(fact)
    return Evidence(evidence.format, evidence.file, tuple(facts), evidence.remarks)


def _link_rate(evidence: Evidence) -> float:
    """What one link carries one way [B/s]."""
    values = {(f.subject, f.attribute): f.value for f in evidence.facts}
    for (subject, attribute), bus in values.items():
        if attribute != "bus_id" or not _GPU.fullmatch(subject):
            continue
        place = f"pci {bus}"
        name = gpu_by_id(str(values.get((place, "vendor"))), str(values.get((place, "device"))))
        row = gpu_row(name) or gpu_row(str(values.get((subject, "model"), "")))
        if row is not None and (generation := nvlink_of(row)):
            return generation[0].bandwidth()
    return _FIRST_RATE


def _counted(fact: Fact, rate: float, buses: dict[str, str]) -> Iterator[Fact]:
    gpu, _, target = fact.subject.partition(">")
    count = max(1, round(int(str(fact.value)) * 1e6 / rate))
    if target.startswith("gpu"):
        subject, class_ = f"{gpu}>pci {buses.get(target, '')}", _GPU_CLASS
    elif target.startswith("cpu"):
        subject, class_ = f"{gpu}>pci {_CPU_BRIDGE}", _CPU_CLASS
    else:
        subject, class_ = fact.subject, ""
    yield Fact(subject, "nvlink", count, fact.line, inferred=True)
    if class_:
        yield Fact(subject, "target_class", class_, fact.line, inferred=True)
