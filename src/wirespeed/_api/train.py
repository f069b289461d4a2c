"""train, scale: what a training step takes, and how that changes with the number of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from wirespeed._api.asked import On, on_cluster
from wirespeed._api.clusters import cluster
from wirespeed._api.inputs import inputs_of, with_inputs
from wirespeed._api.models import model as model_of
from wirespeed.errors import UsageError, WirespeedError
from wirespeed.models import Model
from wirespeed.planning.scaling import ScaleReport, scale_report
from wirespeed.planning.told import sentences
from wirespeed.topology.cluster import Cluster, everyone
from wirespeed.training.checks import check
from wirespeed.training.forecast import Step, as_forecast, simulate_step
from wirespeed.training.layout import Job, Layout, Precision
from wirespeed.training.result import StepForecast

LayoutLike = Layout | Mapping[str, Any] | None
ModelLike = str | Path | Mapping[str, Any] | Model

DEFAULT_FRAMEWORK = "Megatron-Core"


def train(
    model: ModelLike,
    on: On,
    layout: LayoutLike = None,
    *,
    global_batch: int,
    seq: int | None = None,
    precision: str = "bf16",
    framework: str = DEFAULT_FRAMEWORK,
    explain: bool = True,
) -> StepForecast:
    """The forecast of one training step.

    Args:
        model: a shipped name, a `config.json`, its folder, or its keys.
        on: a cluster, or a preset's name or a file.
        layout: degrees of parallelism, by their names; dp takes the GPUs that are left. What is
            left open (micro-batch, recompute …) is chosen by what fits, and reported.
        global_batch: sequences, or images, of one optimizer step.
        seq: tokens of a sequence; None: as long as the model has room for.
        precision: fp32, tf32, fp16, bf16, fp8 or nvfp4.
        framework: whose habits: Megatron-Core, FSDP2, torchtitan, DDP …
        explain: also forecast with each thing twice as fast, and say what would help most.

    Raises WirespeedError: for a layout that cannot work with every reason and the nearest that can.
    """
    target = on_cluster(on)
    step, job = _step(model, target, layout, global_batch, seq, precision, framework)
    result = as_forecast(step, target)
    if explain:
        told = sentences(step, target, result)
        result = msgspec.structs.replace(result, sentences=tuple(told))
    inputs = inputs_of(
        model=job.model.name,
        on=on,
        nodes=target.nodes,
        layout={k: v for k, v in msgspec.to_builtins(job.layout).items() if v is not None},
        global_batch=global_batch,
        seq=job.seq_len,
        precision=precision,
        framework=framework,
        library=str(target.software),
        fabric=target.fabric or None,
        changes=target.changes,
    )
    return with_inputs(result, inputs)


def step_of(
    model: ModelLike,
    on: On,
    layout: LayoutLike = None,
    *,
    global_batch: int,
    seq: int | None = None,
    precision: str = "bf16",
    framework: str = DEFAULT_FRAMEWORK,
) -> Step:
    """The step task by task, for a timeline; arguments as those of `train`."""
    step, _ = _step(model, on_cluster(on), layout, global_batch, seq, precision, framework)
    return step


def scale(
    model: ModelLike,
    on: str,
    layout: LayoutLike = None,
    *,
    nodes: Sequence[int],
    global_batch: int,
    seq: int | None = None,
    precision: str = "bf16",
    framework: str = DEFAULT_FRAMEWORK,
    strong: bool = False,
    **options: Any,
) -> ScaleReport:
    """The same training on several numbers of nodes.

    Weak scaling: `global_batch` is that of the fewest nodes and grows with the GPUs; with `strong`
    it stays. Data parallelism takes up the GPUs; all else of the layout stays. `options` go to
    `cluster`. Sizes that cannot be done are left out with the reason.
    """
    if not nodes:
        raise UsageError("no number of nodes", where="nodes", why="it takes at least one")
    points: list[tuple[int, int, StepForecast]] = []
    left_out: list[str] = []
    first: int | None = None
    last_error: WirespeedError | None = None
    for count in sorted(nodes):
        target = cluster(on, nodes=count, **options)
        gpus = len(everyone(target).gpus)
        first = first or gpus
        batch = global_batch if strong else global_batch * gpus // first
        try:
            step, _ = _step(model, target, _without_dp(layout), batch, seq, precision, framework)
        except WirespeedError as error:
            left_out.append(
                f"{count} nodes: {error.what}" + (f" ({error.why})" if error.why else "")
            )
            last_error = error
            continue
        points.append((count, batch, as_forecast(step, target)))
    if not points:
        assert last_error is not None
        raise last_error
    report = scale_report(points, "strong" if strong else "weak", left_out)
    inputs = inputs_of(
        model=report.model,
        on=on,
        nodes=list(nodes),
        global_batch=global_batch,
        seq=seq,
        precision=precision,
        framework=framework,
        strong=strong or None,
    )
    return with_inputs(report, inputs)


def _step(
    model: ModelLike,
    target: Cluster,
    layout: LayoutLike,
    global_batch: int,
    seq: int | None,
    precision: str,
    framework: str,
) -> tuple[Step, Job]:
    job = job_of(model, target, layout, global_batch, seq, precision, framework)
    return simulate_step(job, target), job


def job_of(
    model: ModelLike,
    target: Cluster,
    layout: LayoutLike,
    global_batch: int,
    seq: int | None,
    precision: str,
    framework: str,
) -> Job:
    """The job in these words. Raises WirespeedError for words or layouts that cannot be."""
    found = model_of(model)
    gpus = len(everyone(target).gpus)
    length = 1 if found.item == "image" else seq or found.longest
    if length is None:
        raise UsageError(
            "the length of a sequence is not known",
            where="--seq",
            why=f"{found.name} has room for any",
            remedy="write for example --seq 4096",
        )
    try:
        job = Job(
            model=found,
            layout=_layout(layout, gpus),
            global_batch=global_batch,
            seq_len=length,
            precision=msgspec.convert(precision, Precision),
            framework=framework,
        )
    except msgspec.ValidationError as error:
        raise UsageError("this is no layout", where="layout", why=str(error)) from None
    check(job, gpus)
    return job


def _layout(given: LayoutLike, gpus: int) -> Layout:
    """The layout with data parallelism over the GPUs that are left, unless it is given."""
    if isinstance(given, Layout):
        return given
    words = {k: v for k, v in (given or {}).items() if v is not None}
    if "dp" not in words:
        others = words.get("tp", 1) * words.get("pp", 1) * words.get("cp", 1)
        words["dp"] = max(gpus // others, 1)
    return msgspec.convert(words, Layout)


def _without_dp(layout: LayoutLike) -> Mapping[str, Any]:
    words: Iterable[tuple[str, Any]]
    if isinstance(layout, Layout):
        words = msgspec.to_builtins(layout).items()
    else:
        words = (layout or {}).items()
    return {k: v for k, v in words if k != "dp" and v is not None}
