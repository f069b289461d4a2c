"""What people set, in all the forms that NCCL's documentation has."""

from __future__ import annotations

import pytest

import wirespeed as ws
from wirespeed.collectives.library.environment import HcaFilter, LibrarySettings, parse_settings
from wirespeed.collectives.library.names import Algorithm
from wirespeed.collectives.operation import Operation
from wirespeed.collectives.peers import p2p_limit
from wirespeed.collectives.protocol import Protocol
from wirespeed.topology.kinds import PathType
from wirespeed.topology.software import Software

pytestmark = pytest.mark.fast


def settings_of(**env: str) -> LibrarySettings:
    settings, notices = parse_settings(Software(env=env))
    assert notices == ()
    return settings


def test_nothing_set_is_nccls_default():
    assert settings_of() == LibrarySettings()


def test_one_list_is_for_all_operations():
    allowed = settings_of(NCCL_ALGO="Tree,RING").algorithms
    assert allowed[Operation.BROADCAST] == {Algorithm.TREE, Algorithm.RING}


def test_a_caret_leaves_out():
    allowed = settings_of(NCCL_PROTO="^LL128,Simple").protocols
    assert allowed[Operation.ALL_REDUCE] == {Protocol.LL}


def test_lists_by_function_override_the_first():
    allowed = settings_of(NCCL_ALGO="ring;allreduce:tree,nvls;broadcast:^tree").algorithms
    assert allowed[Operation.ALL_GATHER] == {Algorithm.RING}
    assert allowed[Operation.ALL_REDUCE] == {Algorithm.TREE, Algorithm.NVLS}
    assert Algorithm.TREE not in allowed[Operation.BROADCAST]


def test_a_function_alone_leaves_the_others_free():
    allowed = settings_of(NCCL_ALGO="allreduce:ring").algorithms
    assert Operation.ALL_GATHER not in allowed


def test_collnet_names_both_of_its_algorithms():
    allowed = settings_of(NCCL_ALGO="CollNet").algorithms[Operation.ALL_REDUCE]
    assert allowed == {Algorithm.COLLNET_DIRECT, Algorithm.COLLNET_CHAIN}


def test_switches_levels_and_numbers():
    env = dict(
        NCCL_NVLS_ENABLE="0",
        NCCL_P2P_DISABLE="1",
        NCCL_SHM_DISABLE="1",
        NCCL_NET_GDR_LEVEL="PHB",
        NCCL_P2P_LEVEL="5",
        NCCL_CROSS_NIC="1",
        NCCL_PXN_DISABLE="1",
        NCCL_NCHANNELS_PER_NET_PEER="4",
        NCCL_IB_QPS_PER_CONNECTION="2",
        NCCL_IB_SPLIT_DATA_ON_QPS="1",
        NCCL_COLLNET_ENABLE="1",
        NCCL_MNNVL_ENABLE="0",
        NCCL_NTHREADS="256",
        NCCL_BUFFSIZE="8388608",
    )
    settings, notices = parse_settings(Software(env=env))
    # What is read and does not act on a forecast says so.
    unmoved = ("SHM_DISABLE", "IB_QPS_PER_CONNECTION", "IB_SPLIT_DATA_ON_QPS", "BUFFSIZE")
    assert [n.text.partition("=")[0] for n in notices] == [f"NCCL_{name}" for name in unmoved]
    assert (settings.nvls, settings.p2p, settings.shm, settings.pxn) == (False,) * 4
    assert (settings.gdr_level, settings.p2p_level) == (PathType.PHB, PathType.SYS)
    assert (settings.cross_nic, settings.channels_per_net_peer) == (1, 4)
    assert (settings.qps_per_connection, settings.split_data_on_qps) == (2, True)
    assert (settings.collnet, settings.mnnvl) == (True, False)
    assert (settings.threads, settings.buffer_bytes) == (256, 8 * 2**20)


def test_the_narrower_bound_on_channels_counts():
    assert settings_of(NCCL_MAX_NCHANNELS="16", NCCL_MAX_CTAS="8").max_channels == 8
    assert settings_of(NCCL_MIN_NCHANNELS="4", NCCL_MIN_CTAS="8").min_channels == 8


@pytest.mark.parametrize(
    ("text", "device", "used"),
    [
        ("mlx5_1", "mlx5_1", True),
        ("mlx5_1", "mlx5_10", True),
        ("=mlx5_1", "mlx5_10", False),
        ("^mlx5_0,mlx5_3", "mlx5_3", False),
        ("^=mlx5_1", "mlx5_10", True),
        ("mlx5_2:1,mlx5_4:1", "mlx5_4", True),
        ("mlx5", "mlx5_7", True),
    ],
)
def test_lists_of_devices(text, device, used):
    assert settings_of(NCCL_IB_HCA=text).hca.allows(device) is used


def test_no_list_allows_every_device():
    assert HcaFilter().allows("bnxt_re0")


def test_options_go_before_the_environment():
    software = Software(env={"NCCL_ALGO": "Tree"}, settings={"algo": "Ring", "channels": "8"})
    settings, _ = parse_settings(software)
    assert settings.algorithms[Operation.ALL_REDUCE] == {Algorithm.RING}
    assert (settings.min_channels, settings.max_channels) == (8, 8)


@pytest.mark.parametrize(
    "env",
    [
        {"NCCL_IB_HCA": "one"},
        {"NCCL_ALGO": "fastest"},
        {"NCCL_NVLS_ENABLE": "perhaps"},
        {"NCCL_MAX_NCHANNELS": "many"},
        {"NCCL_MADE_UP": "1"},
    ],
)
def test_words_that_nobody_knows_are_notices(env):
    settings, notices = parse_settings(Software(env=env))
    assert settings == LibrarySettings()
    assert len(notices) == 1


@pytest.mark.parametrize("text", ["default", "None", "", "-2"])
def test_not_set_in_so_many_words(text):
    assert settings_of(NCCL_ALGO=text, NCCL_NVLS_ENABLE=text) == LibrarySettings()


def test_what_only_starts_or_logs_is_passed_over():
    assert settings_of(NCCL_DEBUG="INFO", NCCL_NET="AWS Libfabric", FI_PROVIDER="cxi") == (
        LibrarySettings()
    )


@pytest.mark.parametrize("word", ["NODE", "sys", "far"])
def test_a_level_that_the_library_does_not_read_is_told_and_changes_nothing(word: str):
    settings, notices = parse_settings(Software(env={"NCCL_P2P_LEVEL": word}))
    assert settings.p2p_level is None
    assert [notice.code for notice in notices] == ["setting-not-understood"]
    on = ws.cluster("pcie-8x-a100", env={"NCCL_P2P_LEVEL": word})
    assert p2p_limit(on, 8) == p2p_limit(ws.cluster("pcie-8x-a100"), 8)
