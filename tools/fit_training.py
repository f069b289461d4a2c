"""Fits the parameters of compute and hosts to published training steps.

fit_training.py RECORDS            rewrites pace.toml
fit_training.py RECORDS --cross    only prints the errors with whole folds held out
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from wirespeed.readers.training_records import TrainingRecord, read_training_records
from wirespeed.training.compute import PaceValue, pace_table
from wirespeed.validation.training_fitting import Run, errors, fitted, prepared

ROOT = Path(__file__).resolve().parents[1]
PACE = ROOT / "src/wirespeed/training/data/pace.toml"
EVERY = {
    "vtrain-single": 20,
    "vtrain-multi": 4,
    "llm-foundry": 4,
    "internevo": 3,
    "torchtitan": 3,
    "kempner": 4,
    "nemo2407": 4,
    "mlperf-more": 4,
    "seqpar": 1,
    "megatron-bridge": 1,
    "fms-fsdp": 1,
    "bigscience-a100": 3,
}
"""Of each group that is fitted on, every so-manieth run: a trial takes seconds, not minutes."""
PARTS = 4
ROUNDS = 3


def main(words: list[str]) -> None:
    """Fits and writes, or fits without each part of the folds."""
    data = Path(words[0]).read_bytes()
    records, _ = read_training_records(data, file=words[0])
    runs = prepared(chosen(records))
    start = beginning()
    keys = fitted_keys(start)
    print(f"{len(runs)} runs of {len({r.record.fold for r in runs})} folds, {len(keys)} parameters")
    if "--cross" in words:
        off = np.zeros(len(runs))
        parts = np.array([part_of(run.record.fold) for run in runs])
        for part in range(PARTS):
            rest = [run for run, own in zip(runs, parts, strict=True) if own != part]
            values = fitted(rest, start, keys, rounds=ROUNDS)
            unseen = [run for run, own in zip(runs, parts, strict=True) if own == part]
            off[parts == part] = errors(unseen, values)
            print(f"part {part}: {len(unseen)} runs unseen", flush=True)
        print(table(runs, off))
        return
    best = fitted(runs, start, keys, rounds=ROUNDS)
    write(best, keys)
    print(table(runs, errors(runs, best)))


def fitted_keys(start: Mapping[str, PaceValue]) -> list[str]:
    """The parameters that are fitted."""
    return [key for key, value in start.items() if value.start is not None and _own(key)]


def fit(runs: Sequence[Run]) -> Mapping[str, PaceValue]:
    """All parameters with those fitted that runs decide."""
    start = beginning()
    return fitted(runs, start, fitted_keys(start), rounds=ROUNDS)


def chosen(records: Sequence[TrainingRecord]) -> list[TrainingRecord]:
    """The runs that are fitted on, group by group."""
    found = []
    for group, step in EVERY.items():
        mine = [r for r in records if r.group == group and r.grade in ("A", "B")]
        found += mine[::step]
    return found


def beginning() -> dict[str, PaceValue]:
    """The parameters before any fit."""
    shipped = pace_table()
    return {
        key: value if value.start is None else _at(value, value.start)
        for key, value in shipped.items()
    }


def table(runs: Sequence[Run], off: np.ndarray) -> str:
    """Errors by group."""
    groups = np.array([run.record.group for run in runs])
    lines = []
    for group in EVERY:
        mine = np.exp(off[groups == group]) - 1
        if len(mine):
            lines.append(
                f"{group:16} {len(mine):4} runs  mean {np.abs(mine).mean():6.1%}  "
                f"median {np.median(np.abs(mine)):6.1%}  bias {np.median(mine):+6.1%}"
            )
    return "\n".join(lines)


def write(best: Mapping[str, PaceValue], keys: Sequence[str]) -> None:
    """Puts the fitted values into the file, three digits each."""
    text = PACE.read_text("utf-8")
    for key in keys:
        group, _, name = key.partition(".")
        section = re.search(rf"^\[{re.escape(group)}\]\n(?:(?!\[).*\n)*", text, re.M)
        assert section is not None, key
        changed = re.sub(
            rf"^({name} = \{{ value = )[^,]+",
            rf"\g<1>{float(f'{best[key].value:.3g}'):g}",
            section[0],
            flags=re.M,
        )
        text = text.replace(section[0], changed)
    PACE.write_text(text, "utf-8")


def part_of(fold: str) -> int:
    """The part that a fold belongs to, the same on every run."""
    return int.from_bytes(hashlib.sha256(fold.encode()).digest()[:4]) % PARTS


def _at(value: PaceValue, number: float) -> PaceValue:
    return PaceValue(number, value.unit, value.source, value.confidence, value.start)


def _own(key: str) -> bool:
    return not key.startswith("other.")


if __name__ == "__main__":
    main(sys.argv[1:])
