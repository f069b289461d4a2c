"""diff_machines: which parts, links and paths of two machines differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from wirespeed.comparison.diff import Difference, DiffReport
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.describe import describe
from wirespeed.topology.report import TopoReport
from wirespeed.topology.result import ParameterSet

Said = Mapping[str, str]


def diff_machines(before: Cluster, after: Cluster, parameters: ParameterSet) -> DiffReport:
    """The report on two machines; parts bear the same names where they stand in the same place."""
    old, new = describe(before, parameters), describe(after, parameters)
    found = tuple(_differences(old, new))
    counts = Counter(entry.what for entry in found)
    said = ", ".join(f"{count} {what}{'s' if count > 1 else ''}" for what, count in counts.items())
    sentence = f"They differ in {said}." if found else "No part, link or path differs."
    return DiffReport(
        parameters=parameters,
        kind="machines",
        verdict="different" if found else "same",
        sentence=sentence.replace("odditys", "oddities"),
        before=old.name,
        after=new.name,
        differences=found,
    )


def _differences(old: TopoReport, new: TopoReport) -> Iterator[Difference]:
    yield from _pairs("part", _counts(old), _counts(new))
    yield from _pairs("part", _parts(old), _parts(new))
    yield from _pairs("link", _links(old), _links(new))
    yield from _pairs("path", _paths(old), _paths(new))
    yield from _pairs("oddity", _oddities(old), _oddities(new))


def _pairs(what: str, old: Said, new: Said) -> Iterable[Difference]:
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name, ""), new.get(name, "")
        if before != after:
            yield Difference(what, name, before, after)  # type: ignore[arg-type]


def _counts(report: TopoReport) -> Said:
    """How many there are of each kind."""
    kinds = ("gpus", "cpus", "pcie_switches", "nics", "nvswitches")
    counts = {kind: str(len(getattr(report, kind))) for kind in kinds}
    counts["nodes"] = str(report.nodes)
    counts["fabric"] = report.fabric.name if report.fabric else ""
    return counts


def _parts(report: TopoReport) -> Said:
    """Model, rate and NUMA node of each part; names are those of the topology."""
    found = {gpu.name: f"{gpu.model}, NUMA {gpu.numa}" for gpu in report.gpus}
    found |= {n.name: f"{n.model}, {n.rate_Gbps:g} Gb/s, NUMA {n.numa}" for n in report.nics}
    for part in (*report.cpus, *report.nvswitches):
        found[part.name] = part.model or "there"
    return found


def _links(report: TopoReport) -> Said:
    """Kind, lanes and rate of each link; the two directions of a cable that are alike are one."""
    rates = {
        (link.source, link.target): f"{link.kind} x{link.lanes}, {link.bandwidth_GBps:.4g} GB/s"
        for link in report.links
    }
    found = {}
    for (source, target), text in rates.items():
        if rates.get((target, source)) != text:
            found[f"{source}>{target}"] = text
        elif f"{target}-{source}" not in found:
            found[f"{source}-{target}"] = text
    return found


def _paths(report: TopoReport) -> Said:
    """nvidia-smi's and NCCL's word and the rate of each pair."""
    found: dict[str, str] = {}
    for pair in report.pairs:
        text = f"{pair.smi or 'no way'} ({pair.nccl}), {pair.bandwidth_GBps:.4g} GB/s"
        if found.get(f"{pair.target} - {pair.source}") != text:
            found[f"{pair.source} - {pair.target}"] = text
    return found


def _oddities(report: TopoReport) -> Said:
    return {f"{entry.code} {entry.where}".strip(): entry.text for entry in report.oddities}
