"""How many switches a Clos network takes, and how many cables between any two of them.

The rule is the one behind NVIDIA's SuperPOD tables: as few spines as their ports allow, each
joined to each leaf by as many cables as are left. With 40-port switches, 20 cables up from each
of 8 leaves end on 4 spines (5 each), of 16 leaves on 10 (2 each), of 32 on 20.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tier:
    """Ports of the switches of one tier.

    Attributes:
        radix: all ports.
        oversubscription: ports down for one port up; below 1 there are more ports up.
        down, up: where the design states them, instead of a split of the radix; both, or `up`.
    """

    radix: int = 64
    oversubscription: float = 1.0
    down: int | None = None
    up: int | None = None

    def split(self, used: int | None = None) -> tuple[int, int]:
        """Ports down and up; with `used` ports down only as many up as the ratio asks for."""
        if self.up is not None:
            down = self.radix - self.up if self.down is None else self.down
            return (down if used is None else used), self.up
        up = max(1, math.floor(self.radix / (1 + self.oversubscription)))
        down = min(self.radix - up, math.floor(up * self.oversubscription + 1e-9))
        if used is not None:
            up = max(1, min(self.radix - used, math.ceil(used / self.oversubscription - 1e-9)))
            down = used
        return max(1, down), up


@dataclass(frozen=True, slots=True)
class Shape:
    """The counts that define one plane of a Clos network.

    Attributes:
        per_leaf: ports for NICs on a leaf.
        leaves: leaves of a pod, when full.
        uplinks: cables up from a leaf; 0 with a single leaf.
        spines: spines of a pod; each takes uplinks / spines cables from each leaf.
        groups: groups of cores; spine s of each pod belongs to group s // (spines / groups).
        cores: cores of a group; 0 with two tiers.
        spine_uplinks: cables up from a spine, spine_uplinks / cores to each core of its group.
    """

    per_leaf: int
    leaves: int
    uplinks: int = 0
    spines: int = 0
    groups: int = 0
    cores: int = 0
    spine_uplinks: int = 0

    @property
    def trunk(self) -> int:
        """Cables between a leaf and a spine."""
        return self.uplinks // self.spines if self.spines else 0

    @property
    def core_trunk(self) -> int:
        """Cables between a spine and a core of its group."""
        return self.spine_uplinks // self.cores if self.cores else 0

    @property
    def spines_per_group(self) -> int:
        """Spines of one pod that share a group of cores."""
        return self.spines // self.groups if self.groups else 0

    @property
    def tiers(self) -> int:
        """1, 2 or 3."""
        return 3 if self.cores else 2 if self.spines else 1


def two_tiers(
    per_leaf: int, leaves: int, uplinks: int, ports: int, spines: int | None = None
) -> Shape | None:
    """Leaves under spines with that many ports down; None where they are too few."""
    fitting = [
        trunk
        for trunk in _divisors(uplinks)
        if leaves * trunk <= ports and spines in (None, uplinks // trunk)
    ]
    if not fitting:
        return None
    return Shape(per_leaf, leaves, uplinks, uplinks // max(fitting))


def three_tiers(pod: Shape, pods: int, spine: Tier, core_ports: int) -> Shape | None:
    """Pods under cores; None where a core has fewer ports than there are pods."""
    down, up = spine.split()
    wanted = math.ceil(pod.leaves * pod.trunk * up / down - 1e-9)
    spine_uplinks = max(1, min(up, wanted))
    options = [
        (together * trunk, -trunk, together)
        for together in _divisors(pod.spines)
        for trunk in _divisors(spine_uplinks)
        if pods * together * trunk <= core_ports
    ]
    if not options:
        return None
    _, trunk, together = max(options)
    return Shape(
        per_leaf=pod.per_leaf,
        leaves=pod.leaves,
        uplinks=pod.uplinks,
        spines=pod.spines,
        groups=pod.spines // together,
        cores=spine_uplinks // -trunk,
        spine_uplinks=spine_uplinks,
    )


def _divisors(number: int) -> list[int]:
    return [d for d in range(1, number + 1) if number % d == 0]
