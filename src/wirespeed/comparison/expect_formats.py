"""Expected numbers in the forms that health checks take: texts, made from a report alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from wirespeed.collectives.operation import Operation
from wirespeed.comparison.expect import ExpectReport, ExpectRow
from wirespeed.units import format_size

_COLUMNS = (
    "nodes",
    "ranks",
    "operation",
    "size_bytes",
    "time_us",
    "algbw_GBps",
    "busbw_GBps",
    "low_busbw_GBps",
    "high_busbw_GBps",
    "algorithm",
    "protocol",
    "bottleneck",
)
_TESTED = {
    Operation.ALL_REDUCE: "allreduce",
    Operation.ALL_GATHER: "allgather",
    Operation.REDUCE_SCATTER: "reducescatter",
    Operation.ALLTOALL: "alltoall",
    Operation.BROADCAST: "broadcast",
}
"""SuperBench's names."""
_BANDWIDTH = 2**24
"""[B] from which a bandwidth, not a latency, is checked."""


def as_csv(report: ExpectReport) -> str:
    """All rows, one a line under a header; bandwidths in GB/s (1e9), times in us."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for row in report.rows:
        writer.writerow([_cell(getattr(row, name)) for name in _COLUMNS])
    return text.getvalue()


def as_azurenhc(report: ExpectReport) -> str:
    """Lines for a configuration of AzureHPC node health checks: all-reduce on one node, copies.

    Source: the format of conf/nd96isr_h200_v5.conf in Azure/azurehpc-health-checks.
    """
    lines = [f"# Expected of {report.machine}: lower ends of what counts as healthy"]
    one = [row for row in report.rows if row.nodes == 1]
    reduce = _largest(one, Operation.ALL_REDUCE)
    if reduce is not None:
        size = format_size(reduce.size_bytes)
        lines.append(f" * || check_nccl_allreduce {reduce.low_busbw_GBps:.1f} 1 {size}")
    host = [
        row for kind in (Operation.H2D, Operation.D2H) if (row := _largest(one, kind)) is not None
    ]
    peer = _largest(one, Operation.P2P_COPY)
    if host:
        slowest = min(row.low_busbw_GBps for row in host)
        between = f" {peer.low_busbw_GBps:.0f}" if peer else ""
        lines.append(f" * || check_gpu_bw {slowest:.0f}{between}")
    return "\n".join(lines) + "\n"


def as_superbench(report: ExpectReport) -> str:
    """A rule file for `sb result diagnosis`: a value below the lower end is an issue.

    Source: SuperBench's documentation of data diagnosis.
    """
    lines = ["version: v0.12", "superbench:", "  rules:"]
    for row in report.rows:
        name = _TESTED.get(Operation(row.operation))
        if name is None or row.nodes != 1 or row.size_bytes < _BANDWIDTH:
            continue
        lines += [
            f"    {name}-{row.size_bytes}:",
            "      function: value",
            f"      criteria: 'lambda x: x < {row.low_busbw_GBps:.4g}'",
            "      categories: NCCL",
            "      metrics:",
            f"        - nccl-bw.*/{name}_{row.size_bytes}_busbw.*",
        ]
    return "\n".join(lines) + "\n"


FORMATS = {"csv": as_csv, "azurenhc": as_azurenhc, "superbench": as_superbench}


def _largest(rows: Iterable[ExpectRow], operation: Operation) -> ExpectRow | None:
    mine = [row for row in rows if row.operation == operation.value]
    return max(mine, key=lambda row: row.size_bytes, default=None)


def _cell(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value
