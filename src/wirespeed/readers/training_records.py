"""Files of published training runs: the same container as collectives' records, other fields."""

from __future__ import annotations

from typing import Any

import msgspec

from wirespeed.errors import InputError
from wirespeed.readers.records import BadRecord, objects


class TrainingCluster(msgspec.Struct, frozen=True):
    """The machines of a run, as far as its source says."""

    gpu: str | None = None
    gpus: int | None = None
    gpus_per_node: int | None = None
    nvlink_domain: int | None = None
    nics_per_node: int | None = None
    nic_gbps: float | None = None
    fabric: str | None = None


class TrainingLayout(msgspec.Struct, frozen=True):
    """Degrees of parallelism as the source has them; None: not stated, or not there."""

    dp: int | None = None
    tp: int | None = None
    pp: int | None = None
    vpp: int | None = None
    cp: int | None = None
    ep: int | None = None
    sharding: str | None = None
    shard_group: int | None = None
    sequence_parallel: bool | None = None
    schedule: str | None = None
    grad_accum: int | None = None


class TrainingInputs(msgspec.Struct, frozen=True):
    """What a forecast may use of a record of a training run, and nothing else."""

    cluster: TrainingCluster
    model: dict[str, Any]
    layout: TrainingLayout
    framework: str | None = None
    task: str | None = None
    precision: str | None = None
    global_batch: int | None = None
    micro_batch: int | None = None
    recompute: str | None = None
    overlap: str | None = None


class Measured(msgspec.Struct, frozen=True):
    """What a run took."""

    step_time_s: float | None = None
    tokens_per_s_per_gpu: float | None = None
    samples_per_s: float | None = None
    peak_mem_gb: float | None = None
    peak_mem_unit: str | None = None


class TrainingRecord(msgspec.Struct, frozen=True):
    """One run: inputs, measurement, and where it belongs in tables."""

    position: int
    inputs: TrainingInputs
    measured: Measured
    id: str = ""
    group: str = ""
    series: str = ""
    fold: str = ""
    grade: str = "A"


class _Raw(msgspec.Struct, frozen=True):
    """A record as it stands in the file."""

    model: dict[str, Any]
    cluster: TrainingCluster | None = None
    layout: TrainingLayout | None = None
    framework: str | None = None
    task: str | None = None
    precision: str | None = None
    global_batch: int | None = None
    micro_batch: int | None = None
    recompute: str | None = None
    overlap_stated: str | None = None
    measured: Measured | None = None
    id: str | None = None
    group: str | None = None
    series: str | None = None
    fold: str | None = None
    grade: str | None = None


def are_training_records(data: str | bytes) -> bool:
    """Whether the first object of a file is a training run rather than a collective's sweep."""
    for text in objects(data):
        try:
            first = msgspec.json.decode(text)
        except msgspec.MsgspecError:
            continue
        if isinstance(first, dict):
            return "model" in first and "collective" not in first
    return False


def read_training_records(
    data: str | bytes, *, file: str
) -> tuple[list[TrainingRecord], list[BadRecord]]:
    """The runs of a file in its order, and those that cannot be read.

    Raises InputError where not a single line is a JSON object.
    """
    good: list[TrainingRecord] = []
    bad: list[BadRecord] = []
    for position, text in enumerate(objects(data)):
        try:
            good.append(_record(position, msgspec.json.decode(text, type=_Raw, strict=False)))
        except msgspec.MsgspecError as error:
            bad.append(BadRecord(position, f"not a record: {error}"))
    if not good and not bad:
        raise InputError(
            "there are no records here",
            where=file,
            why="a file of records holds one JSON object a line, or a JSON array of objects",
            remedy="give a file such as training.json",
        )
    return good, bad


def _record(position: int, raw: _Raw) -> TrainingRecord:
    inputs = TrainingInputs(
        cluster=raw.cluster or TrainingCluster(),
        model=raw.model,
        layout=raw.layout or TrainingLayout(),
        framework=raw.framework,
        task=raw.task,
        precision=raw.precision,
        global_batch=raw.global_batch,
        micro_batch=raw.micro_batch,
        recompute=raw.recompute,
        overlap=raw.overlap_stated,
    )
    return TrainingRecord(
        position=position,
        inputs=inputs,
        measured=raw.measured or Measured(),
        id=raw.id or "",
        group=raw.group or "",
        series=raw.series or "",
        fold=raw.fold or "",
        grade=raw.grade or "A",
    )
