"""train, scale: what a training step takes, and how that changes with the number of nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from wirespeed._api.asked import On, on_cluster
from wirespeed._api.clusters import cluster
from wirespeed._api.inputs import inputs_of, with_inputs
from wirespeed._api.jobs import Asked, LayoutLike, ModelLike, Words, job_of, usual_share
from wirespeed._api.sources import Source, resolved
from wirespeed.comparison.training_bands import with_band
from wirespeed.errors import UsageError, WirespeedError
from wirespeed.planning.scaling import LeftOut, ScalePoint, ScaleReport, scale_report
from wirespeed.planning.told import sentences
from wirespeed.topology.cluster import Cluster
from wirespeed.training.forecast import Step, as_forecast, simulate_step
from wirespeed.training.layout import Job, Layout
from wirespeed.training.result import StepForecast


def train(
    model: ModelLike,
    on: On,
    layout: LayoutLike = None,
    *,
    global_batch: int | None = None,
    seq: int | None = None,
    precision: str | None = None,
    framework: str | None = None,
    clock: float = 1.0,
    power_W: float | None = None,
    jitter: float = 0.0,
    compress: str | None = None,
    tp_overlap: bool = False,
    explain: bool = True,
) -> StepForecast:
    """The forecast of one training step.

    Args:
        model: a shipped name, a `config.json`, its folder, or its keys.
        on: a cluster, or a preset's name or a file.
        layout: degrees of parallelism and what goes with them, by their names: {"tp": 8, "pp": 4};
            dp takes the GPUs that are left. With no degree at all the least splitting that fits is
            chosen; what else is open (micro-batch, recompute …) by what fits.
        global_batch: sequences, or images, of one optimizer step; None: about four million tokens.
        seq: tokens of a sequence; None: as long as the model has room for, at most 8,192.
        precision: fp32, tf32, fp16, bf16, fp8 or nvfp4; None: bf16, or what the GPU has.
        framework: whose habits: Megatron-Core (None), FSDP2, torchtitan, DDP (None for images) …
        clock: of the GPUs, over the boost clock that peaks are quoted at.
        power_W: cap of each GPU's power; None: none.
        jitter: standard deviation of ranks' computing times in a step, over their mean; a step
            waits for the slowest that is to be expected of so many.
        compress: gradients on the wires: None as they are, `bf16`, `powersgd:4` (DDP).
        tp_overlap: tensor parallelism's collectives run beside their products.
        explain: also forecast with each thing twice as fast, and say what would help most.

    What was chosen is named in `chosen`. Raises WirespeedError: for a layout that cannot work with
    every reason and the nearest that can.
    """
    target = on_cluster(on)
    words = Words(
        model,
        layout,
        global_batch,
        seq,
        precision,
        framework,
        clock,
        power_W,
        jitter,
        compress,
        tp_overlap,
    )
    asked = job_of(words, target)
    step = _stepped(asked, target)
    return _forecast(step, on, target, explain=explain)


def train_with_step(words: Words, on: Cluster) -> tuple[StepForecast, Step]:
    """The forecast with the step that it is of, task by task, for a timeline or a trace."""
    step = _stepped(job_of(words, on), on)
    return _forecast(step, on, on, explain=True), step


def step_of(words: Words, on: Cluster) -> Step:
    """The step task by task, for a trace."""
    return _stepped(job_of(words, on), on)


def scale(
    model: ModelLike,
    on: Source,
    *,
    nodes: Sequence[int],
    layout: LayoutLike = None,
    global_batch: int | None = None,
    seq: int | None = None,
    precision: str | None = None,
    framework: str | None = None,
    clock: float = 1.0,
    power_W: float | None = None,
    jitter: float = 0.0,
    compress: str | None = None,
    tp_overlap: bool = False,
    strong: bool = False,
    **options: Any,
) -> ScaleReport:
    """The same training on several numbers of nodes.

    Weak scaling: `global_batch` is that of the fewest nodes and grows with the GPUs; with `strong`
    it stays. Without one, a step has about four million tokens on the most nodes. Data parallelism
    takes up the GPUs; all else of the layout is that of the fewest nodes that can do it. From
    `clock` to `tp_overlap` as for `train`; `options` go to `cluster`. Sizes that cannot be done are
    left out with the reason.
    """
    if not nodes:
        raise UsageError("no number of nodes", where="nodes", why="it takes at least one")
    found = resolved(on, gpu=options.pop("gpu", None))
    words = Words(
        model,
        _without_dp(layout),
        global_batch,
        seq,
        precision,
        framework,
        clock,
        power_W,
        jitter,
        compress,
        tp_overlap,
    )
    clusters = {count: cluster(found, nodes=count, **options) for count in sorted(set(nodes))}
    points: list[ScalePoint] = []
    left_out: list[LeftOut] = []
    errors: list[WirespeedError] = []
    for count, target in clusters.items():
        try:
            if points:
                now = words if strong else _grown(words, count / points[0].nodes)
            else:
                now = _begun(words, target, max(clusters) / count, strong=strong)
            step = _stepped(job_of(now, target), target)
        except WirespeedError as error:
            why = error.why.replace("\n ", ";")
            left_out.append(LeftOut(count, f"{error.what}: {why}" if why else error.what))
            errors.append(error)
            continue
        # Later sizes have the degrees of the first that can be done.
        words = words if points else now
        points.append(ScalePoint(count, with_band(as_forecast(step, target), target)))
    if not points:
        raise errors[-1]
    report = scale_report(points, "strong" if strong else "weak", left_out)
    first = points[0].step
    inputs = inputs_of(
        model=first.model,
        on=found,
        nodes=list(clusters),
        layout=words.layout,
        global_batch=global_batch,
        seq=first.seq_len,
        precision=first.precision,
        framework=first.framework,
        strong=strong or None,
        clock=None if clock == 1.0 else clock,
        power_W=power_W,
        jitter=jitter or None,
        compress=compress,
        tp_overlap=tp_overlap or None,
        **{name: value for name, value in options.items() if value},
    )
    return with_inputs(report, inputs)


def _begun(words: Words, target: Cluster, growth: float, *, strong: bool) -> Words:
    """The words with degrees and batch settled, as the fewest nodes that can do it have them."""
    job = job_of(words, target).job
    layout = {**words.layout, "tp": job.layout.tp, "pp": job.layout.pp}
    batch = words.global_batch
    if batch is None:
        most = max(round(job.layout.dp * growth), 1)
        batch = usual_share(job, most) * (most if strong else job.layout.dp)
    return replace(words, layout=layout, global_batch=batch)


def _grown(words: Words, factor: float) -> Words:
    """The words with a batch that many times as large."""
    assert words.global_batch is not None
    return replace(words, global_batch=round(words.global_batch * factor))


def _stepped(asked: Asked, target: Cluster) -> Step:
    step = simulate_step(asked.job, target)
    return dataclasses.replace(step, chosen=(*asked.chosen, *step.chosen))


def _forecast(step: Step, on: On, target: Cluster, *, explain: bool) -> StepForecast:
    result = with_band(as_forecast(step, target), target)
    if explain:
        result = replace(result, sentences=tuple(sentences(step, target, result)))
    job = step.job
    layout = {k: v for k, v in msgspec.structs.asdict(job.layout).items() if v is not None}
    inputs = inputs_of(
        model=job.model.name,
        on=on,
        nodes=[target.nodes],
        layout={name: value for name, value in layout.items() if name not in step.chosen},
        global_batch=job.global_batch,
        seq=job.seq_len,
        precision=job.precision,
        framework=job.framework,
        library=str(target.software),
        fabric=target.fabric or None,
        env=dict(target.software.env),
        changes=target.changes,
        **_unusual(job),
    )
    return with_inputs(result, inputs)


def _unusual(job: Job) -> dict[str, Any]:
    """Conditions and choices of a job that are not the usual ones, by their names here."""
    met, sent = job.conditions, job.compression
    name = f"powersgd:{sent.rank}" if sent.scheme == "powersgd" else sent.scheme
    found = {
        "clock": (met.clock, 1.0),
        "power_W": (met.power_W, None),
        "jitter": (met.jitter, 0.0),
        "compress": (name, "none"),
        "tp_overlap": (job.tp_overlap, False),
    }
    return {key: value for key, (value, usual) in found.items() if value != usual}


def _without_dp(layout: LayoutLike) -> dict[str, Any]:
    words: Iterable[tuple[str, Any]]
    if isinstance(layout, Layout):
        words = msgspec.structs.asdict(layout).items()
    else:
        words = (layout or {}).items()
    return {name: value for name, value in words if name != "dp" and value is not None}
