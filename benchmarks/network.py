"""Times of the network's levels on the k = 16 fat tree.

python benchmarks/network.py [--case makespan|events]: all in one process, or one case alone.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from wirespeed.network import (
    Side,
    Uses,
    bottleneck_time,
    fair_rates,
    partition,
    product_loads,
    simulate,
)


def fat_tree_flows(flows: int, k: int = 16, seed: int = 1) -> tuple[Uses, int]:
    """Random flows between hosts of a k-ary fat tree, one hashed path each, and its resources.

    Directed links in six blocks of k³/4: host up, edge up, aggregation up, and the same down.
    """
    random = np.random.default_rng(seed)
    half, hosts = k // 2, k**3 // 4
    source = random.integers(hosts, size=flows)
    target = (source + random.integers(1, hosts, size=flows)) % hosts
    up, core = random.integers(half, size=(2, flows))
    edge_s, edge_t, pod_s, pod_t = (
        source // half,
        target // half,
        source // half**2,
        target // half**2,
    )
    links = np.stack(
        [
            source,
            hosts + edge_s * half + up,
            2 * hosts + (pod_s * half + up) * half + core,
            3 * hosts + (pod_t * half + up) * half + core,
            4 * hosts + edge_t * half + up,
            5 * hosts + target,
        ],
        axis=1,
    )
    crosses = np.ones_like(links, bool)
    crosses[edge_s == edge_t, 1:5] = False
    crosses[pod_s == pod_t, 2:4] = False
    first = np.concatenate([[0], np.cumsum(crosses.sum(axis=1))])
    used = links[crosses]
    return Uses(first, used, np.ones(used.size)), 6 * hosts


def symmetric(uses: int) -> tuple[Uses, np.ndarray]:
    """Transfers that each cross four of 16,384 resources, all loaded alike."""
    start = np.arange(uses // 4)[:, None] * 7
    return Uses.uniform((start + np.arange(4) * 31) % 16_384), np.full(16_384, 50e9)


def uniform_alltoall(ends: int) -> np.ndarray:
    """Loads of an all-to-all on nodes of 8 and leaves of 32 ends, each leaf with one way up."""
    number = np.arange(ends)
    node, leaf = number // 8, number // 32
    leaves = ends // 32
    inner = Uses.uniform(number[:, None])
    outer = Uses.uniform(np.stack([number, ends + number], 1))
    way = np.stack([np.repeat(np.arange(leaves), leaves), np.tile(np.arange(leaves), leaves)], 1)
    middle = Uses.uniform(2 * ends + way)
    in_node, in_leaf = Side(inner, together=node), Side(outer, together=leaf, apart=node)
    between = Side(outer, apart=leaf, gate=leaf)
    return (
        product_loads(in_node, in_node, 1.0, 3 * ends)
        + product_loads(in_leaf, in_leaf, 1.0, 3 * ends)
        + product_loads(between, between, 1.0, 3 * ends, middle=middle)
    )


def report(what: str, run: Callable[[], object], times: int = 3) -> None:
    """Print the shortest of a few runs, and the largest memory of the process so far."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:40} {min(taken) * 1e3:10.2f} ms {peak:8.0f} MiB")


def makespan() -> float:
    """When the last of 10,000 equal flows of 1 MB ends [s]."""
    uses, resources = fat_tree_flows(10_000)
    return simulate(uses, 1e6, np.full(resources, 50e9)).makespan


def events(flows: int = 1_000) -> float:
    """When the last of unequal flows ends [s], with all finish times by events."""
    uses, resources = fat_tree_flows(flows)
    sizes = np.random.default_rng(2).uniform(1e5, 1e9, flows)
    return simulate(uses, sizes, np.full(resources, 50e9)).makespan


CASES = {"makespan": makespan, "events": events, "events-4000": partial(events, 4_000)}


def main() -> None:
    parser = argparse.ArgumentParser(description="Times of the network's levels.")
    parser.add_argument("--case", choices=CASES, help="one case alone, without its time")
    case = parser.parse_args().case
    if case:
        print(f"{CASES[case]():.6f} s")
        return
    for flows in (1_000, 10_000, 100_000):
        uses, resources = fat_tree_flows(flows)
        capacity = np.full(resources, 50e9)
        report(f"bottleneck, {flows:,} flows", partial(bottleneck_time, uses, 1e6, capacity))
        report(f"fair rates, {flows:,} flows", partial(fair_rates, uses, capacity))
        if flows <= 10_000:
            report(f"events, {flows:,} equal flows", partial(simulate, uses, 1e6, capacity), 1)
        if flows <= 1_000:
            sizes = np.random.default_rng(2).uniform(1e5, 1e9, flows)
            report(f"events, {flows:,} unequal flows", partial(simulate, uses, sizes, capacity), 1)
    for ends in (1_024, 16_384):
        report(f"blocks, all-to-all of {ends:,}", partial(uniform_alltoall, ends))
    ring, alike = symmetric(2**21)
    report("fair rates, 2 M uses, symmetric", partial(fair_rates, ring, alike))
    one_slow = alike.copy()
    one_slow[5] /= 2
    report("fair rates, 2 M uses, one slow link", partial(fair_rates, ring, one_slow))
    report("partition, 2 M uses", partial(partition, ring, alike), 1)


if __name__ == "__main__":
    main()
