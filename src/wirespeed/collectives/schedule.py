"""Schedule: who sends how much to whom, in phases, before any route is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Transfers:
    """[t] messages between ranks, sent at once.

    Attributes:
        source, target: ranks.
        share: the message as a share of the collective's bytes.
        nic_out, nic_in: components to leave and enter the node by; -1 leaves it to the transport.
    """

    source: Ids
    target: Ids
    share: Shares
    nic_out: Ids
    nic_in: Ids

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True, eq=False)
class Spokes:
    """[s] what ranks exchange with a switch that adds up and multicasts, not with each other.

    Attributes:
        rank: who; `nic` [s] the NIC to the fabric's switches, -1 for the NVSwitches.
        out, into: bytes to and from the switch as a share of the collective's.
    """

    rank: Ids
    nic: Ids
    out: Shares
    into: Shares

    def __len__(self) -> int:
        return len(self.rank)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Each of `ranks` ranks sends a message to every other one: counted, never written down.

    `share` is a message as a share of the collective's bytes.
    """

    ranks: int
    share: float

    def pairs(self) -> Transfers:
        """Its messages one by one: for small cases."""
        source, target = np.divmod(np.arange(self.ranks**2), self.ranks)
        kept = source != target
        return transfers(source[kept], target[kept], self.share)


@dataclass(frozen=True, slots=True, eq=False)
class Phase:
    """Transfers that are sent `repeat` times, one after the other.

    Attributes:
        spokes: what goes to and from switches at the same time; `spoke_waits` counts the steps
            through NVSwitches and through the fabric's switches that data meets one after another.
        waits: [t] how often data on its longest way through the phase meets each transfer; their
            latencies, so weighted, add up. None: the transfers do not wait for each other, and the
            slowest counts `repeat` times.
        reduce: whether what arrives is added up.
        block: messages that are sent at the same time and wait for nothing.
    """

    transfers: Transfers
    repeat: int = 1
    waits: Shares | None = None
    reduce: bool = False
    spokes: Spokes | None = None
    spoke_waits: tuple[float, float] = (0.0, 0.0)
    block: Block | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Phases that run one after the other.

    `channels` is how many ways through the machine it uses at once. `local` is what each rank moves
    within its own memory while none of its links works for it, as a share of the bytes. `messages`
    is how many messages a rank deals with beside the steps that data waits for.
    """

    algorithm: str
    phases: tuple[Phase, ...]
    channels: int
    local: float = 0.0
    messages: int = 0


def transfers(
    source: npt.ArrayLike,
    target: npt.ArrayLike,
    share: npt.ArrayLike,
    nic_out: npt.ArrayLike = -1,
    nic_in: npt.ArrayLike = -1,
) -> Transfers:
    """Transfers from arrays or scalars that broadcast against `source`."""
    ranks = np.asarray(source, np.int64)

    def filled(values: npt.ArrayLike, kind: type) -> npt.NDArray[Any]:
        return np.broadcast_to(np.asarray(values, kind), ranks.shape)

    return Transfers(
        ranks,
        np.asarray(target, np.int64),
        filled(share, np.float64),
        filled(nic_out, np.int64),
        filled(nic_in, np.int64),
    )


def nothing() -> Transfers:
    """No transfers."""
    none = np.empty(0, np.int64)
    return Transfers(none, none, np.empty(0, np.float64), none, none)
