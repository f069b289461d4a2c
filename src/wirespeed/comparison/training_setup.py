"""training_setup: what a record of a training run says, as a job and a cluster.

It sees inputs only, so that a forecast cannot depend on a record's name, group, date or source.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from wirespeed.comparison.setup import Setup, Workshop, setup_of
from wirespeed.errors import Infeasible
from wirespeed.models import Model, from_fields
from wirespeed.planning.first_layout import first_layout
from wirespeed.readers.records import Inputs, RecordCluster
from wirespeed.readers.training_records import TrainingInputs, TrainingLayout
from wirespeed.topology.cluster import Cluster
from wirespeed.training.checks import reasons
from wirespeed.training.layout import Job, Layout, Precision
from wirespeed.training.memory import capacity

_PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "nvfp4")
_SCHEDULES = {
    "gpipe": "gpipe",
    "afab": "gpipe",
    "1f1b": "1f1b",
    "interleaved": "interleaved",
    "interleaved1f1b": "interleaved",
}
"""Schedules by the words of sources, case and signs aside."""
_MODELS: dict[bytes, Model] = {}


@dataclass(frozen=True, slots=True, eq=False)
class TrainingSetup:
    """A run's job, and the set-up that its cluster is built by."""

    job: Job
    setup: Setup
    chosen: tuple[str, ...] = ()
    """Degrees of parallelism that the record leaves open and that were chosen here."""


@dataclass(slots=True)
class TrainingWorkshop:
    """Clusters of runs; equal machines are built once."""

    workshop: Workshop = field(default_factory=Workshop)

    def cluster(self, setup: TrainingSetup) -> Cluster:
        """The cluster of a run."""
        return self.workshop.cluster(setup.setup)


def training_setup_of(inputs: TrainingInputs) -> TrainingSetup:
    """The run that a record's inputs describe.

    Raises Infeasible with the reason where they do not suffice or what they describe is not
    forecast yet, UnknownName for a GPU or framework that is not modelled.
    """
    _refuse(inputs)
    setup = setup_of(_machines(inputs))
    job = _job(inputs)
    chosen: tuple[str, ...] = ()
    if _open_degrees(inputs):
        job, chosen = _spread(job, inputs, setup)
    if wrong := reasons(job, inputs.cluster.gpus):
        raise Infeasible("the layout does not work", why="; ".join(wrong))
    return TrainingSetup(job, setup, chosen)


def _refuse(inputs: TrainingInputs) -> None:
    """What is left to later."""
    if inputs.task == "lora":
        raise Infeasible("LoRA is not forecast yet", why="most of its weights are frozen")
    if (inputs.layout.cp or 1) > 1:
        raise Infeasible("context parallelism is not forecast yet", why=f"cp is {inputs.layout.cp}")
    if inputs.framework is None:
        raise Infeasible("the framework is not known", why="it decides overlap and launch cost")
    if inputs.global_batch is None:
        raise Infeasible("the global batch is not known", why="the record does not state it")
    if inputs.cluster.gpu is None or inputs.cluster.gpus is None:
        raise Infeasible("the GPUs are not known", why="the record does not state them")


def _machines(inputs: TrainingInputs) -> Inputs:
    """The run's machines as a record of collectives says them."""
    cluster = inputs.cluster
    assert cluster.gpus is not None
    per_node = cluster.gpus_per_node or min(cluster.gpus, 8)
    nodes = max(-(-cluster.gpus // per_node), 1)
    machines = RecordCluster(
        gpu=cluster.gpu,
        nodes=nodes,
        gpus_per_node=max(per_node, 2),
        nvlink_domain=cluster.nvlink_domain,
        nics_per_node=cluster.nics_per_node,
        nic_gbps=cluster.nic_gbps,
        fabric=cluster.fabric,
    )
    return Inputs(cluster=machines, collective="all_reduce")


def _job(inputs: TrainingInputs) -> Job:
    precision = inputs.precision or "bf16"
    if precision not in _PRECISIONS:
        raise Infeasible(f"the precision {precision!r} is not known", why=", ".join(_PRECISIONS))
    model = _model(inputs.model)
    assert inputs.global_batch is not None
    assert inputs.framework is not None
    return Job(
        model=model,
        layout=_layout(inputs),
        global_batch=inputs.global_batch,
        seq_len=int(inputs.model.get("seq_len") or 1),
        precision=cast(Precision, precision),
        framework=inputs.framework,
        task="sft" if inputs.task == "sft" else "pretrain",
        overlap=inputs.overlap,
    )


def _model(fields: dict[str, Any]) -> Model:
    key = msgspec.json.encode(fields, order="deterministic")
    if key not in _MODELS:
        _MODELS[key] = from_fields(fields)
    return _MODELS[key]


def _open_degrees(inputs: TrainingInputs) -> bool:
    """Whether a record of many GPUs leaves open how they are shared out."""
    layout = inputs.layout
    return (inputs.cluster.gpus or 1) > 1 and layout.dp is layout.tp is layout.pp is None


def _spread(job: Job, inputs: TrainingInputs, setup: Setup) -> tuple[Job, tuple[str, ...]]:
    """The job with the least splitting that fits; unchanged where nothing does."""
    design, gpus = setup.wiring.design, inputs.cluster.gpus
    assert gpus is not None
    domain = inputs.cluster.nvlink_domain or inputs.cluster.gpus_per_node or 8
    found = first_layout(job, gpus, domain, capacity(design.gpu))
    return (found, ("dp", "tp", "pp")) if found else (job, ())


def _schedule(word: str | None) -> str | None:
    if word is None:
        return None
    plain = re.sub(r"[^a-z0-9]", "", word.lower())
    if plain not in _SCHEDULES:
        raise Infeasible(f"the schedule {word} is not forecast yet")
    return _SCHEDULES[plain]


def _layout(inputs: TrainingInputs) -> Layout:
    stated: TrainingLayout = inputs.layout
    assert inputs.cluster.gpus is not None
    tp, pp = stated.tp or 1, stated.pp or 1
    dp = stated.dp or max(inputs.cluster.gpus // (tp * pp), 1)
    micro = inputs.micro_batch
    if micro is None and stated.grad_accum and inputs.global_batch:
        micro = max(inputs.global_batch // (dp * stated.grad_accum), 1)
    plain = {
        "sharding": stated.sharding,
        "schedule": _schedule(stated.schedule),
        "recompute": inputs.recompute,
    }
    try:
        return msgspec.convert(
            {
                **{k: v for k, v in plain.items() if v is not None},
                "dp": dp,
                "tp": tp,
                "pp": pp,
                "vpp": stated.vpp or 1,
                "shard_group": stated.shard_group,
                "sequence_parallel": stated.sequence_parallel,
                "micro_batch": micro,
            },
            Layout,
        )
    except msgspec.ValidationError as error:
        raise Infeasible("the layout is not understood", why=str(error)) from None
