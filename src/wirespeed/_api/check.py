"""check: a measurement that someone pasted, beside the forecast of its machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from wirespeed._api.files import read_bytes
from wirespeed._api.inputs import inputs_of, with_inputs
from wirespeed.comparison.check import CheckReport, joined
from wirespeed.comparison.check import check as check_one
from wirespeed.comparison.machines import collective_of, group_on, nodes_needed, setting_up
from wirespeed.comparison.pairs import joined_copies
from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Measurement, Remark
from wirespeed.inventory.archives import unpacked
from wirespeed.readers import joined as as_one
from wirespeed.readers import read_parts
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.software import Notice

ClusterOf = Callable[[int | None], Cluster]
"""The cluster to compare with, of so many nodes; None leaves the number to it."""


def check(file: str, on: Cluster | ClusterOf | None = None) -> CheckReport:
    """The verdict on nccl-tests output: a file, or - for standard input.

    `on` is the cluster it ran on, or what makes one of so many nodes; without it the output must
    list its GPUs. Raises InputError where nothing was measured.
    """
    name = "stdin" if file == "-" else file
    text = sys.stdin.buffer.read() if file == "-" else read_bytes(file)
    parts = _parts(text, name)
    measured = [(part, measurement) for part in parts for measurement in part.measurements]
    if not measured:
        raise _nothing_measured(as_one(parts), name)
    reports = [_checked(part, measurement, on) for part, measurement in measured]
    given = inputs_of(file=file, on=on if isinstance(on, Cluster) else None)
    return with_inputs(joined(_by_kind(reports, [m for _, m in measured])), given)


def _parts(data: bytes, name: str) -> list[Evidence]:
    """What a file says; of an archive, what those of its files say that can be read."""
    parts: list[Evidence] = []
    refused: list[InputError] = []
    for member, text in unpacked(data, name).texts:
        try:
            parts += read_parts(text, file=member)
        except InputError as error:
            refused.append(error)
    if not parts:
        raise refused[0]
    return parts


def _nothing_measured(evidence: Evidence, name: str) -> InputError:
    failed = next((remark for remark in evidence.remarks if remark.code == "run-failed"), None)
    if failed is not None:
        return InputError(
            "nothing was measured here",
            where=name,
            why=f"line {failed.line}: {failed.text}",
            remedy=f"ask what it failed of: wirespeed doctor {name}",
        )
    return InputError(
        "nothing was measured here",
        where=name,
        why=f"this is {evidence.format}",
        remedy="give the output of nccl-tests, rccl-tests or nvbandwidth",
    )


def _by_kind(
    reports: Sequence[CheckReport], measurements: Sequence[Measurement]
) -> list[CheckReport]:
    """The reports, where all copies of one operation, one way or both, make one."""
    kinds: dict[tuple[str, bool], list[int]] = {}
    kept: list[CheckReport] = []
    for at, measured in enumerate(measurements):
        if measured.source:
            kinds.setdefault((measured.operation, measured.bidirectional), []).append(at)
        else:
            kept.append(reports[at])
    for places in kinds.values():
        pairs = [(measurements[at].source, measurements[at].target) for at in places]
        kept.append(joined_copies([reports[at] for at in places], pairs))
    return kept


def _checked(
    evidence: Evidence, measured: Measurement, on: Cluster | ClusterOf | None
) -> CheckReport:
    notices = notices_of([*evidence.remarks, *measured.remarks])
    if on is None:
        setup, cluster, group = setting_up(evidence, measured)
        return check_one(measured, setup.collective, cluster, group, remarks=notices)
    cluster = on if isinstance(on, Cluster) else cluster_for(on, evidence, measured)
    group = group_on(cluster, measured)
    return check_one(measured, collective_of(measured), cluster, group, remarks=notices)


def cluster_for(make: ClusterOf, evidence: Evidence, measured: Measurement) -> Cluster:
    """The cluster that holds the ranks; a rack as a whole where they are no more than its own."""
    one = make(None)
    per_node = max(1, len(one.topology.gpus()) // one.nodes)
    nodes = nodes_needed(evidence, measured, per_node)
    cluster = one if nodes == one.nodes else make(nodes)
    version = evidence.value("run", "nccl_version")
    if version is None:
        return cluster
    numbers = tuple(int(part) for part in str(version).split("."))
    return replace(cluster, software=replace(cluster.software, version=numbers))


def notices_of(remarks: Sequence[Remark]) -> list[Notice]:
    """What a reader remarked, as results say it."""
    return [
        Notice(remark.code, remark.text, f"line {remark.line}" if remark.line else "")
        for remark in remarks
    ]
