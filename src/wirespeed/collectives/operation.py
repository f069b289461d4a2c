"""Operation and Collective: what is asked for, in bytes as nccl-tests counts them."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from wirespeed.errors import UnknownName


class Operation(StrEnum):
    """Operations by nccl-tests' names; the last three are plain copies."""

    ALL_REDUCE = "all_reduce"
    ALL_GATHER = "all_gather"
    REDUCE_SCATTER = "reduce_scatter"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    ALLTOALL = "alltoall"
    SENDRECV = "sendrecv"
    P2P_COPY = "p2p_copy"
    H2D = "h2d"
    D2H = "d2h"


_ALIASES = {"allreduce": "all_reduce", "allgather": "all_gather", "reducescatter": "reduce_scatter"}
_ALIASES |= {"all_to_all": "alltoall", "bcast": "broadcast", "send_recv": "sendrecv"}
COPIES = (Operation.P2P_COPY, Operation.H2D, Operation.D2H)


class Collective(msgspec.Struct, frozen=True):
    """One kind of call. `root` counts in the group; `launch` is process, thread or graph."""

    operation: Operation
    dtype: str = "float"
    in_place: bool = False
    root: int = 0
    launch: str = "process"
    registered: bool = False
    symmetric: bool = False
    bidirectional: bool = False
    """Copies only: both directions at once; time is of one, bandwidth the sum."""


def parse_operation(name: str) -> Operation:
    """The operation of a name such as all_reduce, AllReduce or all-to-all; else UnknownName."""
    spelled = name.strip().replace("-", "_").lower().removesuffix("_perf")
    spelled = _ALIASES.get(spelled, spelled)
    try:
        return Operation(spelled)
    except ValueError:
        raise UnknownName("operation", name, list(Operation), where="OP") from None


def bus_factor(operation: Operation, ranks: int) -> float:
    """busbw / algbw of an operation on n ranks, as nccl-tests defines it.

    2(n-1)/n for all_reduce, (n-1)/n for all_gather, reduce_scatter and alltoall, 1 for the rest.
    Source: nccl-tests, PERFORMANCE.md.
    """
    if operation is Operation.ALL_REDUCE:
        return 2 * (ranks - 1) / ranks
    if operation in (Operation.ALL_GATHER, Operation.REDUCE_SCATTER, Operation.ALLTOALL):
        return (ranks - 1) / ranks
    return 1.0
