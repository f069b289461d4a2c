"""training_fitting: the parameters of compute and hosts that bring steps closest to published ones.

Each record is a job whose open fields are chosen, with its collectives laid out once; a trial of
parameters only runs tasks again. Groups weigh alike, so that a large one decides no more than a
small one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
import numpy.typing as npt

from wirespeed.comparison.training_setup import TrainingWorkshop, training_setup_of
from wirespeed.errors import WirespeedError
from wirespeed.readers.training_records import TrainingRecord
from wirespeed.topology.cluster import Cluster
from wirespeed.training.choices import usual
from wirespeed.training.communication import Wires
from wirespeed.training.compute import PaceValue
from wirespeed.training.forecast import simulate_step
from wirespeed.training.layout import Job
from wirespeed.training.memory import capacity

Floats = npt.NDArray[np.float64]
Values = Mapping[str, PaceValue]

_WORST = 0.7
"""Beyond this logarithm of the ratio an error counts no more: that is something else."""
_PULL = 1e-3
"""What a squared logarithm of a parameter's move costs."""
_LEAST_STRIDE = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A record, ready to be forecast under any parameters."""

    record: TrainingRecord
    job: Job
    cluster: Cluster
    wires: Wires
    measured: float
    """[s]"""

    def seconds(self, values: Values) -> float:
        """The forecast step [s]."""
        step = simulate_step(self.job, self.cluster, pace=values, wires=self.wires, ran=True)
        return step.seconds


def measured_seconds(record: TrainingRecord) -> float | None:
    """The step [s] that a record measured, from whatever rate it states."""
    found, inputs = record.measured, record.inputs
    if found.step_time_s:
        return found.step_time_s
    if inputs.global_batch is None or not inputs.cluster.gpus:
        return None
    if found.tokens_per_s_per_gpu:
        tokens = inputs.global_batch * (inputs.model.get("seq_len") or 1)
        return float(tokens / found.tokens_per_s_per_gpu / inputs.cluster.gpus)
    if found.samples_per_s:
        return inputs.global_batch / found.samples_per_s
    return None


def prepared(records: Sequence[TrainingRecord]) -> list[Run]:
    """The records that can be forecast and have a time."""
    workshop, runs = TrainingWorkshop(), list[Run]()
    for record in records:
        measured = measured_seconds(record)
        if not measured:
            continue
        try:
            setup = training_setup_of(record.inputs)
            cluster = workshop.cluster(setup)
            job, _ = usual(setup.job, capacity(cluster.machine.gpu), ran=True)
        except WirespeedError:
            continue
        runs.append(Run(record, job, cluster, Wires(cluster, job.layout), measured))
    return runs


def errors(runs: Sequence[Run], values: Values) -> Floats:
    """[runs] logarithms of forecast over measured."""
    return np.array([np.log(run.seconds(values) / run.measured) for run in runs])


def loss(runs: Sequence[Run], values: Values) -> float:
    """The mean over groups of each group's mean error."""
    off = np.minimum(np.abs(errors(runs, values)), _WORST)
    groups = np.array([run.record.group for run in runs])
    return float(np.mean([off[groups == one].mean() for one in np.unique(groups)]))


def fitted(
    runs: Sequence[Run], start: dict[str, PaceValue], keys: Sequence[str], *, rounds: int = 6
) -> dict[str, PaceValue]:
    """Parameters near `start` with the least loss, `keys` moved one after the other."""
    values = dict(start)
    stride = dict.fromkeys(keys, 0.2)
    mine = {key: [run for run in runs if _depends(run, key)] for key in keys}
    for _ in range(rounds):
        for key in keys:
            if mine[key] and stride[key] >= _LEAST_STRIDE:
                values, stride[key] = _moved(mine[key], start, values, key, stride[key])
    return values


def _moved(
    runs: Sequence[Run],
    start: Mapping[str, PaceValue],
    values: dict[str, PaceValue],
    key: str,
    stride: float,
) -> tuple[dict[str, PaceValue], float]:
    """Values with one parameter up or down if that helps, and the stride for its next turn."""

    def cost(trial: Values) -> float:
        return loss(runs, trial) + _PULL * float(np.log(trial[key].value / start[key].value) ** 2)

    now = cost(values)
    for factor in (1 + stride, 1 / (1 + stride)):
        value = values[key].value * factor
        if values[key].unit == "1" and not key.endswith("fill"):
            value = min(value, 1.0)  # a share
        trial = {**values, key: msgspec.structs.replace(values[key], value=value)}
        if cost(trial) < now - 1e-6:
            return trial, min(stride * 1.3, 0.4)
    return values, stride * 0.5


def _depends(run: Run, key: str) -> bool:
    """Whether a run's time can hang on a parameter."""
    from wirespeed.catalog import generation_of, gpu
    from wirespeed.training.frameworks import framework_of

    group = key.partition(".")[0]
    if group.startswith("host-"):
        return group == f"host-{framework_of(run.job.framework).host}"
    row = gpu(run.cluster.machine.gpu)
    return group in ("other", generation_of(row.architecture, row.cc))
