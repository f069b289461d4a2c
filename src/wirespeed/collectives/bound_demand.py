"""What has to move, whatever the schedule.

**Across a cut.** Let k of n ranks send and the others receive, and S be the bytes of the call as
nccl-tests counts them. At least so much leaves the senders, since what the receivers end up with
depends on that much that only senders have at first; switches that add up and multicast help with
everything else, but not with this:

- all_reduce: S, the senders' sum. reduce: S where the root receives. broadcast: S where it sends.
- all_gather: k/n S, the senders' pieces. reduce_scatter: (n-k)/n S, a sum of the senders' for each
  piece that a receiver keeps.
- alltoall: k(n-k)/n S, as each of the k sends S/n to each of the others.

**Between GPUs alone.** Let the ranks be split in m parts, whatever is inside a part for free. For
each piece of the data, the sum is complete in one part first: before that each of the other m-1
parts has sent at least one message, and after that each of them has received at least one that made
it complete. So all_reduce takes 2(m-1) S in all, as messages that leave a part and that enter one;
reduce, reduce_scatter, broadcast and all_gather need one half of the argument: (m-1) S.
P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009,
count so with m = n; cuts for all_gather: L. Zhao et al., ForestColl, 2024.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.operation import Operation

Floats = npt.NDArray[np.float64]

ROOTED = {Operation.BROADCAST: 1, Operation.REDUCE: 0}
"""Operations with a root, and the side of a cut that it is on: 1 sends."""

_MESSAGES = {
    Operation.ALL_REDUCE: 2,
    Operation.ALL_GATHER: 1,
    Operation.REDUCE_SCATTER: 1,
    Operation.BROADCAST: 1,
    Operation.REDUCE: 1,
}


def leaving(operation: Operation, senders: Floats, ranks: int) -> Floats:
    """Bytes that leave a side with so many of the ranks, for each byte of the call.

    0 where one side is empty, and for operations that do not depend on numbers alone (sendrecv,
    copies). The root of a broadcast is taken to send, that of a reduce to receive.
    """
    receivers = ranks - senders
    match operation:
        case Operation.ALL_REDUCE | Operation.BROADCAST | Operation.REDUCE:
            amount = np.ones_like(senders)
        case Operation.ALL_GATHER:
            amount = senders / ranks
        case Operation.REDUCE_SCATTER:
            amount = receivers / ranks
        case Operation.ALLTOALL:
            amount = senders * receivers / ranks
        case _:
            amount = np.zeros_like(senders)
    return np.where((senders > 0) & (receivers > 0), amount, 0.0)


def between_parts(operation: Operation, parts: int) -> float:
    """Bytes that messages between so many parts carry in all, for each byte of the call.

    0 for operations whose messages say nothing beyond the cuts.
    """
    return float(_MESSAGES.get(operation, 0) * (parts - 1))
