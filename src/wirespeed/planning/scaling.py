"""scaling: the same training on more and more nodes, and where communication stops being hidden."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from wirespeed.topology.result import Result
from wirespeed.training.result import Breakdown, Memory, StepForecast

HIDDEN = 0.02
"""Share of a step up to which communication counts as hidden."""
_KINDS = {
    "exposed_tp": "tensor parallelism",
    "exposed_dp": "data parallelism",
    "exposed_pp": "the pipeline",
    "exposed_cp": "context parallelism",
    "exposed_ep": "expert parallelism",
}

Mode = Literal["weak", "strong"]


class ScalePoint(NamedTuple):
    """A forecast on so many nodes."""

    nodes: int
    step: StepForecast


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
    """Rate of a GPU against that on the fewest nodes: 1 is linear."""
    mfu: float
    hfu: float
    breakdown_s: Breakdown
    memory_GiB: Memory
    layout: dict[str, str | int | bool | None]
    chosen: tuple[str, ...]
    fabric: str


class Hidden(msgspec.Struct, frozen=True):
    """How far a kind of communication stays hidden behind computing."""

    kind: str
    until_nodes: int | None
    """The most nodes up to which it is a fiftieth of the step at most; None: on none."""
    share: float
    """Of the step on the most nodes that waits for it."""


class LeftOut(msgspec.Struct, frozen=True):
    """A size that cannot be done, and why."""

    nodes: int
    reason: str


class ScaleReport(Result, frozen=True, kw_only=True, tag_field="schema", tag="wirespeed.scale/1"):
    """A training at several sizes."""

    model: str
    cluster: str
    mode: Mode
    """weak: the batch grows with the GPUs; strong: it stays."""
    seq_len: int
    precision: str
    framework: str
    rows: tuple[ScaleRow, ...]
    hidden: tuple[Hidden, ...]
    """Kinds of communication that there are."""
    left_out: tuple[LeftOut, ...] = ()
    sentences: tuple[str, ...] = ()


def scale_report(
    points: Sequence[ScalePoint], mode: Mode, left_out: Sequence[LeftOut] = ()
) -> ScaleReport:
    """The report on forecasts at several numbers of nodes, the fewest first."""
    first = points[0].step
    rows = tuple(_row(nodes, step, first) for nodes, step in points)
    hidden = tuple(_hidden(rows))
    warnings = dict.fromkeys(notice for point in points for notice in point.step.warnings)
    return ScaleReport(
        parameters=first.parameters,
        warnings=tuple(warnings),
        model=first.model,
        cluster=first.cluster,
        mode=mode,
        seq_len=first.seq_len,
        precision=first.precision,
        framework=first.framework,
        rows=rows,
        hidden=hidden,
        left_out=tuple(left_out),
        sentences=tuple(_sentences(rows, hidden)),
    )


def _row(nodes: int, step: StepForecast, first: StepForecast) -> ScaleRow:
    return ScaleRow(
        nodes=nodes,
        gpus=step.gpus,
        global_batch=step.global_batch,
        step_time_s=step.step_time_s,
        low_s=step.low_s,
        high_s=step.high_s,
        tokens_per_s=step.tokens_per_s_per_gpu * step.gpus,
        tokens_per_s_per_gpu=step.tokens_per_s_per_gpu,
        efficiency=step.tokens_per_s_per_gpu / first.tokens_per_s_per_gpu,
        mfu=step.mfu,
        hfu=step.hfu,
        breakdown_s=step.breakdown_s,
        memory_GiB=step.memory_GiB,
        layout=step.layout,
        chosen=step.chosen,
        fabric=step.fabric,
    )


def _hidden(rows: Sequence[ScaleRow]) -> Iterator[Hidden]:
    for kind, name in _KINDS.items():
        shares = [getattr(row.breakdown_s, kind) / row.step_time_s for row in rows]
        if not any(shares):
            continue
        until = None
        for row, share in zip(rows, shares, strict=True):
            if share > HIDDEN:
                break
            until = row.nodes
        yield Hidden(name, until, shares[-1])


def _sentences(rows: Sequence[ScaleRow], hidden: Sequence[Hidden]) -> Iterator[str]:
    """From which size on each kind of communication is more than a fiftieth of the step."""
    first, last = rows[0], rows[-1]
    for kind in hidden:
        waits = f"{kind.share * 100:.0f} % of the step waits for it on {_nodes(last.nodes)}"
        if kind.until_nodes == last.nodes:
            yield f"Communication of {kind.kind} stays hidden up to {_nodes(last.nodes)}."
        elif kind.until_nodes is None:
            yield f"Communication of {kind.kind} is exposed on any number of nodes: {waits}."
        else:
            after = next(row.nodes for row in rows if row.nodes > kind.until_nodes)
            yield (
                f"Communication of {kind.kind} stops being hidden between {kind.until_nodes} and "
                f"{_nodes(after)}: {waits}."
            )
    if last is not first:
        yield (
            f"A GPU of {last.gpus:,} does {last.efficiency * 100:.0f} % of what one of "
            f"{first.gpus:,} does."
        )
    yield from _roomier(rows)


def _roomier(rows: Sequence[ScaleRow]) -> Iterator[str]:
    """Why more nodes do better than linear, where memory is the reason."""
    kept = [row.layout["recompute"] for row in rows]
    later = next((row for row, own in zip(rows, kept, strict=True) if own != kept[0]), None)
    if later is not None and rows[-1].efficiency > 1:
        yield (
            f"That is more than linear since {_nodes(rows[0].nodes)} must compute activations "
            f"again (recompute {kept[0]}) for want of memory, which {_nodes(later.nodes)} need "
            "not: measure efficiency from there."
        )


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"
