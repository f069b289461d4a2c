"""nccl-tests output as a machine would print it whose forecast is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective, parse_operation
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, build_cluster, changed, everyone
from wirespeed.topology.fabrics.named import default_fabric
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.software import DEFAULT_VERSION, Software

LARGE = [2**k for k in range(20, 34)]
H100 = "NVIDIA H100 80GB HBM3"
HEAD = """\
# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
"""
COLUMNS = """\
#
#                                                              out-of-place
#       size         count      type   redop    root     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)
"""


def cluster_of(preset: str, nodes: int = 1, changes: Iterable[str] = (), **env: str) -> Cluster:
    """Nodes of a preset in the platform's own fabric, under changes."""
    machine = preset_machine(preset)
    fabric = default_fabric(machine.platform, nodes, machine.network) if nodes > 1 else None
    software = Software(machine.library, DEFAULT_VERSION[machine.library], env)
    built = build_cluster(machine, nodes=nodes, fabric=fabric, software=software)
    return changed(built, [parse_change(text) for text in changes])


def printed(
    cluster: Cluster,
    operation: str = "all_reduce",
    sizes: Sequence[int] = LARGE,
    *,
    gpu: str = H100,
    factor: Callable[[int], float] = lambda size: 1.0,
) -> str:
    """The output of a run on a cluster that takes `factor` times as long as its forecast."""
    group = everyone(cluster)
    made = forecast(Collective(parse_operation(operation)), cluster, sizes, group)
    per_node = len(group) // cluster.nodes
    devices = "".join(
        f"#  Rank {rank:2d} Group  0 Pid {1000 + rank} on host{rank // per_node} "
        f"device {rank % per_node:2d} [0x{27 + rank % per_node:02x}] {gpu}\n"
        for rank in range(len(group))
    )
    rows = "".join(
        f"{row.size_bytes:12d} {row.size_bytes // 4:12d}     float     sum      -1 "
        f"{row.time_us * slow:9.2f} {row.algbw_GBps / slow:8.3f} {row.busbw_GBps / slow:8.3f}"
        "      0\n"
        for row in made.rows
        for slow in (factor(row.size_bytes),)
    )
    test = f"# Collective test starting: {operation}_perf\n"
    return f"{test}{HEAD}{devices}{COLUMNS}{rows}# Out of bounds values : 0 OK\n"
