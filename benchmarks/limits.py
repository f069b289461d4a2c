"""Times of bounds, loads and faults inside one process: `python benchmarks/limits.py`."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

from wirespeed.collectives.bounds import bounds_of
from wirespeed.collectives.candidates import time_of
from wirespeed.collectives.loads import load_report
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.planning.faults import faults
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, build_cluster, changed, everyone
from wirespeed.topology.fabrics.named import default_fabric, fabric_named
from wirespeed.topology.machines import preset_machine

SIZE = 2**30
ALL_REDUCE = Collective(Operation.ALL_REDUCE)


def cluster(name: str, nodes: int, fabric: str = "") -> Cluster:
    """So many nodes of a preset, on their platform's fabric or a named one."""
    machine = preset_machine(name)
    if nodes <= machine.unit.nodes:
        return build_cluster(machine, nodes=nodes)
    chosen = (
        (fabric, fabric_named(fabric, machine.network))
        if fabric
        else default_fabric(machine.platform, nodes, machine.network)
    )
    return build_cluster(machine, nodes=nodes, fabric=chosen)


def timed(
    name: str, work: Callable[[], object], target: float | None = None, runs: int = 3
) -> None:
    """Prints the best of some runs beside the target."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    limit = "" if target is None else f"{target:8.2f} s"
    print(f"{name:58}{min(seconds):9.3f} s{limit:>12}", flush=True)


def what_ifs(on: Cluster, count: int) -> None:
    """One NIC after the other at half."""
    for k in range(count):
        change = parse_change(f"node{k % on.nodes}/nic{k % 8}=0.5")
        after = changed(on, [change])
        time_of(ALL_REDUCE, after, everyone(after), SIZE)


def main() -> None:
    """All cases, then the peak memory of the process."""
    for name, nodes in (("dgx-h100", 1), ("dgx-h100", 2), ("gb200-nvl72", 18), ("dgx-gh200", 256)):
        on = cluster(name, nodes)
        for operation in (Operation.ALL_REDUCE, Operation.ALLTOALL, Operation.SENDRECV):
            timed(
                f"bound, {operation}, {name} x {nodes}",
                lambda on=on, op=operation: bounds_of(op, on, everyone(on)),
            )
    pod = cluster("dgx-h100", 16)
    timed("faults, all_reduce, 16 nodes", lambda: faults(ALL_REDUCE, pod, SIZE), 3.0, 2)
    timed("50 what-ifs, 16 nodes", lambda: what_ifs(pod, 50), 1.0, 2)
    for nodes in (512, 4096, 16384):
        on = cluster("dgx-h100", nodes, "fat-tree")
        on = changed(on, [parse_change("algo=Ring")])
        group = everyone(on)
        for operation in (Operation.ALL_REDUCE, Operation.ALLTOALL):
            timed(
                f"bound, {operation}, {8 * nodes:,} GPUs",
                lambda on=on, op=operation, group=group: bounds_of(op, on, group),
                0.3,
            )
        timed(
            f"loads of a ring, {8 * nodes:,} GPUs",
            lambda on=on, group=group: load_report(ALL_REDUCE, on, group, SIZE),
            runs=1,
        )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
