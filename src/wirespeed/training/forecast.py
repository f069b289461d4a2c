"""forecast_step: what a training step takes on a cluster, and which part of it is what."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from wirespeed.errors import Infeasible
from wirespeed.models import SEEN, Convention
from wirespeed.topology.change import ChangeKind
from wirespeed.topology.cluster import Cluster, everyone
from wirespeed.topology.result import ParameterSet
from wirespeed.topology.software import Notice
from wirespeed.training.build import Builder
from wirespeed.training.choices import usual
from wirespeed.training.communication import Wires
from wirespeed.training.compute import Pace, PaceValue, host_of, pace_of, parameter_hash
from wirespeed.training.engine import Plan, Span, run
from wirespeed.training.frameworks import framework_of
from wirespeed.training.habits import habit_of
from wirespeed.training.layout import Job
from wirespeed.training.memory import capacity, memory, micro_batches
from wirespeed.training.passes import Passes
from wirespeed.training.ranks import rank_groups
from wirespeed.training.remarks import remarks
from wirespeed.training.result import Breakdown, StepForecast
from wirespeed.training.spent import spent
from wirespeed.training.utilisation import hfu, items_of, mfu, peak

_MOST_PASSES = 512
"""Passes of micro-batches through model chunks that are run one by one."""
_MOST_PASSES_SLOWED = 8192
"""The same on a cluster with a part that is slow or down."""


_SHORT = 0.25
"""Share of a pass up to which a transfer is short."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A step as it runs: the job with all that was chosen, its tasks and when each ran."""

    job: Job
    chosen: tuple[str, ...]
    plan: Plan
    spans: tuple[Span, ...]
    spent: dict[str, float]
    """Seconds by field of the breakdown; they sum to the step."""

    @property
    def seconds(self) -> float:
        """[s] from the first task to the end of the last."""
        return sum(self.spent.values())


def simulate_step(
    job: Job,
    cluster: Cluster,
    *,
    pace: Mapping[str, PaceValue] | None = None,
    wires: Wires | None = None,
    ran: bool = False,
) -> Step:
    """A job's step on a cluster, task by task.

    What the layout leaves open is chosen by what fits. `pace` are other parameters of compute than
    those that are shipped; `ran` says that the job is known to fit. Raises Infeasible where it does
    not fit or GPUs are missing.
    """
    name = cluster.machine.gpu
    have = len(everyone(cluster).gpus)
    if job.layout.gpus > have:
        raise Infeasible(
            f"the layout needs {job.layout.gpus:,} GPUs, the cluster has {have:,}",
            where="layout",
            why="dp x tp x pp x cp GPUs take part",
            remedy="take more nodes, or smaller degrees",
        )
    job, chosen = usual(job, capacity(name), ran=ran)
    framework = framework_of(job.framework)
    passes = Passes(
        job,
        habit_of(job.framework),
        framework,
        pace_on(cluster, job, pace),
        host_of(framework.host, pace),
        wires or Wires(cluster, job.layout),
    )
    # A part that is slow lets a pipeline settle late.
    slowed = any(c.kind in (ChangeKind.RESOURCE, ChangeKind.COMPUTE) for c in cluster.changes)
    most = _MOST_PASSES_SLOWED if slowed else _MOST_PASSES
    return _stepped(passes, _slow(job, cluster), chosen, most)


def _stepped(passes: Passes, slow: list[float], chosen: tuple[str, ...], most: int) -> Step:
    """The step task by task, or of so many micro-batches that the rest only repeat them."""
    job = passes.job
    count, turn = micro_batches(job), job.layout.pp
    if count <= 2 * turn + 4 or count * job.layout.pp * job.layout.vpp <= most:
        return _ran(passes, slow, chosen, count)
    # Once it is full each micro-batch, or round of pp when interleaved, takes as long as the last.
    first, stride = (turn + 2, 2) if job.layout.vpp == 1 else (turn, turn)
    few = _ran(passes, slow, chosen, first)
    if job.layout.vpp > 1 and not _keeps_pace(few):
        first += turn
        few = _ran(passes, slow, chosen, first)
    more = _ran(passes, slow, chosen, first + stride)
    rounds = (count - first - stride) / stride
    spent_of = {
        kind: value + rounds * (value - few.spent.get(kind, 0.0))
        for kind, value in more.spent.items()
    }
    return replace(more, spent=spent_of)


def _keeps_pace(step: Step) -> bool:
    """Whether transfers are so short that an interleaved pipeline is full after its first round."""
    tasks = step.plan.tasks
    sends = max((task.seconds for task in tasks if task.kind == "pp"), default=0.0)
    return sends < _SHORT * min(task.seconds for task in tasks if task.kind == "compute")


def _ran(passes: Passes, slow: list[float], chosen: tuple[str, ...], count: int) -> Step:
    plan = Builder(passes, slow, count).build()
    spans = tuple(run(plan.tasks))
    return Step(passes.job, chosen, plan, spans, spent(plan.tasks, spans))


def forecast_step(
    job: Job,
    cluster: Cluster,
    *,
    pace: Mapping[str, PaceValue] | None = None,
    convention: Convention = SEEN,
    ran: bool = False,
) -> StepForecast:
    """The forecast of a job's step: time, rates, what it is spent on, memory."""
    step = simulate_step(job, cluster, pace=pace, ran=ran)
    return as_forecast(step, cluster, convention)


def as_forecast(step: Step, cluster: Cluster, convention: Convention = SEEN) -> StepForecast:
    """A step that ran, in the words of the contract."""
    job, seconds = step.job, step.seconds
    most = peak(cluster.machine.gpu, job.precision) or math.inf
    return StepForecast(
        parameters=ParameterSet(parameter_hash(cluster.parameters.digest)),
        warnings=tuple(_warnings(job, cluster)),
        model=job.model.name,
        cluster=cluster.machine.name,
        fabric=cluster.fabric,
        nodes=cluster.nodes,
        gpus=job.layout.gpus,
        framework=job.framework,
        precision=job.precision,
        global_batch=job.global_batch,
        seq_len=job.seq_len,
        layout=msgspec.to_builtins(job.layout),
        chosen=step.chosen,
        step_time_s=seconds,
        tokens_per_s_per_gpu=items_of(job) / seconds / job.layout.gpus,
        mfu=mfu(job, seconds, most, convention),
        hfu=hfu(job, seconds, most, convention),
        flops_convention=convention.words(job.model),
        breakdown_s=Breakdown(**step.spent),
        memory_GiB=memory(job, capacity(cluster.machine.gpu)),
    )


def _warnings(job: Job, cluster: Cluster) -> Iterator[Notice]:
    yield from (notice for notice in cluster.warnings if notice.code != "for-steps-only")
    said = (*remarks(job), *job.conditions.remarks(cluster.machine.gpu, job.layout.gpus))
    yield from (Notice("job-remark", text) for text in said)


def pace_on(cluster: Cluster, job: Job, pace: Mapping[str, PaceValue] | None = None) -> Pace:
    """The rates of a cluster's GPUs in a job's precision, as its changes make them."""
    name, met = cluster.machine.gpu, job.conditions
    gemm, hbm = (_factor(cluster, word) for word in ("gemm", "hbm"))
    rates = pace_of(name, job.precision, pace, gemm=gemm * met.rate(name), hbm=hbm)
    return rates.slower(met.slowest(job.layout.gpus))


def _factor(cluster: Cluster, subject: str) -> float:
    """By how much changes make products or memory faster."""
    mine = (c for c in cluster.changes if c.kind is ChangeKind.MACHINE and c.subject == subject)
    return math.prod(float(change.value) for change in mine)


def _slow(job: Job, cluster: Cluster) -> list[float]:
    """By how much the slowest GPU of each stage computes longer."""
    order = rank_groups(job.layout, "pp")
    slow = np.ones(job.layout.gpus)
    gpus = everyone(cluster).gpus[: job.layout.gpus]
    for rank, component in enumerate(gpus.tolist()):
        if component in cluster.compute:
            slow[rank] = 1 / cluster.compute[component]
    return [float(slow[order[:, s]].max()) for s in range(job.layout.pp)]
