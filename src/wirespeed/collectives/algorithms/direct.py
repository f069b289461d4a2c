"""Direct: messages that go straight from where data is to where it shall be."""

from __future__ import annotations

import numpy as np

from wirespeed.collectives.schedule import Phase, Schedule, transfers


def alltoall_schedule(ranks: int) -> Schedule:
    """Every rank sends 1/n of its buffer to every other one, all at once, and keeps 1/n."""
    source, target = np.divmod(np.arange(ranks * ranks), ranks)
    kept = source != target
    phase = Phase(transfers(source[kept], target[kept], 1 / ranks))
    return Schedule("Direct", (phase,), channels=1, local=1 / ranks)


def sendrecv_schedule(ranks: int) -> Schedule:
    """Every rank sends its buffer to the next one and receives from the one before."""
    source = np.arange(ranks)
    return Schedule("Direct", (Phase(transfers(source, (source + 1) % ranks, 1.0)),), channels=1)
