"""closed_beside: passes with communication beside them, as sums over arrays of layouts.

Communication that runs beside computing takes its channels' share of the multiprocessors, so that
a pass of C seconds with q seconds of it takes min(C / (1 - share), C + share q).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wirespeed.training.closed_calls import Calls

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A part of a pass [layouts]: seconds of computing, and of what it gathers or reduces."""

    compute: Floats
    wire: Floats
    share: Floats
    """Of the multiprocessors that the communication takes."""


def beside(compute: Floats, wire: Floats, share: Floats) -> Floats:
    """[layouts] s of computing while `wire` seconds of communication run beside it."""
    # Nothing keeps all multiprocessors from computing.
    most = compute / np.maximum(1 - share, 0.5)
    return np.minimum(most, compute + share * wire)


def reduced(pieces: Sequence[Piece], behind: Floats) -> tuple[Floats, Floats]:
    """[layouts] s of a backward whose pieces are reduced behind it, and what is left at its end.

    `behind` is what was still to be reduced at its begin.
    """
    total = np.zeros_like(behind)
    for piece in pieces:
        took = beside(piece.compute, behind, piece.share)
        behind = np.maximum(behind - took, 0.0) + piece.wire
        total += took
    return total, behind


def awaited(pieces: Sequence[Piece], begin: Floats, gathered: Floats) -> tuple[Floats, Floats]:
    """[layouts] s at which a forward ends that is there at `begin`, and its weights are gathered.

    They are gathered from `gathered` on, piece by piece.
    """
    now, all_there = begin, gathered + np.sum([piece.wire for piece in pieces], axis=0)
    for piece in pieces:
        gathered = gathered + piece.wire
        now = np.maximum(now, gathered)
        now = now + beside(piece.compute, np.maximum(all_there - now, 0.0), piece.share)
    return now, all_there


def gathered(
    compute: Floats, gather: Calls, reduce: Calls, behind: Floats, shares: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """[layouts] s of a unit's pass beside the gathering of the next, and what is then unreduced.

    `behind` is what was still to be reduced at its begin [s alone], `shares` what gathering and
    reducing take of the multiprocessors. Links that both keep busy they have by halves, until one
    of them is done.
    """
    wanted, other = gather.work * gather.seconds[:, None], reduce.work
    halved = np.minimum(2 * wanted, wanted + other * behind[:, None])
    met = gather.work + other > 1
    got = np.maximum(gather.seconds, np.where(met, halved, 0.0).max(axis=1))
    share = np.maximum(*shares)
    lost = shares[0] * gather.seconds + shares[1] * np.minimum(behind, np.maximum(compute, got))
    wire = lost / np.where(share > 0, share, 1.0)
    took = np.maximum(beside(compute, wire, share), got)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(met, (took[:, None] - wanted) / other, np.inf).min(axis=1)
    return took, np.maximum(behind - np.clip(room, 0.0, took), 0.0)
