"""training_targets: what forecasts of steps are meant to reach, and what they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from wirespeed.validation.training_groups import TrainingGroup, group

if TYPE_CHECKING:
    from wirespeed.validation.training_report import TrainingRow

Figure = Literal[
    "mean", "median", "tau", "regret", "efficiency_points", "efficiency_worst", "memory_median"
]


class Aim(msgspec.Struct, frozen=True):
    """A class of runs, the figure of it that counts, and how far it may go."""

    name: str
    figure: Figure
    limit: float
    belongs: Callable[[TrainingRow], bool]


class Target(msgspec.Struct, frozen=True):
    """One aim against the runs of a file."""

    name: str
    figure: Figure
    limit: float
    runs: int
    reached: float | None
    """None where the file has no such runs."""
    met: bool | None


def _of(*groups: str) -> Callable[[TrainingRow], bool]:
    return lambda row: row.group in groups


def _foundry(generation: str) -> Callable[[TrainingRow], bool]:
    return lambda row: row.group == "llm-foundry" and row.gpu.startswith(generation)


def _mlperf(row: TrainingRow) -> bool:
    """GPT-3 and Llama-405B, not BERT, ResNet and fine-tuning of the same rounds."""
    return row.group in ("mlperf40", "mlperf-more") and (
        "gpt3" in row.series or "405b" in row.series
    )


def _data_parallel(row: TrainingRow) -> bool:
    return row.group in ("cnn", "dle-bert")


def _any(_: TrainingRow) -> bool:
    return True


AIMS = (
    Aim("Megatron A100 with sequence parallelism", "mean", 0.05, _of("seqpar")),
    Aim("vTrain, one node", "mean", 0.08, _of("vtrain-single")),
    Aim("vTrain, one node", "tau", 0.85, _of("vtrain-single")),
    Aim("vTrain, one node", "regret", 0.03, _of("vtrain-single")),
    Aim("vTrain, several nodes", "mean", 0.08, _of("vtrain-multi")),
    Aim("vTrain, several nodes", "tau", 0.85, _of("vtrain-multi")),
    Aim("vTrain, several nodes", "regret", 0.03, _of("vtrain-multi")),
    Aim("llm-foundry FSDP on A100", "mean", 0.12, _foundry("A100")),
    Aim("llm-foundry FSDP on H100", "mean", 0.12, _foundry("H100")),
    Aim("InternEvo, 8 to 1,024 GPUs", "mean", 0.12, _of("internevo")),
    Aim("InternEvo, 8 to 1,024 GPUs", "efficiency_worst", 6.0, _of("internevo")),
    Aim("MLPerf GPT-3 and Llama-405B", "median", 0.10, _mlperf),
    Aim("MLPerf GPT-3 and Llama-405B", "efficiency_worst", 6.0, _mlperf),
    Aim("Megatron-Bridge, dense", "median", 0.15, _of("megatron-bridge")),
    Aim("CNN and BERT over nodes", "efficiency_worst", 5.0, _data_parallel),
    Aim("Peak memory, dense", "memory_median", 0.10, _any),
)


def targets(rows: Sequence[TrainingRow]) -> Iterator[Target]:
    """Every aim with what these runs reach."""
    for aim in AIMS:
        mine = [row for row in rows if aim.belongs(row)]
        figures = group(aim.name, mine)
        reached = getattr(figures, aim.figure)
        yield Target(
            aim.name,
            aim.figure,
            aim.limit,
            _runs(figures, aim.figure, mine),
            reached,
            None if reached is None else _good(reached, aim),
        )


def _runs(figures: TrainingGroup, figure: Figure, rows: Sequence[TrainingRow]) -> int:
    if figure == "memory_median":
        return figures.memory_rows
    if figure.startswith("efficiency"):
        return sum(row.error is not None for row in rows)
    return figures.rows


def _good(reached: float, aim: Aim) -> bool:
    return reached >= aim.limit if aim.figure == "tau" else reached <= aim.limit
