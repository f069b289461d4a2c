"""what_if: a cluster with something twice as fast, and which of these helps a step most."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from msgspec.structs import replace as replace_value

from wirespeed.topology.change import Change, ChangeKind
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.training.compute import PaceValue, pace_table
from wirespeed.training.forecast import simulate_step
from wirespeed.training.layout import Job

TWICE = 2.0
_LINKS = {
    "nvlink": ((LinkKind.NVLINK, LinkKind.XGMI), (ComponentKind.NVSWITCH,)),
    "network": (
        (LinkKind.NETWORK,),
        (ComponentKind.NIC, ComponentKind.LEAF, ComponentKind.SPINE, ComponentKind.CORE),
    ),
    "pcie": ((LinkKind.PCIE, LinkKind.ROOT), (ComponentKind.PCIE, ComponentKind.ROOT)),
}
_RATES = ("gemm", "hbm")


@dataclass(frozen=True, slots=True)
class Gain:
    """What a step would take with one thing twice as fast."""

    name: str
    seconds: float
    share: float
    """Of the step that it would save."""


def gains(job: Job, cluster: Cluster, seconds: float) -> list[Gain]:
    """For each thing what the step would take if it were twice as fast, the best first.

    `job` has its open fields chosen; `seconds` is its step as things are.
    """
    found = []
    for name in (*_RATES, *_LINKS):
        if name in _LINKS and not _has(cluster, name):
            continue
        now = simulate_step(job, twice(cluster, name)).seconds
        found.append(Gain(name, now, 1 - now / seconds))
    now = simulate_step(job, cluster, pace=_faster_host()).seconds
    found.append(Gain("host", now, 1 - now / seconds))
    return sorted(found, key=lambda gain: gain.seconds)


def twice(cluster: Cluster, name: str) -> Cluster:
    """The cluster with a kind of wires, or of rates, twice as fast."""
    if name in _RATES:
        change = Change(ChangeKind.MACHINE, name, TWICE)
        return replace(cluster, changes=(*cluster.changes, change))
    topology = cluster.topology
    links, parts = _LINKS[name]
    faster = np.concatenate([np.isin(topology.link_kind, links), np.isin(topology.kind, parts)])
    capacity = np.where(faster, topology.capacity * TWICE, topology.capacity)
    wider = replace(topology, capacity=capacity)
    return replace(cluster, topology=wider, router=cluster.router.on(wider))


def _faster_host() -> dict[str, PaceValue]:
    """The parameters of compute with a host that launches work in half the time."""
    return {
        key: replace_value(entry, value=entry.value / TWICE) if key.startswith("host-") else entry
        for key, entry in pace_table().items()
    }


def _has(cluster: Cluster, name: str) -> bool:
    return bool(np.isin(cluster.topology.link_kind, _LINKS[name][0]).any())
