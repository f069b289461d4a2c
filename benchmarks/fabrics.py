"""Times of laying fabrics and of their paths at 131,072 NICs: `python benchmarks/fabrics.py`."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from wirespeed.topology.assemble import FabricDesign, Laid, Ports
from wirespeed.topology.fabrics.generic import FAT_TREE, THREE_TIER
from wirespeed.topology.fabrics.named import fabric_named
from wirespeed.topology.fabrics.sizing import Tier
from wirespeed.topology.fabrics.wiring import Routing


def ports(nodes: int, rails: int) -> Ports:
    """Ports of equal nodes with one 50 GB/s NIC a rail."""
    number = np.arange(nodes * rails, dtype=np.int32)
    return Ports(
        number, number // rails, number // rails, number % rails, np.full(len(number), 50e9)
    )


def lay(design: FabricDesign, nodes: int, rails: int = 8) -> Laid:
    """The fabric of so many nodes."""
    return design.lay(ports(nodes, rails), first_switch=nodes * rails, first_link=0)


def timed(name: str, work: Callable[[], object], target: float | None = None) -> None:
    """Prints the best of three runs beside the target."""
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    limit = "" if target is None else f"{target:8.2f} s"
    print(f"{name:58}{min(seconds):9.3f} s{limit:>12}")


def capacity_of(laid: Laid) -> np.ndarray:
    """Capacity of both directions of every cable."""
    return np.repeat(laid.bandwidth, 2)


def main() -> None:
    """All cases, then the peak memory of the process."""
    for nodes in (1024, 4096, 16384):
        timed(f"lay fat-tree, {nodes:,} nodes x 8 rails", lambda n=nodes: lay(FAT_TREE, n), 0.6)
    laid = lay(FAT_TREE, 16384)
    nics = np.arange(16384 * 8)
    ring, far = np.roll(nics, -8), np.roll(nics, -8 * 5000)
    whole = capacity_of(laid)
    spine_down = whole.copy()
    spine = 16384 * 8 + 4096
    cables = np.flatnonzero((laid.source == spine) | (laid.target == spine))
    spine_down[2 * cables] = spine_down[2 * cables + 1] = 0
    for routing in Routing:
        timed(
            f"131,072 ring neighbours, {routing}",
            lambda r=routing: laid.wiring.paths(nics, ring, routing=r, capacity=whole),
            0.1,
        )
    for routing in (Routing.STATIC, Routing.ECMP):
        timed(
            f"131,072 to nodes 5,000 away, {routing}",
            lambda r=routing: laid.wiring.paths(nics, far, routing=r, capacity=whole),
            0.1,
        )
        timed(
            f"the same with a spine down, {routing}",
            lambda r=routing: laid.wiring.paths(nics, far, routing=r, capacity=spine_down),
        )
    pod = lay(fabric_named("superpod-h100"), 128)
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(1024), np.arange(1024)))
    a, b = a[a != b], b[a != b]
    timed(
        "1,024 x 1,023 pairs on superpod-h100, ecmp",
        lambda: pod.wiring.paths(a, b, routing=Routing.ECMP),
        1.0,
    )
    cube = lay(replace(THREE_TIER, leaf=Tier(16), spine=Tier(16), core_ports=16), 1024, 1)
    random = np.random.default_rng(1)
    source, target = random.integers(1024, size=(2, 10_000))
    timed(
        "10,000 random pairs on a k=16 fat tree, spray",
        lambda: cube.wiring.paths(source, target, routing=Routing.SPRAY),
    )
    timed("lay Frontier, 9,408 nodes x 4 NICs", lambda: lay(fabric_named("frontier"), 9408, 4))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
