"""Faults as a ranked table, with what costs most and what to do about it above it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.planning.faults import FaultReport, FaultRow
from wirespeed.topology.change import ChangeKind, parse_change
from wirespeed.units import format_size
from wirespeed.views.document import Block, Column, Document, Facts, Heading, Items, Sentence, Table
from wirespeed.views.words import counted, number, percent, times

_COLUMNS = (
    Column("fault", right=False),
    Column("alike"),
    Column("GPUs left"),
    Column("time", "us"),
    Column("slowdown"),
    Column("if taken out", "us"),
)
_FELT = 1.005
"""What is less than half a percent costs nothing."""
_BETTER = 0.99

_REMEDIES = {
    "p2p": "see that NCCL_P2P_DISABLE is not set and that nothing keeps GPUs from each other's "
    "memory: `nvidia-smi topo -p2p r`",
    "net": "NCCL_DEBUG=INFO must print NET/IB or the plugin's name, not NET/Socket",
    "gdr": "load nvidia-peermem or a driver with dma-buf: NCCL_DEBUG=INFO prints GDRDMA",
    "nvls": "see that the fabric manager runs and NCCL_NVLS_ENABLE is not 0",
    "sharp": "the SHARP plugin and NCCL_COLLNET_ENABLE=1 bring it back",
    "pxn": "unset NCCL_PXN_DISABLE",
    "acs": "switch ACS off on the PCIe bridges, and the IOMMU to pass-through",
}
"""How to keep a capability."""


def document(report: FaultReport) -> Document:
    """The sentence that sums up, facts, the ranked table, and what costs nothing."""
    return tuple(_blocks(report))


def _blocks(report: FaultReport) -> Iterator[Block]:
    felt = [row for row in report.rows if row.slowdown is None or row.slowdown >= _FELT]
    free = [row for row in report.rows if row not in felt]
    where = f"{counted(report.nodes, 'node')}, {counted(report.ranks, 'GPU')}"
    size = format_size(report.size_bytes)
    yield Heading(f"{report.operation} of {size} on {report.machine}: what a fault costs")
    yield Sentence(" ".join(_summary(felt)))
    yield Facts(tuple(_facts(report, where)))
    if felt:
        yield Heading("Ranked by cost")
        yield Table(_COLUMNS, tuple(map(_row, felt)))
    if blocked := [row for row in felt if row.slowdown is None]:
        reasons = dict.fromkeys(row.reason for row in blocked)
        yield Items(tuple(f"{_changes(blocked, reason)}: {reason}" for reason in reasons), odd=True)
    if free:
        yield Sentence(f"Without a cost here: {', '.join(row.change for row in free)}.")
    if report.left_out:
        kinds = counted(report.left_out, "kind")
        yield Sentence(f"{kinds} of faults that cost less are left out by --top.")
    notes = [f"{row.change}: {row.note}" for row in report.rows if row.note]
    notes += [warning.text for warning in report.warnings]
    if notes:
        yield Heading("Notes")
        yield Items(tuple(notes))


def _facts(report: FaultReport, where: str) -> Iterator[tuple[str, str]]:
    yield "Cluster", where
    yield "GPU", report.gpu
    yield "Library", report.library
    if report.fabric:
        yield "Fabric", report.fabric
    yield "Without a fault", f"{number(report.time_us)} us"


def _summary(felt: Sequence[FaultRow]) -> Iterator[str]:
    """What costs most among parts and among settings, and what helps."""
    is_part = {row.change: parse_change(row.change).kind is ChangeKind.RESOURCE for row in felt}
    parts = [row for row in felt if is_part[row.change]]
    settings = [row for row in felt if not is_part[row.change]]
    if not felt:
        yield "No single fault slows it down."
    if parts:
        worst = parts[0]
        yield f"Of what can break, {worst.change} costs most: {_cost(worst)}."
        if advice := _advice(worst):
            yield advice
    if settings:
        worst = settings[0]
        remedy = _REMEDIES.get(worst.change.partition("=")[0], "")
        yield (
            f"Of what can be set wrong it is {worst.change}: {_cost(worst)}"
            + (f"; {remedy}." if remedy else ".")
        )


def _cost(row: FaultRow) -> str:
    """What one does, and how many there are."""
    many = f", and there are {row.count:,} alike" if row.count > 1 else ""
    if row.slowdown is None:
        return f"it cannot run at all{many}"
    return f"{times(row.slowdown)} the time{many}"


def _advice(row: FaultRow) -> str:
    if row.time_us is None:
        return "A second one beside it, or leaving that node out with --ranks, keeps the job alive."
    if row.down_us is not None and row.down_us < _BETTER * row.time_us:
        saved = percent(1 - row.down_us / row.time_us)
        return f"Taken out of service until it is repaired, it costs {saved} less time."
    return ""


def _changes(rows: Sequence[FaultRow], reason: str) -> str:
    return ", ".join(row.change for row in rows if row.reason == reason)


def _row(row: FaultRow) -> tuple[str, ...]:
    return (
        row.change,
        f"{row.count:,}",
        f"{row.ranks:,}",
        "cannot run" if row.time_us is None else number(row.time_us),
        "" if row.slowdown is None else times(row.slowdown),
        "" if row.down_us is None else number(row.down_us),
    )
