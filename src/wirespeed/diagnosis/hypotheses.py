"""Hypotheses: what single thing could be wrong with a run, each as changes of its forecast."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from wirespeed.catalog import gpu
from wirespeed.collectives.library.effective import device_name
from wirespeed.collectives.operation import COPIES, Operation
from wirespeed.collectives.peers import has_pcie_p2p
from wirespeed.comparison.classes import Platform
from wirespeed.diagnosis.run import Run
from wirespeed.diagnosis.stated import ASKED, FORCED
from wirespeed.topology.change import Change, parse_change
from wirespeed.topology.kinds import ComponentKind

STATED, HINTED, POSSIBLE, RARE, UNSAID = 1.0, 0.25, 0.05, 0.0125, 0.003
"""How likely a cause is beforehand: someone set it; something points to it; it may be; seldom;
someone would have set it, and the environment does not say so."""


_DEFECTS = (
    ("nccl", "NVLSTree", (2, 29, 0), (2, 30, 3), 4),
    ("nccl", "NVLSTree", (2, 19, 0), (2, 20, 0), 4),
)
"""Library, algorithm, first bad release, release that mends it, nodes from which on.

Sources: NVIDIA/nccl#2035 and release notes of 2.30.3; sweeps on p5 with 2.19.
"""


class Hypothesis(msgspec.Struct, frozen=True):
    """A cause, the changes that stand for it, and how likely it is before the rows are looked at.

    `open` is set where it slows a run down by a factor that no forecast knows: wrong CPU cores,
    a setting that is not modelled. Then only the shape of the curve can speak against it.
    """

    cause: str
    changes: tuple[Change, ...]
    weight: float
    open: bool = False


def hypotheses(run: Run) -> tuple[Hypothesis, ...]:
    """All causes that are possible on this machine, for this operation and this library."""
    found = [*_stated(run)]
    if run.collective.operation not in COPIES:
        found += _of_protocols(run)
    if run.platform is Platform.NETWORK:
        found += _of_network(run)
    elif run.platform is Platform.NVSWITCH or _has_nvlink(run):
        found += _of_nvlink(run)
    else:
        found += _of_pcie(run)
    return tuple(found)


def _stated(run: Run) -> Iterator[Hypothesis]:
    for entry in run.stated:
        if entry.cause == ASKED:
            yield from _without_algorithm(run)
            continue
        known = entry.cause != FORCED
        yield Hypothesis(entry.cause, entry.changes, STATED)
        weight = STATED / 2 if known else HINTED
        yield Hypothesis(entry.cause, entry.changes, weight, open=True)


def _without_algorithm(run: Run) -> Iterator[Hypothesis]:
    """A forced algorithm; how much better the library would have chosen is left open."""
    yield Hypothesis(ASKED, (), POSSIBLE, open=True)


def _of_protocols(run: Run) -> Iterator[Hypothesis]:
    if run.collective.operation in (Operation.ALLTOALL, Operation.SENDRECV):
        return
    for protocol in ("LL", "LL128"):
        yield Hypothesis("forced_protocol", _changes(f"proto={protocol}"), UNSAID)


def _of_network(run: Run) -> Iterator[Hypothesis]:
    operation = run.collective.operation
    direct = operation in (Operation.ALLTOALL, Operation.SENDRECV)
    able = run.cluster.abilities
    if able.gdr:
        # Traffic is sent through the root complex only where GPUDirect is in use.
        weight = HINTED if run.direct else POSSIBLE
        yield Hypothesis("acs_iommu", _changes("acs=on"), weight)
        yield Hypothesis("acs_iommu", _changes("acs=on"), weight, open=True)
    if able.gdr and not run.direct:
        yield Hypothesis("gdr_off", _changes("gdr=off"), POSSIBLE)
    if not able.socket and not run.direct:
        weight = HINTED if run.plugin else POSSIBLE
        yield Hypothesis("fabric_not_driven", _changes("net=socket"), weight)
    for changes in _fewer_nics(run):
        yield Hypothesis("wrong_or_few_nics", changes, POSSIBLE)
    yield Hypothesis("slow_node", _half_node(run), RARE)
    if direct:
        yield Hypothesis("pxn_off", _changes("pxn=off"), POSSIBLE)
        one = _changes("env:NCCL_NCHANNELS_PER_NET_PEER=1")
        yield Hypothesis("channels_per_net_peer", one, POSSIBLE)
    else:
        for count in (1, 2, 4):
            few = _changes(f"channels={count}")
            yield Hypothesis("undertuned_channels_qps", few, UNSAID)
    if run.cluster.nodes > 2:
        ecmp = _changes("routing=ecmp")
        yield Hypothesis("adaptive_routing_or_congestion", ecmp, POSSIBLE)
    for algorithm in defects(run):
        yield Hypothesis(f"{algorithm.lower()}_defect", (), STATED, open=True)
    if run.cluster.machine.has_nvswitch and operation is Operation.ALL_REDUCE:
        yield Hypothesis("nvls_off", _changes("nvls=off"), RARE)
    yield Hypothesis("cpu_affinity", (), RARE, open=True)


def defects(run: Run) -> tuple[str, ...]:
    """Algorithms that the run was to use and that its release is known to do badly."""
    software, nodes = run.cluster.software, run.cluster.nodes
    asked = software.settings.get("algo", "")
    return tuple(
        algorithm
        for library, algorithm, first, fixed, least in _DEFECTS
        if (library, algorithm) == (software.library, asked)
        if first <= software.version < fixed and nodes >= least
    )


def _of_nvlink(run: Run) -> Iterator[Hypothesis]:
    """Within a node or rack whose GPUs NVLink joins."""
    if run.platform is Platform.NVSWITCH:
        yield Hypothesis("nvls_off", _changes("nvls=off"), POSSIBLE)
    yield Hypothesis("nvlink_down", _half_links(run), POSSIBLE)
    yield Hypothesis("container_isolation", _changes("p2p=off"), POSSIBLE)
    yield Hypothesis("container_isolation", (), RARE, open=True)


def _of_pcie(run: Run) -> Iterator[Hypothesis]:
    several = len(run.group) > 2
    if run.path == "PHB" and several:
        # A switch or a bridge for all pairs alike is how a virtual machine shows what it hides.
        yield Hypothesis("vm_topology", (), HINTED, open=True)
    if has_pcie_p2p(run.cluster):
        yield Hypothesis("acs_iommu", _changes("acs=on"), POSSIBLE)
        yield Hypothesis("p2p_unavailable", _changes("p2p=off"), POSSIBLE)
    yield Hypothesis("acs_iommu", (), POSSIBLE, open=True)
    if several:
        yield Hypothesis("graph_search", _changes("channels=1"), RARE)
    yield Hypothesis("numa", (), RARE, open=True)


def _fewer_nics(run: Run) -> Iterator[tuple[Change, ...]]:
    """One, a quarter, half and three quarters of the compute NICs of every node.

    As the library's own list of devices, which leaves the machine as it is and so costs little.
    """
    topology, indices = run.cluster.topology, rails(run)
    count = len(indices)
    nics = topology.of_kind(ComponentKind.NIC)
    for kept in sorted({1, count // 4, count // 2, 3 * count // 4} - {0, count}):
        stay = [indices[k * count // kept] for k in range(kept)]
        chosen = nics[np.isin(topology.index[nics], stay)].tolist()
        names = dict.fromkeys(device_name(topology, nic) for nic in chosen)
        yield _changes(f"env:NCCL_IB_HCA=={','.join(names)}")


def rails(run: Run) -> list[int]:
    """The numbers of a node's compute NICs."""
    topology = run.cluster.topology
    mine = (topology.kind == ComponentKind.NIC) & (topology.rail >= 0) & (topology.node == 0)
    found: list[int] = np.unique(topology.index[mine]).tolist()
    return found


def _half_node(run: Run) -> tuple[Change, ...]:
    """All NICs of the first node at half of their rate."""
    return _changes(*(f"node0/nic{i}=0.5" for i in rails(run)))


def _half_links(run: Run) -> tuple[Change, ...]:
    """Half of the first GPU's links."""
    topology = run.cluster.topology
    first = int(run.group.gpus[0])
    return _changes(f"node{topology.node[first]}/gpu{topology.index[first]}=0.5")


def _has_nvlink(run: Run) -> bool:
    row = gpu(run.cluster.machine.gpu)
    return bool(row.xgmi) or (bool(row.nvlink_links) and not row.nvlink_bridge)


def _changes(*texts: str) -> tuple[Change, ...]:
    return tuple(parse_change(text) for text in texts)
