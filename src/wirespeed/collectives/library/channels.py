"""channels_used: how many channels a call runs on, fewer for small messages.

A channel is taken off until each thread has enough to do: 8 bytes with LL (times ranks on a ring)
and LL128, 64 with Simple. Source: NVIDIA/nccl, src/enqueue.cc and src/graph/tuning.cc.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wirespeed.collectives.library.environment import LibrarySettings
from wirespeed.collectives.library.graph_summary import Graphs, Team
from wirespeed.collectives.library.names import MULTICAST, Algorithm
from wirespeed.collectives.protocol import Protocol

_THREADS = {Protocol.LL: 512, Protocol.LL128: 640, Protocol.SIMPLE: 512}
_BYTES_A_THREAD = {Protocol.LL: 8, Protocol.LL128: 8, Protocol.SIMPLE: 64}


def channels_used(
    algorithm: Algorithm,
    protocol: Protocol,
    sizes: npt.NDArray[np.float64],
    graphs: Graphs,
    team: Team,
    settings: LibrarySettings,
) -> npt.NDArray[np.int64]:
    """[sizes] channels that calls of these sizes [B] run on."""
    if algorithm in MULTICAST:
        return np.full(len(sizes), graphs.nvls_channels, np.int64)
    threads = _THREADS[protocol]
    if settings.threads is not None and protocol is not Protocol.LL128:
        threads = min(max(settings.threads, 64), threads)
    each = threads * _BYTES_A_THREAD[protocol]
    if (algorithm, protocol) == (Algorithm.RING, Protocol.LL):
        each *= team.ranks
    return np.clip(sizes // each, 1, graphs.coll_channels).astype(np.int64)
