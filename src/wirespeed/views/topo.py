"""A machine as a person reads it: what is in it, the ways between GPUs, the NICs beside them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from wirespeed.topology.report import GpuRow, NicRow, PairRow, TopoReport
from wirespeed.topology.software import Notice
from wirespeed.views.document import Block, Column, Document, Facts, Heading, Items, Sentence, Table
from wirespeed.views.words import LINKS, WAYS, counted, rate, tally

_MATRIX_LIMIT = 16


def document(report: TopoReport) -> Document:
    """The report as facts, a matrix, its summary, NIC affinity, oddities and notes."""
    return tuple(_blocks(report))


def _blocks(report: TopoReport) -> Iterator[Block]:
    yield Heading(_headline(report))
    nodes = list(dict.fromkeys(_node(gpu.name) for gpu in report.gpus))
    parts = list(_by_node(report, nodes))
    yield Facts((*_cluster_facts(report, len(nodes)), *_node_facts(parts[0])))
    for node, part in zip(nodes, parts, strict=True):
        yield from _node_blocks(part, f" of {node}" if len(nodes) > 1 else "")
    if report.oddities:
        yield Heading("Oddities")
        yield Items(tuple(_placed(oddity) for oddity in report.oddities), odd=True)
    if report.warnings:
        yield Heading("Notes")
        yield Items(tuple(warning.text for warning in report.warnings))


def _node_blocks(report: TopoReport, where: str) -> Iterator[Block]:
    """What there is to say of one node."""
    gpus = [gpu.name for gpu in report.gpus]
    own = set(gpus)
    between = [pair for pair in report.pairs if pair.target in own]
    if between:
        amd = any(row.kind == "xgmi" for row in report.links)
        yield Heading(f"Between GPUs{where}")
        if len(gpus) <= _MATRIX_LIMIT:
            yield _matrix(gpus, between, amd)
        yield _summary(between, amd)
    if report.nics:
        yield Heading(f"NICs{where}")
        yield _affinity(report)
        if others := [_short(nic.name) for nic in report.nics if nic.rail is None]:
            yield Sentence(f"Not for compute (storage, front end): {', '.join(others)}.")


def _by_node(report: TopoReport, nodes: Sequence[str]) -> Iterator[TopoReport]:
    """The report with each node's parts alone; what belongs to its rack stays."""
    parts = ("gpus", "cpus", "pcie_switches", "nics", "nvswitches")
    rows = {part: _rows_by_node(getattr(report, part), lambda row: (row.name,)) for part in parts}
    for part in ("links", "pairs"):
        rows[part] = _rows_by_node(getattr(report, part), lambda row: (row.source, row.target))
    for node in nodes:
        mine = {}
        for part, by in rows.items():
            # What is no node's own keeps its place between the rows that are.
            own = [*by[node], *(by[""] if node else ())]
            mine[part] = tuple(row for _, row in sorted(own, key=itemgetter(0)))
        yield msgspec.structs.replace(report, **mine)


def _rows_by_node(
    rows: Iterable[Any], names: Callable[[Any], tuple[str, ...]]
) -> dict[str, list[tuple[int, Any]]]:
    """By node, rows that are between its own parts and its rack's; with "" those of racks alone."""
    found: dict[str, list[tuple[int, Any]]] = defaultdict(list)
    for place, row in enumerate(rows):
        homes = {_node(name) for name in names(row) if name.startswith("node")} or {""}
        if len(homes) == 1:
            found[homes.pop()].append((place, row))
    return found


def _placed(notice: Notice) -> str:
    named = not notice.where or notice.text.startswith(notice.where)
    return notice.text if named else f"{notice.where}: {notice.text}"


def _headline(report: TopoReport) -> str:
    models = list(dict.fromkeys(gpu.model for gpu in report.gpus))
    model = models[0] if len(models) == 1 else "GPUs"
    where = "" if report.nodes == 1 else f" on {counted(report.nodes, 'node')}"
    return f"{report.name}: {report.total_gpus:,}x {model}{where}"


def _cluster_facts(report: TopoReport, listed: int) -> Iterator[tuple[str, str]]:
    if report.nodes > 1:
        shown = "all of them below" if listed == report.nodes else "one of each kind below"
        below = shown if listed > 1 else "equal to the one below"
        yield "Nodes", f"{report.nodes:,}, {below}"
    if report.fabric:
        yield "Fabric", f"{report.fabric.name}: {report.fabric.description}"


def _node_facts(report: TopoReport) -> Iterator[tuple[str, str]]:
    yield "GPUs", tally(gpu.model for gpu in report.gpus)
    yield from _gpu_links(report)
    if report.nvlink_domain > 1:
        kind = "xgmi" if any(row.kind == "xgmi" for row in report.links) else "nvlink"
        yield f"{LINKS[kind]} domain", f"{report.nvlink_domain} GPUs"
    if report.cpus:
        yield "CPUs", _cpus(report)
    if pcie := _pcie(report):
        yield "PCIe", pcie
    if report.nics:
        yield "NICs", tally(_nic(nic) for nic in report.nics)


def _gpu_links(report: TopoReport) -> Iterator[tuple[str, str]]:
    """NVLink, xGMI and C2C of the first GPU: to what, how many links, how much in all."""
    first = report.gpus[0].name
    for row in report.links:
        if row.source == first and row.kind == "c2c":
            yield LINKS["c2c"], f"{rate(row.bandwidth_GBps)} GB/s a GPU to its CPU, per direction"
    for kind in ("nvlink", "xgmi"):
        links = [row for row in report.links if row.source == first and row.kind == kind]
        if not links:
            continue
        lanes, total = sum(row.lanes for row in links), sum(row.bandwidth_GBps for row in links)
        switched = any("nvswitch" in row.target for row in links)
        models = tally(switch.model or "NVSwitch" for switch in report.nvswitches)
        to = models if switched else f"{counted(len(links), 'GPU')} directly"
        yield (
            LINKS[kind],
            f"{counted(lanes, 'link')} a GPU to {to}; {rate(total)} GB/s a GPU, per direction",
        )


def _cpus(report: TopoReport) -> str:
    models = ", ".join(dict.fromkeys(cpu.model for cpu in report.cpus if cpu.model))
    nodes = counted(len(report.cpus), "NUMA node")
    return f"{models}, {nodes}" if models else nodes


def _pcie(report: TopoReport) -> str:
    """Switches, and what the GPUs' slots give."""
    gpus = {gpu.name for gpu in report.gpus}
    slots = {
        (row.lanes, round(row.bandwidth_GBps, 1))
        for row in report.links
        if row.kind == "pcie" and row.source in gpus
    }
    switches = counted(len(report.pcie_switches), "switch") if report.pcie_switches else ""
    speeds = (f"GPUs on x{lanes}, {rate(speed)} GB/s" for lanes, speed in sorted(slots))
    return "; ".join(part for part in (switches, *speeds) if part)


def _nic(nic: NicRow) -> str:
    return f"{nic.model or 'NIC'} {rate(nic.rate_Gbps)} Gb/s"


def _short(name: str) -> str:
    """A part's name without the node, for where only one is shown."""
    return name.rpartition("/")[2]


def _node(name: str) -> str:
    return name.rpartition("/")[0]


def _word(pair: PairRow, amd: bool) -> str:
    """nvidia-smi's word; XGMI where AMD's links join the two, for which it has none."""
    return "XGMI" if amd and pair.nccl == "NVL" else pair.smi or "-"


def _matrix(gpus: list[str], between: list[PairRow], amd: bool) -> Table:
    words = {(pair.source, pair.target): _word(pair, amd) for pair in between}
    names = [_short(gpu) for gpu in gpus]
    rows = tuple(
        (name, *("X" if a == b else words.get((a, b), "-") for b in gpus))
        for name, a in zip(names, gpus, strict=True)
    )
    columns = (Column("", right=False), *(Column(name, right=False) for name in names))
    return Table(columns, rows)


def _summary(between: list[PairRow], amd: bool) -> Table:
    """Classes of pairs, fastest first. Both directions of a pair count once."""
    classes: dict[tuple[str, str, str], int] = {}
    for pair in between:
        key = (_word(pair, amd), pair.nccl, rate(pair.bandwidth_GBps))
        classes[key] = classes.get(key, 0) + 1
    ordered = sorted(classes.items(), key=lambda item: (-float(item[0][2]), item[0]))
    rows = tuple(
        (str(count // 2), word, nccl, speed, _way(word, nccl, amd))
        for (word, nccl, speed), count in ordered
    )
    columns = (
        Column("pairs"),
        Column("nvidia-smi", right=False),
        Column("NCCL", right=False),
        Column("GB/s per direction"),
        Column("over", right=False),
    )
    return Table(columns, rows)


def _way(word: str, nccl: str, amd: bool) -> str:
    if nccl == "NVB":
        return WAYS["XGMI over a GPU" if amd else "NVB"]
    return WAYS["NV"] if word.startswith("NV") else WAYS.get(word, "")


def _affinity(report: TopoReport) -> Table:
    """The nearest NICs of every GPU and how it reaches them."""
    pairs = {(pair.source, pair.target): pair for pair in report.pairs}
    nics = {nic.name: nic for nic in report.nics}
    columns = (
        Column("GPU", right=False),
        Column("NUMA"),
        Column("nearest NICs", right=False),
        Column("nvidia-smi", right=False),
        Column("NCCL", right=False),
        Column("way GB/s"),
        Column("NICs Gb/s"),
    )
    rows = (_affinity_row(gpu, pairs, nics) for gpu in report.gpus)
    return Table(columns, tuple(rows))


def _affinity_row(
    gpu: GpuRow, pairs: dict[tuple[str, str], PairRow], nics: dict[str, NicRow]
) -> tuple[str, ...]:
    name = _short(gpu.name)
    numa = "-" if gpu.numa is None else str(gpu.numa)
    near = [pairs[gpu.name, nic] for nic in gpu.nics if (gpu.name, nic) in pairs]
    if not near:
        return (name, numa, "none", "", "", "", "")
    return (
        name,
        numa,
        " ".join(_short(nic) for nic in gpu.nics),
        " ".join(dict.fromkeys(pair.smi for pair in near)),
        " ".join(dict.fromkeys(pair.nccl for pair in near)),
        rate(max(pair.bandwidth_GBps for pair in near)),
        rate(sum(nics[nic].rate_Gbps for nic in gpu.nics)),
    )
