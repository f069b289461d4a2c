"""pci_statements: what `lspci -vv` says of the PCIe links of GPUs and of bridges above them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wirespeed.errors import first_of
from wirespeed.evidence import Evidence, Fact
from wirespeed.readers import lspci
from wirespeed.topology.software import Notice

_ATTRIBUTES = {"link_lanes": "pcie_width_current", "link_max_lanes": "pcie_width_max"}
_MOST_NAMED = 4


def with_pci_links(evidence: Iterable[Evidence]) -> list[Evidence]:
    """The evidence, where lspci's lanes are stated of the GPUs whose bus ids are known too."""
    parts = list(evidence)
    buses = {
        f"pci {fact.value}": fact.subject
        for part in parts
        for fact in part.facts
        if fact.attribute == "bus_id" and fact.subject.startswith("gpu")
    }
    return [_stated(part, buses) if _is_lspci(part) else part for part in parts]


def _stated(part: Evidence, buses: dict[str, str]) -> Evidence:
    own = [
        Fact(buses[fact.subject], _ATTRIBUTES[fact.attribute], fact.value, fact.line)
        for fact in part.facts
        if fact.attribute in _ATTRIBUTES and fact.subject in buses
    ]
    return Evidence(part.format, part.file, (*part.facts, *own), part.remarks, part.measurements)


def redirecting_bridges(evidence: Iterable[Evidence]) -> Iterator[Notice]:
    """A notice where bridges send peer-to-peer traffic up to the CPU (ACS)."""
    for part in evidence:
        if not _is_lspci(part):
            continue
        kinds = {f.subject: f.value for f in part.facts if f.attribute == "kind"}
        found = [
            fact
            for fact in part.facts
            if fact.attribute == "acs_redirect"
            and fact.value is True
            and kinds.get(fact.subject, "bridge") == "bridge"
        ]
        if found:
            names = [fact.subject.removeprefix("pci ") for fact in found]
            text = (
                f"access control (ACS) of {first_of(names, _MOST_NAMED)} sends traffic between "
                "PCIe devices up to the CPU; switch it off in the firmware or with setpci, where "
                "no virtual machine needs it"
            )
            yield Notice("acs-redirect", text, f"{part.file}:{found[0].line}")


def _is_lspci(part: Evidence) -> bool:
    return lspci.NAME in part.format.split("+")
