"""Direct: messages that go straight from where data is to where it shall be."""

from __future__ import annotations

import numpy as np

from wirespeed.collectives.schedule import Block, Phase, Schedule, nothing, transfers


def alltoall_schedule(ranks: int) -> Schedule:
    """Every rank sends 1/n of its buffer to every other one, all at once, and keeps 1/n."""
    phase = Phase(nothing(), block=Block(ranks, 1 / ranks))
    return Schedule("Direct", (phase,), channels=1, local=1 / ranks, messages=ranks - 2)


def sendrecv_schedule(ranks: int) -> Schedule:
    """Every rank sends its buffer to the next one and receives from the one before."""
    source = np.arange(ranks)
    return Schedule("Direct", (Phase(transfers(source, (source + 1) % ranks, 1.0)),), channels=1)
