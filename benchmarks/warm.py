"""Times inside one process, on clusters that are built: `python benchmarks/warm.py`."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import wirespeed as ws
from network import symmetric
from wirespeed.network import fair_rates
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, changed

SIZES = "8:16G"
EDITS = [
    *(f"node{k}/nic{k % 8}=0.5" for k in range(10)),
    *(f"node{k}/nic{(k + 3) % 8}=down" for k in range(10)),
    *(f"node{k}/gpu{k % 8}>node{k}/nvswitch{k % 4}=0.5" for k in range(10)),
    *(f"leaf{k % 8}-spine{k % 4}=0.5" for k in range(10)),
    *("gdr=off", "nvls=off", "pxn=off", "net=socket", "acs=on"),
    *("proto=LL", "algo=Tree", "routing=ecmp", "routing=spray", "env:NCCL_CROSS_NIC=1"),
]


def row(what: str, work: Callable[[], object], target_ms: float | None, times: int = 10) -> None:
    """Print the shortest of a few runs beside the target."""
    seconds = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    best = min(seconds) * 1e3
    limit = f"{'-':>9}" if target_ms is None else f"{target_ms:9.0f}"
    over = "  over" if target_ms is not None and best > target_ms else ""
    print(f"  {what:43}{best:9.1f}{limit}{over}", flush=True)


def what_ifs(on: Cluster) -> None:
    """One forecast under each of fifty single changes."""
    for edit in EDITS:
        ws.collective("all_reduce", changed(on, [parse_change(edit)]), sizes="1G")


def main() -> None:
    print(f"In one process{'':31}{'min ms':>9}{'target':>9}")
    for nodes, target in ((16, 20), (512, 100)):
        on = ws.cluster("dgx-h100", nodes=nodes)
        for operation in ("all_reduce", "all_gather", "alltoall", "sendrecv"):
            row(
                f"{operation}, 32 sizes, {8 * nodes:,} GPUs",
                lambda on=on, operation=operation: ws.curve(operation, on, sizes=SIZES),
                target,
            )
    on = ws.cluster("dgx-h100", nodes=16)
    row(f"{len(EDITS)} what-ifs on 128 GPUs", lambda: what_ifs(on), 1000, 3)
    uses, capacity = symmetric(2**21)
    row("fair rates, 2 M uses, symmetric", lambda: fair_rates(uses, capacity), 100, 3)
    one_slow = np.where(np.arange(len(capacity)) == 5, capacity / 2, capacity)
    row("fair rates, 2 M uses, one slow link", lambda: fair_rates(uses, one_slow), None, 3)


if __name__ == "__main__":
    main()
