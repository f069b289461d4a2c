"""Paths: for each transfer the resources that it crosses and which share of it crosses each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True, eq=False)
class Paths:
    """CSR: transfer t crosses resource[first[t]:first[t+1]], each with share (1 = all of it).

    Attributes:
        first: [transfers + 1].
        resource: [uses] ids of resources (links, then components).
        share: [uses] bytes on that resource for each byte of the transfer, before protocol costs.
    """

    first: npt.NDArray[np.int64]
    resource: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.first) - 1

    def of(self, transfer: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Resources and shares of one transfer."""
        span = slice(self.first[transfer], self.first[transfer + 1])
        return self.resource[span], self.share[span]

    def owner(self) -> npt.NDArray[np.int64]:
        """[uses] the transfer that each use belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.first))


def empty(transfers: int) -> Paths:
    """Paths that cross nothing."""
    return Paths(np.zeros(transfers + 1, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))


def gather(table: Paths, rows: npt.NDArray[np.int64]) -> Paths:
    """The paths of `rows` of a table, in that order, repeats allowed."""
    lengths = np.diff(table.first)[rows]
    first = np.concatenate([[0], np.cumsum(lengths)])
    # Position of each use inside its row, then shifted to where the row begins in the table.
    within = np.arange(first[-1]) - np.repeat(first[:-1], lengths)
    where = np.repeat(table.first[rows], lengths) + within
    return Paths(first, table.resource[where], table.share[where])


def scatter(parts: Sequence[tuple[npt.NDArray[np.int64], Paths]], transfers: int) -> Paths:
    """Paths of all transfers from parts that each give some: (transfer of each path, paths).

    A transfer may occur in several parts (its way out, across and in); their uses are joined.
    """
    owner = np.concatenate([rows[paths.owner()] for rows, paths in parts])
    resource = np.concatenate([paths.resource for _, paths in parts])
    share = np.concatenate([paths.share for _, paths in parts])
    order = np.argsort(owner, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=transfers))])
    return Paths(first.astype(np.int64), resource[order], share[order])
