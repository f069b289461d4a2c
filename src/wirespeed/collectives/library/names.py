"""Names of NCCL's algorithms, in the order in which it tries them: of two equals the first wins."""

from __future__ import annotations

from enum import StrEnum

from wirespeed.collectives.operation import Operation


class Algorithm(StrEnum):
    """NCCL's algorithms by the names in its logs."""

    TREE = "Tree"
    RING = "Ring"
    COLLNET_DIRECT = "CollNetDirect"
    COLLNET_CHAIN = "CollNetChain"
    NVLS = "NVLS"
    NVLS_TREE = "NVLSTree"
    PAT = "PAT"


COLLNET = (Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN)
MULTICAST = (Algorithm.NVLS, Algorithm.NVLS_TREE)
GATHERS = (Operation.ALL_GATHER, Operation.REDUCE_SCATTER)
ROOTED = (Operation.BROADCAST, Operation.REDUCE)
CHOSEN = (Operation.ALL_REDUCE, *GATHERS, *ROOTED)
"""Operations for which the library weighs algorithms; the others are sends and receives."""
