"""update: the end of a step: gradients summed where they were not yet, and the optimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wirespeed.collectives.operation import Operation
from wirespeed.training.engine import Task
from wirespeed.training.frameworks import framework_of
from wirespeed.training.habits import state_bytes
from wirespeed.training.layout import Job
from wirespeed.training.ranks import shard_ranks
from wirespeed.training.shards import table_shard

if TYPE_CHECKING:
    from wirespeed.training.build import Builder


def update(to: Builder, stage: int) -> None:
    """Adds what a stage does after its last backward."""
    layout, how = to.passes.job.layout, to.passes.framework
    layers = to.cut[stage].layers
    own = to.parameters(layers)
    tied = _tied(to, stage)
    if tied:
        call = to.passes.wires.call("ends", Operation.ALL_REDUCE, 2.0 * tied)
        _alone(to, stage, "sum of the tied table", call.seconds)
    if layout.dp * layout.cp > 1 and layout.sharding != "zero3" and not how.overlaps_gradients:
        _alone(to, stage, "reduce gradients", to.gradients(own).seconds)
    _optimizer(to, stage, own)
    sharded = layout.sharding in ("zero1", "zero2") and layout.dp > 1
    if sharded and not how.overlaps_parameters:
        _alone(to, stage, "gather weights", to.weights(own).seconds)


def _alone(to: Builder, stage: int, name: str, seconds: float) -> None:
    """Communication that nothing runs beside."""
    if seconds:
        to.plan.add(Task(name, "dp", stage, "compute", seconds))


def _optimizer(to: Builder, stage: int, parameters: float) -> None:
    """Adam over what this GPU has of the states, when all gradients are there."""
    job, layout = to.passes.job, to.passes.job.layout
    share = shard_ranks(layout) if layout.sharding not in (None, "none") else 1
    seconds = parameters / share * optimizer_bytes(job) / to.passes.pace.memory
    late = max(to.passes.host.step - seconds, 0.0)
    reduced = to.reduced[stage]
    to.plan.add(
        Task(
            "optimizer",
            "optimizer",
            stage,
            "compute",
            seconds * to.slow[stage] + late,
            () if reduced < 0 else (reduced,),
            parts={"optimizer": seconds * to.slow[stage], "host": late},
        )
    )


def optimizer_bytes(job: Job) -> float:
    """Bytes that the optimizer moves for each parameter that it updates.

    It reads and writes its states and reads gradients, writes weights; norm and scale pass over
    gradients once more.
    """
    state = state_bytes(job.framework, job.precision)
    norm = state.gradients * framework_of(job.framework).optimizer_passes
    return 2 * state.optimizer + state.weights + state.gradients + norm


def _tied(to: Builder, stage: int) -> float:
    """Parameters of the table that first and last stage hold both."""
    job = to.passes.job
    if not job.model.tied or job.layout.pp == 1 or stage not in (0, job.layout.pp - 1):
        return 0.0
    return table_shard(job.model.layers, job.layout.tp, pads_vocab=to.passes.habit.pads_vocab)
