"""faults: what every single fault costs a collective."""

from __future__ import annotations

import msgspec

from wirespeed._api.asked import On, Ranks, asked_for, forced, group_of, on_cluster
from wirespeed._api.inputs import inputs_of, with_inputs
from wirespeed.errors import UsageError
from wirespeed.planning.faults import FaultReport
from wirespeed.planning.faults import faults as faults_of
from wirespeed.units import parse_size


def faults(
    op: str,
    on: On,
    size: str | int = "1G",
    *,
    ranks: Ranks = None,
    algo: str | None = None,
    proto: str | None = None,
    top: int | None = None,
) -> FaultReport:
    """The report on all single faults of a cluster, those first that cost the operation most.

    Args:
        op: all_reduce, all_gather, reduce_scatter, broadcast, alltoall, sendrecv …
        on: a cluster, or a preset's name or a file.
        size: of the message: "1G", or bytes.
        ranks: which GPUs take part, as `collective` takes them; None: all.
        algo: forces an algorithm.
        proto: forces a protocol.
        top: so many rows; None: all.

    Raises WirespeedError with what to do about it.
    """
    if top is not None and top < 1:
        raise UsageError(f"the first {top} faults", where="--top", why="it takes at least one")
    target = forced(on_cluster(on), algo, proto)
    asked = asked_for(op, "float", "process")
    bytes_ = parse_size(str(size))
    report = faults_of(asked, target, bytes_, group_of(ranks, target))
    inputs = inputs_of(
        op=asked.operation.value,
        on=on,
        nodes=[target.nodes],
        size=bytes_,
        ranks=ranks,
        algo=algo,
        proto=proto,
        top=top,
        library=str(target.software),
        fabric=target.fabric or None,
        env=dict(target.software.env),
        changes=target.changes,
    )
    shown = report.rows[:top]
    left_out = len(report.rows) - len(shown)
    return with_inputs(msgspec.structs.replace(report, rows=shown, left_out=left_out), inputs)
