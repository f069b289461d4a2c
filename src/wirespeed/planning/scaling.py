"""scaling: the same training on more and more nodes, and where communication stops being hidden."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from wirespeed.topology.result import ParameterSet, Result
from wirespeed.training.result import Breakdown, StepForecast

HIDDEN = 0.02
"""Share of a step up to which communication counts as hidden."""
_KINDS = {
    "exposed_tp": "tensor parallelism",
    "exposed_dp": "data parallelism",
    "exposed_pp": "the pipeline's transfers",
}


class ScaleRow(msgspec.Struct, frozen=True):
    """One size of the cluster."""

    nodes: int
    gpus: int
    global_batch: int
    step_time_s: float
    low_s: float | None
    high_s: float | None
    tokens_per_s: float
    tokens_per_s_per_gpu: float
    efficiency: float
    """Rate of a GPU against that on the fewest nodes."""
    mfu: float
    breakdown_s: Breakdown
    layout: dict[str, str | int | bool | None]


class ScaleReport(Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.scale/1"):
    """A training at several sizes."""

    model: str
    cluster: str
    mode: str
    """weak: the batch grows with the GPUs; strong: it stays."""
    rows: tuple[ScaleRow, ...]
    left_out: tuple[str, ...] = ()
    """Sizes that cannot be done, and why."""
    sentences: tuple[str, ...] = ()


def scale_report(
    points: Sequence[tuple[int, int, StepForecast]],
    mode: str,
    left_out: Sequence[str] = (),
) -> ScaleReport:
    """The report on forecasts at several numbers of nodes: (nodes, global batch, step)."""
    first = points[0][2]
    rows = tuple(_row(nodes, batch, step, first) for nodes, batch, step in points)
    return ScaleReport(
        parameters=ParameterSet(first.parameters.hash),
        warnings=first.warnings,
        model=first.model,
        cluster=first.cluster,
        mode=mode,
        rows=rows,
        left_out=tuple(left_out),
        sentences=tuple(_sentences(rows)),
    )


def _row(nodes: int, batch: int, step: StepForecast, first: StepForecast) -> ScaleRow:
    return ScaleRow(
        nodes=nodes,
        gpus=step.gpus,
        global_batch=batch,
        step_time_s=step.step_time_s,
        low_s=step.low_s,
        high_s=step.high_s,
        tokens_per_s=step.tokens_per_s_per_gpu * step.gpus,
        tokens_per_s_per_gpu=step.tokens_per_s_per_gpu,
        efficiency=step.tokens_per_s_per_gpu / first.tokens_per_s_per_gpu,
        mfu=step.mfu,
        breakdown_s=step.breakdown_s,
        layout=step.layout,
    )


def _sentences(rows: Sequence[ScaleRow]) -> list[str]:
    """From which size on each kind of communication is more than a fiftieth of the step."""
    told = []
    for kind, name in _KINDS.items():
        shown = [r for r in rows if getattr(r.breakdown_s, kind) > HIDDEN * r.step_time_s]
        if not shown:
            continue
        from_ = shown[0]
        if from_ is rows[0]:
            told.append(f"Communication of {name} is exposed at every size.")
        else:
            told.append(
                f"Communication of {name} stops being hidden at {from_.nodes} nodes "
                f"({from_.gpus:,} GPUs)."
            )
    if not told:
        told.append("Communication stays hidden at all of these sizes.")
    last = rows[-1]
    told.append(
        f"{last.gpus:,} GPUs run at {last.efficiency:.0%} of the rate that a GPU has on "
        f"{rows[0].gpus:,}."
    )
    return told
