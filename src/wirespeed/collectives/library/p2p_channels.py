"""P2pChannels: how many channels messages that go straight get, in all and for each peer.

Up to 2.28 a peer across the network gets two, halved while all peers together would need more than
four on each channel. From 2.29 on it gets as many as its NICs need at 14 GB/s a channel, halved
while batches of eight peers would not fit on all channels at once. All peers get the same.
Source: NVIDIA/nccl, src/graph/paths.cc, ncclTopoGetNchannels and ncclTopoComputeP2pChannels, 2.18
to 2.31; NCCL_NCHANNELS_PER_NET_PEER.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from wirespeed.collectives.library.constants import constants_of
from wirespeed.collectives.library.environment import parse_settings
from wirespeed.collectives.library.graphs import find_graphs, team_of
from wirespeed.collectives.library.host_view import nic_speed
from wirespeed.topology.cluster import Cluster, Group

_BY_BANDWIDTH = (2, 29)
_ASSUMED_GBPS = 14
"""What the library credits one channel with on a network. Source: NCCL_P2P_PER_CHANNEL_NET_BW."""
_BATCH = 8
_TO_A_PEER = 2
_PEERS_A_CHANNEL = 4


@dataclass(frozen=True, slots=True)
class P2pChannels:
    """Channels of a rank: `total`, and how many carry a message to one peer."""

    total: int
    per_peer: int


def p2p_channels(cluster: Cluster, group: Group) -> P2pChannels:
    """The channels of sends and receives in a group of two ranks or more."""
    settings, _ = parse_settings(cluster.software)
    constants = constants_of(cluster.software.version)
    team = team_of(cluster, group)
    graphs = find_graphs(cluster, group, constants, settings)
    total = _power(graphs.coll_channels)
    if team.nodes == 1:
        # Over NVLink and PCIe alike a peer gets what its links need; a channel is never short.
        return P2pChannels(total, total)
    asked = settings.channels_per_net_peer
    if asked is not None:
        return P2pChannels(total, min(total, _power(asked)))
    if cluster.software.version[:2] < _BY_BANDWIDTH:
        each = _TO_A_PEER
        while each * team.ranks > total * _PEERS_A_CHANNEL and each > 1:
            each //= 2
        return P2pChannels(total, min(total, each))
    each = _power(math.ceil(_slowest_nics(cluster, group) / _ASSUMED_GBPS))
    while each * math.ceil(team.ranks / _BATCH) > total and each > 1:
        each //= 2
    return P2pChannels(total, min(total, each))


def _slowest_nics(cluster: Cluster, group: Group) -> float:
    """[GB/s] of the NICs of the rank that has least; all its nearest count."""
    first: dict[tuple[int, int], int] = {}
    topology = cluster.topology
    for gpu in group.gpus.tolist():
        unit = topology.unit_at(gpu)
        place = gpu - int(topology.first_component[unit])
        first.setdefault((cluster.router.class_of(unit), place), gpu)
    return min(nic_speed(cluster, gpu) for gpu in first.values())


def _power(number: float) -> int:
    """The least power of two that is as large; 1 at least."""
    return 1 << max(0, math.ceil(number) - 1).bit_length()
