"""Whole-process time and peak memory of commands, beside their targets.

python benchmarks/run.py [--runs N] [--only WORD]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

PYTHON = sys.executable
WIRESPEED = str(Path(sys.executable).with_name("wirespeed"))
MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024


class Case(NamedTuple):
    """A command and what it may cost; no target where None."""

    name: str
    command: Sequence[str]
    target_s: float | None = None
    target_MiB: float | None = None


class Run(NamedTuple):
    """What one process cost."""

    seconds: float
    peak_MiB: float


CASES = [
    Case("python -c pass", [PYTHON, "-c", "pass"]),
    Case("import wirespeed", [PYTHON, "-c", "import wirespeed"], 0.150),
    Case("--help", [WIRESPEED, "--help"], 0.300),
    Case(
        "collective, a preset",
        [WIRESPEED, "collective", "all_reduce", "--on", "dgx-h100"],
        0.5,
    ),
]


def measure(command: Sequence[str]) -> Run:
    """Time from start to end and peak resident memory of one process and its children.

    The kernel counts the parent's memory at the fork into a child's peak, so this script stays
    small: standard library only.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    complaint = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)}: status {process.returncode}\n{complaint.decode()}")
    return Run(seconds, usage.ru_maxrss * MAXRSS_BYTES / 2**20)


def row(case: Case, runs: Sequence[Run]) -> str:
    """One line of the table; the best run is held against the target."""
    seconds = [run.seconds for run in runs]
    peak = max(run.peak_MiB for run in runs)
    missed = (case.target_s is not None and min(seconds) > case.target_s) or (
        case.target_MiB is not None and peak > case.target_MiB
    )
    times = f"{min(seconds):9.3f}{median(seconds):9.3f}{_or_dash(case.target_s, '9.3f')}"
    memory = f"{peak:9.0f}{_or_dash(case.target_MiB, '9.0f')}"
    return f"{case.name:28}{times}{memory}{'  over' if missed else ''}"


def _or_dash(value: float | None, form: str) -> str:
    return f"{'-':>9}" if value is None else format(value, form)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--only", default="", help="cases whose name has this word")
    options = parser.parse_args()
    print(f"{options.runs} runs each, {os.cpu_count()} CPUs, Python {sys.version.split()[0]}")
    heads = "".join(f"{head:>9}" for head in ("min s", "median s", "target s", "MiB", "target"))
    print(f"{'command':28}{heads}")
    for case in CASES:
        if options.only in case.name:
            measure(case.command)  # reads the files into memory once
            print(row(case, [measure(case.command) for _ in range(options.runs)]), flush=True)


if __name__ == "__main__":
    main()
