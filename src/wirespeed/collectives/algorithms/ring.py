"""Ring: every rank passes a piece on to the next, until all have seen what they need.

all_reduce takes 2(n-1) steps of S/n bytes, all_gather and reduce_scatter n-1 of them. broadcast and
reduce send S along the ring in small chunks, so that after n-1 hops all links are busy at once.
P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.operation import Operation
from wirespeed.collectives.rings import Rings
from wirespeed.collectives.schedule import Phase, Schedule, Shares, Transfers, transfers

_REDUCES = (Operation.ALL_REDUCE, Operation.REDUCE_SCATTER, Operation.REDUCE)


def ring_schedule(operation: Operation, rings: Rings, root: int = 0) -> Schedule:
    """The schedule of an operation on the given rings (two ranks or more); `root` is a rank."""
    channels, ranks = rings.order.shape
    reduce = operation in _REDUCES
    if operation in (Operation.BROADCAST, Operation.REDUCE):
        hops = _hops(rings, 1.0)
        # Nothing goes back to where a broadcast begins, nor on from where a reduction ends.
        end = hops.target if operation is Operation.BROADCAST else hops.source
        hops = _kept(hops, end != root)
        phase = Phase(hops, waits=_around(hops, ranks - 1), reduce=reduce)
        return Schedule("Ring", (phase,), channels)
    laps = 2 if operation is Operation.ALL_REDUCE else 1
    steps = laps * (ranks - 1)
    hops = _hops(rings, 1 / ranks)
    phase = Phase(hops, repeat=steps, waits=_around(hops, steps), reduce=reduce)
    # A rank's last step takes in a piece and passes nothing on.
    return Schedule("Ring", (phase,), channels, local=1 / ranks)


def _hops(rings: Rings, share: float) -> Transfers:
    """One message over every edge of every ring."""
    source = rings.order
    target = np.roll(source, -1, axis=1)
    shares = np.broadcast_to(share * rings.weight[:, None], source.shape)
    columns = (source, target, shares, rings.nic_out, rings.nic_in)
    return transfers(*(column.ravel() for column in columns))


def _kept(hops: Transfers, kept: npt.NDArray[np.bool_]) -> Transfers:
    columns = (hops.source, hops.target, hops.share, hops.nic_out, hops.nic_in)
    return transfers(*(column[kept] for column in columns))


def _around(hops: Transfers, steps: int) -> Shares:
    """A piece of data moves on by one edge a step: it meets all edges of its ring alike."""
    return np.full(len(hops), steps / len(hops))
