"""How many channels a message to one peer gets, against what was measured."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collectives.collective_cases import PLATEAU, cluster, rows
from wirespeed.collectives.library.p2p_channels import P2pChannels, p2p_channels
from wirespeed.topology.cluster import Cluster, everyone
from wirespeed.topology.ranks import parse_ranks


def under(on: Cluster, version: tuple[int, ...], **env: str) -> Cluster:
    """The cluster under a version of the library."""
    return replace(on, software=replace(on.software, version=version, env=env))


# preset, nodes, GPUs of each, channels of a peer in 2.29, sendrecv measured [GB/s]
MEASURED = [
    ("dgx-b200", 4, 8, 4, 43),
    ("dgx-b200", 8, 8, 2, 25.4),
    ("dgx-b200", 16, 8, 1, 15.1),
    ("dgx-b200", 32, 8, 1, 14.7),
    ("dgx-h100", 2, 8, 4, 43),
    ("dgx-h100", 10, 1, 2, 25),
    ("dgx-h100", 10, 2, 2, 25),
    ("dgx-h100", 10, 4, 2, 26),
    ("dgx-h100", 10, 8, 1, 15.2),
]


@pytest.mark.parametrize(("name", "nodes", "of_each", "channels", "measured"), MEASURED)
def test_a_peer_gets_fewer_channels_where_there_are_more_of_them(
    name, nodes, of_each, channels, measured
):
    on = under(cluster(name, nodes), (2, 29, 2))
    group = parse_ranks(f"per-node={of_each}", on)
    assert p2p_channels(on, group).per_peer == channels
    (row,) = rows("sendrecv", on, [PLATEAU], group)
    assert row.busbw_GBps == pytest.approx(measured, rel=0.15)


@pytest.mark.parametrize(("nodes", "each"), [(2, 2), (4, 2), (8, 1), (16, 1)])
def test_up_to_2_28_it_gets_two_at_most(nodes, each):
    on = under(cluster("dgx-h100", nodes), (2, 28, 9))
    assert p2p_channels(on, everyone(on)) == P2pChannels(16, each)


def test_what_is_asked_for_counts():
    base = cluster("dgx-h100", 16)
    few, many = (under(base, (2, 27, 0), NCCL_NCHANNELS_PER_NET_PEER=n) for n in ("1", "4"))
    slow, fast = (rows("sendrecv", on, [PLATEAU])[0] for on in (few, many))
    assert slow.bottleneck == "channels"
    assert fast.bottleneck == "node0/nic0>leaf0"
    assert fast.busbw_GBps > 3 * slow.busbw_GBps


def test_an_alltoall_has_peers_enough():
    """Where each of many peers has its channels, the NICs are full."""
    on = cluster("dgx-h100", 8)
    (row,) = rows("alltoall", on, [PLATEAU])
    assert row.bottleneck.startswith("node0/nic")


def test_inside_one_node_channels_are_never_short():
    for name in ("dgx-h100", "dgx-a100", "dgx-1v", "mi300x-8"):
        for operation in ("sendrecv", "alltoall", "all_reduce"):
            (row,) = rows(operation, cluster(name), [PLATEAU])
            assert row.bottleneck != "channels"


@pytest.mark.parametrize(("limit", "busbw"), [(16, 87.6), (8, 73), (4, 40)])
def test_rings_of_a_few_channels_are_slower(limit, busbw):
    """MI250X on LUMI, 8 nodes: nothing lost with 16 channels, a fifth with 8, half with 4."""
    on = cluster("mi250x-8", 8, f"env:NCCL_MAX_NCHANNELS={limit}")
    (row,) = rows("all_reduce", on, [PLATEAU])
    assert row.busbw_GBps == pytest.approx(busbw, rel=0.1)
