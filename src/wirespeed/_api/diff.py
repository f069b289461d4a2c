"""diff: two sweeps or two machines, before and after."""

from __future__ import annotations

import sys
from pathlib import Path

from wirespeed._api.clusters import cluster
from wirespeed._api.files import read_bytes
from wirespeed._api.inputs import inputs_of, with_inputs
from wirespeed.catalog import parameters
from wirespeed.comparison.diff import DiffReport
from wirespeed.comparison.diff_machines import diff_machines
from wirespeed.comparison.diff_sweeps import diff_sweeps
from wirespeed.errors import InputError, UsageError
from wirespeed.evidence import Evidence
from wirespeed.inventory import Resolved
from wirespeed.readers import joined, read_parts
from wirespeed.topology.cluster import Cluster
from wirespeed.topology.result import ParameterSet

Side = str | Cluster


def diff(a: Side, b: Side) -> DiffReport:
    """What changed from `a` to `b`, by how much, and whether it is more than noise.

    Each is a file of nccl-tests output, or a machine: a preset, a file, a directory, a cluster.
    Raises UsageError where one is a measurement and the other a machine.
    """
    if a == b == "-":
        raise UsageError("standard input can be read once", where="-")
    digest = ParameterSet(parameters().digest)
    old, new = _side(a), _side(b)
    if isinstance(old, Evidence) and isinstance(new, Evidence):
        report = diff_sweeps(old, new, digest)
    elif isinstance(old, Cluster) and isinstance(new, Cluster):
        report = diff_machines(old, new, digest)
    else:
        measured = a if isinstance(old, Evidence) else b
        raise UsageError(
            "a measurement and a machine cannot be compared so",
            where=str(measured),
            why="this one is a measurement, the other a machine",
            remedy="`wirespeed check FILE --on SOURCE` holds a measurement against a machine",
        )
    return with_inputs(report, inputs_of(a=a, b=b))


def _side(source: Side) -> Evidence | Cluster:
    """A measurement, or else the machine that a source means."""
    if isinstance(source, Cluster):
        return source
    text = None
    if source == "-":
        text = sys.stdin.buffer.read()
    elif Path(source).expanduser().is_file() and not source.endswith(".toml"):
        text = read_bytes(source)
    if text is None:
        return cluster(source)
    name = "stdin" if source == "-" else Path(source).name
    try:
        parts = read_parts(text, file=name)
    except InputError:
        if source == "-":
            raise
        # A cluster TOML under another name, which `cluster` knows by its content.
        return cluster(source)
    if measured := [part for part in parts if part.measurements]:
        return joined(measured)
    from wirespeed.inventory.combined import combine

    found = combine(parts, gpu=None)
    return cluster(Resolved(found.machine, nodes=found.nodes, design=found.design))
