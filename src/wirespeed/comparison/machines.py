"""The machine of a measurement, as the output itself tells it, and the ranks on a cluster."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

import numpy as np

from wirespeed.catalog import gpu
from wirespeed.collectives.operation import Collective, parse_operation
from wirespeed.comparison.setup import Setup, Workshop, setup_of
from wirespeed.errors import InputError, UnknownName, UsageError
from wirespeed.evidence import Evidence, Fact, Measurement
from wirespeed.readers.records import Inputs, RecordCluster
from wirespeed.topology.cluster import Cluster, Group, everyone

_NUMBERED = re.compile(r"host\d+")
"""What a log calls its hosts, beside their names."""


def hosts_of(evidence: Evidence) -> dict[str, int]:
    """Ranks on each host that the list of devices names, in its order.

    Without such a list it is the hosts of a log, by number.
    """
    hosts = [str(fact.value) for fact in _of_ranks(evidence, "host")]
    listed = [host for host in hosts if not _NUMBERED.fullmatch(host)]
    return dict(Counter(listed or hosts))


def gpu_of(evidence: Evidence) -> str | None:
    """The GPU model that most ranks, or devices, state; None where their list is cut."""
    stated = [*_of_ranks(evidence, "gpu_model"), *_models(evidence)]
    names = Counter(str(fact.value) for fact in stated)
    return names.most_common(1)[0][0] if names else None


def _models(evidence: Evidence) -> list[Fact]:
    """Models of the GPUs of one host, as tools other than nccl-tests list them."""
    return [
        fact
        for fact in evidence.facts
        if fact.attribute == "model" and fact.subject.startswith("gpu")
    ]


def inputs_of(evidence: Evidence, measurement: Measurement) -> Inputs:
    """What the output says of its own run, as the inputs of a forecast.

    Raises InputError where it does not say on what it ran.
    """
    model, hosts = gpu_of(evidence), hosts_of(evidence)
    ranks = measurement.ranks
    if measurement.source and model is not None:
        # A copy takes one or two of the GPUs that one host lists.
        hosts = {"": max(len(_models(evidence)), *_numbers(measurement))}
        ranks = hosts[""]
    if model is None or ranks is None or not hosts:
        raise InputError(
            "the output does not say on what it ran",
            where=evidence.file,
            why="its list of devices is missing",
            remedy="name the machine with --on: a preset or the output of nvidia-smi topo -m",
        )
    if not _is_known(model):
        raise InputError(
            f"its GPUs are called {model!r}, which is no model",
            where=evidence.file,
            remedy="name the machine with --on: a preset or the output of nvidia-smi topo -m",
        )
    per_node = _per_node(evidence, hosts, ranks)
    return Inputs(
        cluster=RecordCluster(gpu=model, nodes=-(-ranks // per_node), gpus_per_node=per_node),
        collective=measurement.operation,
        ranks=ranks,
        nccl_version=_text(evidence, "run", "nccl_version"),
        env=tuple(
            sorted((f.attribute, str(f.value)) for f in evidence.facts if f.subject == "env")
        ),
        launch={"thread": "single process"}.get(measurement.launch or "", measurement.launch),
        dtype=measurement.dtype,
        bidirectional=measurement.bidirectional,
    )


def _per_node(evidence: Evidence, hosts: Mapping[str, int], ranks: int) -> int:
    """Ranks of a node: as many as of the fullest host that a list shows.

    Of a list that is cut to single ranks the last rank tells: its device is the last of its node.
    """
    fullest = min(max(hosts.values()), ranks)
    if fullest > 1 or sum(hosts.values()) >= ranks:
        return fullest
    last = evidence.value(f"rank{ranks - 1}", "device")
    if isinstance(last, int) and ranks % (last + 1) == 0:
        return last + 1
    return min(8, ranks)


def setting_up(evidence: Evidence, measurement: Measurement) -> tuple[Setup, Cluster, Group]:
    """The run of a measurement on the machine that its own output names."""
    setup, workshop = setup_of(inputs_of(evidence, measurement)), Workshop()
    cluster = workshop.cluster(setup)
    if measurement.source:
        return setup, cluster, group_on(cluster, measurement)
    return setup, cluster, workshop.group(setup, cluster)


def nodes_needed(evidence: Evidence, measurement: Measurement, gpus_per_node: int) -> int:
    """Nodes of a machine that hold the ranks of a measurement, as its list of hosts has it."""
    hosts = hosts_of(evidence)
    if measurement.ranks is None:
        return max(1, len(hosts))
    if hosts and sum(hosts.values()) >= measurement.ranks:
        return len(hosts)
    return max(1, -(-measurement.ranks // gpus_per_node))


def group_on(cluster: Cluster, measurement: Measurement) -> Group:
    """The ranks of a measurement on a cluster: as many of each node, the first ones.

    Raises UsageError where the cluster has fewer GPUs.
    """
    whole = everyone(cluster)
    if measurement.source or measurement.target:
        return _ends_on(cluster, measurement)
    ranks = measurement.ranks or len(whole)
    if ranks > len(whole):
        raise UsageError(
            f"{ranks} ranks do not fit on {len(whole)} GPUs",
            where="--on",
            why=f"{measurement.file} was measured on {ranks} GPUs",
            remedy=f"name a machine with more, or --nodes {-(-ranks // max(1, len(whole)))}",
        )
    per_node, rest = divmod(ranks, cluster.nodes)
    nodes = cluster.topology.node[whole.gpus]
    chosen = [
        whole.gpus[nodes == node][: per_node + (node < rest)] for node in range(cluster.nodes)
    ]
    return Group(np.concatenate(chosen))


def _ends_on(cluster: Cluster, measurement: Measurement) -> Group:
    """The GPUs of a copy, by their numbers on the first node."""
    whole = everyone(cluster).gpus
    numbers = cluster.topology.index[whole]
    first = cluster.topology.node[whole] == cluster.topology.node[whole[0]]
    ends = [end for end in (measurement.source, measurement.target) if end.startswith("gpu")]
    found = [whole[first & (numbers == int(end[3:]))] for end in ends]
    if any(len(gpus) != 1 for gpus in found):
        raise UsageError(
            f"{' and '.join(ends)} are not on one node of {cluster.machine.name}",
            where="--on",
            why=f"{measurement.file} was measured between them",
            remedy="name a machine with as many GPUs",
        )
    return Group(np.concatenate(found))


def collective_of(measurement: Measurement) -> Collective:
    """What was measured; UnknownName for an operation that is not modelled."""
    return Collective(
        parse_operation(measurement.operation),
        dtype=measurement.dtype or "float",
        launch=measurement.launch or "process",
        bidirectional=measurement.bidirectional,
    )


def _numbers(measurement: Measurement) -> tuple[int, ...]:
    """How many GPUs there are at least, by the numbers of a copy's ends."""
    ends = (measurement.source, measurement.target)
    return tuple(int(end[3:]) + 1 for end in ends if end.startswith("gpu"))


def _is_known(name: str) -> bool:
    try:
        gpu(name)
    except UnknownName:
        return False
    return True


def _of_ranks(evidence: Evidence, attribute: str) -> list[Fact]:
    return [
        fact
        for fact in evidence.facts
        if fact.attribute == attribute and fact.subject.startswith("rank")
    ]


def _settings(evidence: Evidence) -> tuple[tuple[str, str], ...]:
    env = [fact for fact in evidence.facts if fact.subject == "env"]
    return tuple(sorted((fact.attribute, str(fact.value)) for fact in env))


def _text(evidence: Evidence, subject: str, attribute: str) -> str | None:
    value = evidence.value(subject, attribute)
    return None if value is None else str(value)
