"""Whole-process time and peak memory of commands, beside their targets; then budgets when warm.

python benchmarks/run.py [--runs N] [--only WORD]
"""

from __future__ import annotations

import argparse
import compileall
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from math import log
from pathlib import Path
from statistics import median
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
RECORDS = HERE.parents[1] / "shared" / "validation" / "collectives.json"
PYTHON = sys.executable
SCRIPT = Path(sys.executable).with_name("wirespeed")
WIRESPEED = [str(SCRIPT)] if SCRIPT.exists() else [PYTHON, "-m", "wirespeed"]
MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024
LONG_S = 3.0
"""From here on a case is run a few times only."""


class Case(NamedTuple):
    """A command and what it may cost; no target where None. `gpus` where it is one of a series."""

    name: str
    command: Sequence[str]
    target_s: float | None = None
    target_MiB: float | None = None
    gpus: int = 0


class Run(NamedTuple):
    """What one process cost."""

    seconds: float
    peak_MiB: float


def collective(operation: str, nodes: int | str, *more: str) -> list[str]:
    """A forecast on DGX H100: 8 GPUs a node, each with a NIC of 50 GB/s."""
    return [
        *(*WIRESPEED, "collective", operation, "--on", "dgx-h100", "--nodes", str(nodes)),
        *more,
    ]


def ring(nodes: int, *more: str) -> list[str]:
    """Eight rail rings, 1 GiB."""
    return collective("all_reduce", nodes, "--algo", "Ring", "--sizes", "1G", *more)


def alltoall(nodes: int, *more: str) -> list[str]:
    """256 MiB a rank."""
    return collective("alltoall", nodes, "--sizes", "256M", *more)


def domain() -> list[str]:
    """The same on the 256 GPUs that two levels of NVSwitches join."""
    return [*WIRESPEED, "collective", "alltoall", "--on", "dgx-gh200", "--sizes", "256M"]


def network(case: str) -> list[str]:
    """A case of `network.py` in a process of its own."""
    return [PYTHON, str(HERE / "network.py"), "--case", case]


HASHED = ("--fabric", "rail-optimised", "--change", "pxn=off", "--change", "routing=ecmp")
DOWN = ("--change", "leaf0-spine0=down")
SLOW = ("--change", "leaf0-spine0=0.5")
EXAMPLE = str(HERE.parent / "examples" / "dgx-h100-topo-m.txt")

GROUPS: dict[str, list[Case]] = {
    "Start": [
        Case("python -c pass", [PYTHON, "-c", "pass"]),
        Case("import numpy", [PYTHON, "-c", "import numpy"]),
        Case("import wirespeed", [PYTHON, "-c", "import wirespeed"], 0.150),
        Case("--help", [*WIRESPEED, "--help"], 0.300),
        Case("topo, a preset", [*WIRESPEED, "topo", "dgx-h100"], 0.5),
        Case("topo, a matrix", [*WIRESPEED, "topo", EXAMPLE]),
        Case("collective, a preset", collective("all_reduce", 1), 0.5),
        Case("collective, 1,2,4,16 nodes", collective("all_reduce", "1,2,4,16"), 0.5),
    ],
    "Ring all_reduce, 1 GiB": [
        Case("256 GPUs", ring(32), gpus=256),
        Case("1,024 GPUs", ring(128), gpus=1024),
        Case("4,096 GPUs", ring(512), 0.6, 200, gpus=4096),
        Case("16,384 GPUs", ring(2048), gpus=16384),
        Case("131,072 GPUs", ring(16384), 2.5, 1024, gpus=131072),
        Case("131,072, the load of every link", ring(16384, "--loads"), 2.5, 1024),
        Case("131,072, a spine link at half", ring(16384, *SLOW), 4.0, 1024),
    ],
    "alltoall, 256 MiB a rank": [
        Case("256 GPUs", alltoall(32), gpus=256),
        Case("1,024 GPUs", alltoall(128), gpus=1024),
        Case("1,024 GPUs, a hashed flow a pair", alltoall(128, *HASHED), 2.0, 1024),
        Case("4,096 GPUs", alltoall(512), gpus=4096),
        Case("16,384 GPUs", alltoall(2048), 2.0, 1024, gpus=16384),
        Case("16,384, a leaf's cable down", alltoall(2048, *DOWN)),
        Case("16,384, that, sprayed", alltoall(2048, *DOWN, "--change", "routing=spray")),
        Case("16,384, hashed", alltoall(2048, "--change", "routing=ecmp")),
        Case("131,072 GPUs", alltoall(16384), gpus=131072),
        Case("256 GPUs of one NVLink domain", domain(), 1.0),
    ],
    "k = 16 fat tree, random flows": [
        Case("10,000 equal: makespan", network("makespan"), 1.0, 500),
        Case("1,000 unequal: by events", network("events"), 2.0),
        Case("4,000 unequal: by events", network("events-4000")),
    ],
    "Records": [Case("validate", [*WIRESPEED, "validate", str(RECORDS)], 20.0)]
    if RECORDS.is_file()
    else [],
}


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


def several(case: Case, runs: int) -> list[Run]:
    """Runs of a case after one that reads its files into memory."""
    first = measure(case.command)
    if first.seconds > LONG_S:
        return [first, measure(case.command)]
    return [measure(case.command) for _ in range(runs)]


def row(case: Case, runs: Sequence[Run], growth: str = "") -> str:
    """One line of the table; the best run is held against the target."""
    seconds = [run.seconds for run in runs]
    peak = max(run.peak_MiB for run in runs)
    missed = (case.target_s is not None and min(seconds) > case.target_s) or (
        case.target_MiB is not None and peak > case.target_MiB
    )
    times = f"{min(seconds):9.3f}{median(seconds):9.3f}{_or_dash(case.target_s, '9.3f')}"
    memory = f"{peak:9.0f}{_or_dash(case.target_MiB, '9.0f')}"
    return f"  {case.name:34}{times}{memory}{growth:>9}{'  over' if missed else ''}".rstrip()


def growth(case: Case, best: float, before: tuple[int, float] | None) -> str:
    """How the time of a series has grown since its last case: n^0.5 is twice for four times."""
    if not case.gpus or before is None:
        return ""
    gpus, seconds = before
    return f"n^{log(best / seconds) / log(case.gpus / gpus):.2f}"


def _or_dash(value: float | None, form: str) -> str:
    return f"{'-':>9}" if value is None else format(value, form)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name or group has this word")
    options = parser.parse_args()
    # As an installed package is: without that a first run would also compile.
    compileall.compile_dir(HERE.parent / "src", quiet=2)
    print(f"{options.runs} runs each, {os.cpu_count()} CPUs, Python {sys.version.split()[0]}")
    names = ("min s", "median s", "target s", "MiB", "target", "growth")
    heads = "".join(f"{head:>9}" for head in names)
    print(f"{'':36}{heads}")
    for group, cases in GROUPS.items():
        chosen = [case for case in cases if options.only in f"{group}: {case.name}"]
        if chosen:
            print(group)
        before = None
        for case in chosen:
            runs = several(case, options.runs)
            best = min(run.seconds for run in runs)
            print(row(case, runs, growth(case, best, before)), flush=True)
            before = (case.gpus, best) if case.gpus else before
    if options.only in "warm":
        subprocess.run([PYTHON, str(HERE / "warm.py")], check=True)


if __name__ == "__main__":
    main()
