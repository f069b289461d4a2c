"""closed_calls: what collectives take at many sizes on many groups at once.

What the library chooses is looked up on a grid of sizes, as fine as a 32nd of an octave; the time
of the choice is exact. A choice that changes inside a step of the grid changes at its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.candidate import Candidate, Place
from wirespeed.collectives.candidates import Options

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_OCTAVES = 48
_STEPS = 32
"""Of an octave."""
_GRID = 2.0 ** (np.arange(_OCTAVES * _STEPS) / _STEPS)
_NEAR = 1e-9
"""Of a step: a power of two falls on its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Calls:
    """One collective in many layouts: seconds [n], work [n, places], channels [n]."""

    seconds: Floats
    work: Floats
    channels: Floats

    def then(self, other: Calls) -> Calls:
        """Both, one after the other."""
        total = self.seconds + other.seconds
        work = self.work * self.seconds[:, None] + other.work * other.seconds[:, None]
        return Calls(
            total,
            work / np.where(total > 0, total, 1.0)[:, None],
            np.maximum(self.channels, other.channels),
        )


@dataclass(slots=True)
class CallTables:
    """Options, numbered, as tables. Number 0 is nothing to do, which takes no time."""

    _options: list[Options] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)
    _rows: list[Floats] = field(default_factory=list)
    _chosen: list[Ints] = field(default_factory=list)
    _tables: tuple[Floats, Ints] | None = None

    def __post_init__(self) -> None:
        self._rows.append(np.array([[0.0] * (6 + len(Place))]))
        self._chosen.append(np.zeros(len(_GRID), np.int64))

    def number(self, options: Options | None) -> int:
        """The number of options, which are kept."""
        if options is None:
            return 0
        if id(options) not in self._numbers:
            self._numbers[id(options)] = len(self._chosen)
            first = sum(map(len, self._rows))
            self._options.append(options)
            self._chosen.append(first + options.choice(_GRID))
            self._rows.append(np.array([_row(c) for c in options.candidates]))
            self._tables = None
        return self._numbers[id(options)]

    def calls(self, numbers: Ints, sizes: Floats) -> Calls:
        """What each of so many options takes at its own size [B]."""
        rows, chosen = self._all()
        sent = np.maximum(sizes, 1.0)
        cell = (np.log2(sent) * _STEPS + _NEAR).astype(np.int64)
        row = rows[chosen[np.where(sizes > 0, numbers, 0), np.minimum(cell, len(_GRID) - 1)]]
        wire = sent * row[:, 1]
        seconds = row[:, 0] + wire + sent * row[:, 2]
        filled = np.flatnonzero(row[:, 3])
        # See `Candidate.time`: filling is kept as its factor, 2 fill^(1-e), beside the exponent.
        seconds[filled] += row[filled, 3] * wire[filled] ** row[filled, 4]
        busy = row[:, 6:] * (sent / np.where(seconds > 0, seconds, 1.0))[:, None]
        return Calls(seconds, np.minimum(busy, 1.0), row[:, 5])

    def _all(self) -> tuple[Floats, Ints]:
        if self._tables is None:
            self._tables = np.concatenate(self._rows), np.stack(self._chosen)
        return self._tables


def _row(one: Candidate) -> list[float]:
    """Latency, s/B on the wire and in memory, filling's factor and exponent, channels, work."""
    factor = 2 * one.fill ** (1 - one.exponent) if one.fill else 0.0
    work = one.work or (0.0,) * len(Place)
    return [
        one.latency,
        one.per_byte,
        one.local,
        factor,
        one.exponent,
        one.channels,
        *work,
    ]
