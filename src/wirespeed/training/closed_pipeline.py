"""closed_pipeline: how long a pipeline runs, as formulas over arrays of layouts.

A pipeline is a graph of passes whose longest path is its time. With S for one micro-batch through
all parts and back, and m micro-batches,

    GPipe        S + (m - 1) (max forward + max backward)
    1F1B         S + (m - 1) P where the last stage is the fullest, else see `_by_turns`
    interleaved  S + (m - pp) W + (pp - 1) V

W is what all passes of a micro-batch take on the fullest stage, V the fullest part's two passes.
Under 1F1B a stage has its next forward only after a backward has come back. Over the n stages of
any window that loop takes all their passes and both ways of the n - 1 transfers between them, and
lets n micro-batches through: P is the slowest of these paces. (Narayanan et al. 2019 and 2021 for
the schedules.)
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
        arrival: the same until the next stage can begin: it may have to gather weights first.
        count: [layouts] micro-batches.
        waits: whether a stage waits until what it sends is there.
    """

    forward: Floats
    backward: Floats
    send: Floats
    arrival: Floats
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
    once = once + 2 * pipe.chunks * pipe.arrival[:, : pipe.stages - 1].sum(axis=1)
    if pipe.chunks > 1:
        return np.asarray(once + 2 * (pipe.chunks - 1) * pipe.arrival[:, -1] + _interleaved(pipe))
    if gpipe:
        ahead, behind = _own_sends(pipe)
        most = (pipe.forward[:, 0] + ahead).max(axis=1) + (pipe.backward[:, 0] + behind).max(axis=1)
        return np.asarray(once + (pipe.count - 1) * most)
    return _by_turns(pipe)


def ends(pipe: Pipe, seconds: Floats) -> Floats:
    """[layouts, stages] s at which each stage's last backward ends: later stages are done first."""
    drain = (pipe.backward[:, 0] + pipe.arrival)[:, :-1].cumsum(axis=1)
    return np.concatenate([seconds[:, None], seconds[:, None] - drain], axis=1)


def begins(pipe: Pipe) -> Floats:
    """[layouts, stages] s at which the first micro-batch arrives at each stage."""
    fill = (pipe.forward[:, 0] + pipe.arrival)[:, :-1].cumsum(axis=1)
    return np.concatenate([np.zeros((len(fill), 1)), fill], axis=1)


def _own_sends(pipe: Pipe) -> tuple[Floats, Floats]:
    """[layouts, stages] s that sending on and sending back takes of a stage that waits for it."""
    if not pipe.waits:
        return np.zeros_like(pipe.send), np.zeros_like(pipe.send)
    ahead, behind = pipe.send.copy(), np.roll(pipe.send, 1, axis=1)
    if pipe.chunks == 1:
        ahead[:, -1] = behind[:, 0] = 0.0
    return ahead, behind


def _by_turns(pipe: Pipe) -> Floats:
    """[layouts] s of 1F1B: the longest over each stage that may end a window of full stages.

    With w forwards to warm up and R from a forward's end to the same micro-batch's backward, that
    stage has its first backward after max(R, w forward), and its last one as long after its last
    forward. Between them m - 1 - w micro-batches go at the window's pace.
    """
    ahead, behind = _own_sends(pipe)
    forward, backward = pipe.forward[:, 0] + ahead, pipe.backward[:, 0] + behind
    both = pipe.forward[:, 0] + pipe.backward[:, 0]
    work = np.concatenate([np.zeros((len(both), 1)), both.cumsum(axis=1)], axis=1)
    sent = np.concatenate([np.zeros((len(both), 1)), pipe.arrival.cumsum(axis=1)], axis=1)
    last, wire = pipe.stages - 1, _wire(pipe)
    most = np.zeros(len(both))
    for e in range(pipe.stages):
        through = work[:, e + 1] + 2 * sent[:, e]
        back = work[:, last + 1] - work[:, e + 1] + 2 * (sent[:, last] - sent[:, e])
        warm = np.minimum(last - e, pipe.count - 1)
        steady = pipe.count - 1 - warm
        first, final = warm * forward[:, e], warm * backward[:, e]
        few = np.maximum(back + np.maximum(first, final), first + final)
        many = np.maximum(back, first) + np.maximum(back, final)
        pace = np.maximum(forward[:, e] + backward[:, e], wire[:, e])
        for n in _windows(e + 1):
            s = e - n + 1
            loop = work[:, e + 1] - work[:, s] + 2 * (sent[:, e] - sent[:, s])
            loop = (loop + ahead[:, e] + behind[:, s]) / n
            # A window is only felt by as many micro-batches as it has stages.
            pace = np.where(steady >= n, np.maximum(pace, loop), pace)
        rest = np.where(steady > 0, many + steady * pace, few)
        most = np.maximum(most, through + rest)
    return most


def _windows(stages: int) -> list[int]:
    """Widths up to so many stages that are looked at: wider loops pay more transfers each."""
    return sorted({min(2**k, stages) for k in range(1, stages.bit_length() + 1)} - {1})


def _interleaved(pipe: Pipe) -> Floats:
    """[layouts] s that the other micro-batches take."""
    both = pipe.forward + pipe.backward
    if pipe.waits:
        ahead, behind = _own_sends(pipe)
        both = both + (ahead + behind)[:, None, :]
        # The last part sends nothing on, the first nothing back.
        both[:, -1, -1] -= ahead[:, -1]
        both[:, 0, 0] -= behind[:, 0]
    groups = np.minimum(pipe.count, pipe.stages)
    rest = pipe.count - groups
    whole = np.maximum(both.sum(axis=1), pipe.chunks * _wire(pipe)).max(axis=1)
    return np.asarray(rest * whole + (groups - 1) * both.max(axis=(1, 2)))


def _wire(pipe: Pipe) -> Floats:
    """[layouts, stages] s that a stage's transfers both ways take, which go one after the other."""
    if pipe.waits:
        return np.zeros_like(pipe.send)
    ahead, behind = pipe.send.copy(), np.roll(pipe.send, 1, axis=1)
    if pipe.chunks == 1:
        ahead[:, -1] = behind[:, 0] = 0.0
    return np.asarray(ahead + behind)
