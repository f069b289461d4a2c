"""closed_pipeline: how long a pipeline runs, as formulas over arrays of layouts.

A pipeline is a graph of passes whose longest path is its time. With S for one micro-batch through
all parts and back, m micro-batches and P for the pace at which the fullest loop takes them,

    1F1B         S + (m - 1) P
    GPipe        S + (m - 1) (max forward + max backward)
    interleaved  S + (m - pp) W + (pp - 1) W / vpp        W: all passes of a micro-batch on a stage

Under 1F1B a stage has its next forward only after a backward has come back. Over the n stages of
any window that loop takes all their passes and both ways of the n - 1 transfers between them, and
lets n micro-batches through (Narayanan et al. 2019, 2021 for the schedules).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Pipe:
    """Passes and transfers of pipelines with as many stages and chunks.

    Attributes:
        forward, backward: [layouts, chunks, stages] s of a micro-batch's passes, with what a
            transfer beside them takes of the multiprocessors.
        send: [layouts, stages] s from a stage to the next; the last: to the first's next chunk.
        count: [layouts] micro-batches.
        waits: whether a stage waits until what it sends is there.
    """

    forward: Floats
    backward: Floats
    send: Floats
    count: Ints
    waits: bool

    @property
    def stages(self) -> int:
        """Stages of each."""
        return int(self.forward.shape[2])

    @property
    def chunks(self) -> int:
        """Model chunks of a stage."""
        return int(self.forward.shape[1])


def pipeline_seconds(pipe: Pipe, *, gpipe: bool) -> Floats:
    """[layouts] s from the first forward's begin to the first stage's last backward's end."""
    once = pipe.forward.sum(axis=(1, 2)) + pipe.backward.sum(axis=(1, 2))
    once = once + 2 * pipe.send[:, : pipe.stages - 1].sum(axis=1)
    if pipe.chunks > 1:
        return once + 2 * (pipe.chunks - 1) * pipe.send[:, -1] + _interleaved(pipe)
    if gpipe:
        ahead, behind = _own_sends(pipe)
        most = (pipe.forward[:, 0] + ahead).max(axis=1) + (pipe.backward[:, 0] + behind).max(axis=1)
        return np.asarray(once + (pipe.count - 1) * most)
    return np.asarray(once + (pipe.count - 1) * _pace(pipe))


def ends(pipe: Pipe, seconds: Floats) -> Floats:
    """[layouts, stages] s at which each stage's last backward ends: later stages are done first."""
    drain = (pipe.backward[:, 0] + pipe.send)[:, :-1].cumsum(axis=1)
    return np.concatenate([seconds[:, None], seconds[:, None] - drain], axis=1)


def begins(pipe: Pipe) -> Floats:
    """[layouts, stages] s at which the first micro-batch arrives at each stage."""
    fill = (pipe.forward[:, 0] + pipe.send)[:, :-1].cumsum(axis=1)
    return np.concatenate([np.zeros((len(fill), 1)), fill], axis=1)


def _own_sends(pipe: Pipe) -> tuple[Floats, Floats]:
    """[layouts, stages] s that sending on and sending back takes of a stage that waits for it."""
    if not pipe.waits:
        return np.zeros_like(pipe.send), np.zeros_like(pipe.send)
    ahead, behind = pipe.send.copy(), np.roll(pipe.send, 1, axis=1)
    if pipe.chunks == 1:
        ahead[:, -1] = behind[:, 0] = 0.0
    return ahead, behind


def _pace(pipe: Pipe) -> Floats:
    """[layouts] s a micro-batch that the fullest window of stages takes under 1F1B."""
    both = pipe.forward[:, 0] + pipe.backward[:, 0]
    ahead, behind = _own_sends(pipe)
    # A stage that waits cannot take the next forward while its backward's result is on its way.
    most = (both + ahead + behind).max(axis=1)
    stages = pipe.stages
    work = np.concatenate([np.zeros((len(both), 1)), both.cumsum(axis=1)], axis=1)
    sent = np.concatenate([np.zeros((len(both), 1)), pipe.send.cumsum(axis=1)], axis=1)
    for n in _windows(stages):
        loop = work[:, n:] - work[:, :-n]
        loop = loop + 2 * (sent[:, n - 1 : stages] - sent[:, : stages - n + 1])
        loop = loop + ahead[:, n - 1 :] + behind[:, : stages - n + 1]
        # A window is only felt by as many micro-batches as it has stages.
        felt = pipe.count > n
        most = np.where(felt, np.maximum(most, loop.max(axis=1) / n), most)
    return np.asarray(most)


def _windows(stages: int) -> list[int]:
    """Widths that are looked at: a loop over more stages pays more transfers a micro-batch."""
    return sorted({min(2**k, stages) for k in range(1, stages.bit_length() + 1)} - {1})


def _interleaved(pipe: Pipe) -> Floats:
    """[layouts] s that the other micro-batches take."""
    ahead, behind = _own_sends(pipe)
    whole = (pipe.forward + pipe.backward).sum(axis=1) + pipe.chunks * (ahead + behind)
    most = whole.max(axis=1)
    groups = np.minimum(pipe.count, pipe.stages)
    rest = pipe.count - groups
    return np.asarray(rest * most + (groups - 1) * most / pipe.chunks)
