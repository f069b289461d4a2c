"""Conditions: clocks, power and ranks that do not keep step, and what they do to computing."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import NormalDist

import msgspec

from wirespeed.catalog import gpu
from wirespeed.errors import UsageError

STATIC = 0.3
"""Share of a GPU's power that its clock does not move: memory, links, leakage. Assumed."""


class Conditions(msgspec.Struct, frozen=True):
    """What a run meets besides its machine.

    Attributes:
        clock: of the multiprocessors, over the boost clock that peaks are quoted at.
        power_W: cap of each GPU; None: its full power.
        jitter: standard deviation of ranks' computing times in a step, over their mean.
    """

    clock: float = 1.0
    power_W: float | None = None
    jitter: float = 0.0

    def check(self, name: str) -> None:
        """Raise UsageError with the first condition that a GPU of that name cannot meet."""
        if not 0.05 <= self.clock <= 1.5:
            raise UsageError(
                f"a clock of {self.clock:g} times the boost clock",
                where="--clock",
                why="GPUs run at a tenth of it when idle and hardly above it ever",
                remedy="give a share such as 0.9",
            )
        if not 0 <= self.jitter <= 1:
            raise UsageError(
                f"ranks that differ by {self.jitter:g} of a step",
                where="--jitter",
                why="it is the standard deviation of their computing times over the mean",
                remedy="give a share such as 0.02",
            )
        if self.power_W is not None:
            _check_power(self.power_W, name)

    def rate(self, name: str) -> float:
        """The clock over the boost clock: what is set, or what the power cap leaves."""
        if self.power_W is None:
            return self.clock
        return min(self.clock, clock_under(self.power_W, gpu(name).tdp_W or self.power_W))

    def slowest(self, ranks: int) -> float:
        """How many times the mean the slowest of so many ranks computes, expected."""
        return 1.0 + self.jitter * expected_maximum(ranks)

    def remarks(self, name: str, ranks: int) -> Iterator[str]:
        """What a reader must know of a forecast under these conditions."""
        row = gpu(name)
        if self.power_W is not None and row.tdp_W:
            yield (
                f"{self.power_W:g} of {row.tdp_W:g} W let products run at {self.rate(name):.0%} of "
                f"the boost clock: {STATIC:.0%} of the power is taken not to depend on the clock, "
                "the rest to grow with its cube"
            )
        if self.jitter:
            longer, times = self.slowest(ranks) - 1, expected_maximum(ranks)
            yield (
                f"of {ranks:,} ranks the slowest is expected to compute {longer:.1%} longer than "
                f"the mean, {times:.1f} times the jitter of {self.jitter:.1%}, and all wait for it"
            )


def clock_under(cap: float, full: float) -> float:
    """The clock that a power cap [W] leaves of that at full power [W], at full load.

    Dynamic power is capacitance times frequency times voltage squared, and voltage follows
    frequency: (cap - static) / (full - static) is the cube of the clock.
    """
    if cap >= full:
        return 1.0
    return float(((cap / full - STATIC) / (1 - STATIC)) ** (1 / 3))


def expected_maximum(count: int) -> float:
    """The expected largest of `count` standard normal numbers; Blom's approximation (1958)."""
    return 0.0 if count < 2 else NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def _check_power(cap: float, name: str) -> None:
    row = gpu(name)
    if row.tdp_W is None:
        raise UsageError(
            f"the power of {row.name} is not known",
            where="--power-cap",
            why="what a cap does to the clock follows from it",
            remedy="give the clock that you see under load with --clock",
        )
    least = STATIC * row.tdp_W
    if not least < cap:
        raise UsageError(
            f"a power cap of {cap:g} W on {row.name}",
            where="--power-cap",
            why=f"of its {row.tdp_W:g} W, {least:.0f} W do not depend on the clock",
            remedy="give more, or the clock that you see under load with --clock",
        )
