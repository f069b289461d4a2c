"""How far NCCL goes with peer to peer and GPUDirect."""

from __future__ import annotations

import pytest

from topology.test_nccl_paths import Box
from wirespeed.topology.eligibility import (
    gdr_eligible,
    gdr_level,
    level_of,
    p2p_eligible,
    p2p_level,
)
from wirespeed.topology.kinds import PathType


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("LOC", PathType.LOC),
        ("NVL", PathType.NVL),
        ("NVB", PathType.NVB),
        ("C2C", PathType.C2C),
        ("PIX", PathType.PIX),
        ("PXB", PathType.PXB),
        ("PXN", PathType.PXN),
        ("PHB", PathType.PHB),
        ("SYS", PathType.SYS),
        ("0", PathType.LOC),
        ("1", PathType.PIX),
        ("2", PathType.PXB),
        ("3", PathType.PHB),
        ("4", PathType.SYS),
        ("5", PathType.SYS),
        ("9", PathType.SYS),
        ("0x2", PathType.PXB),
        ("", None),
        ("phb", None),
        ("NODE", None),
        ("NET", None),
        ("-1", None),
    ],
)
def test_a_level_is_a_word_in_capitals_or_an_old_digit(text: str, level: PathType | None) -> None:
    assert level_of(text) is level


@pytest.mark.parametrize(
    ("env", "vendor", "gpus", "level"),
    [
        ({}, "Intel", 8, PathType.PXB),
        ({}, "AMD", 8, PathType.PXB),
        ({}, "AMD", 2, PathType.SYS),
        ({}, "Intel", 2, PathType.PXB),
        ({"NCCL_P2P_LEVEL": "SYS"}, "Intel", 8, PathType.SYS),
        ({"NCCL_P2P_LEVEL": "sys"}, "Intel", 8, PathType.PXB),
        ({"NCCL_P2P_DISABLE": "1"}, "AMD", 2, PathType.LOC),
        ({"NCCL_P2P_DISABLE": "0", "NCCL_P2P_LEVEL": "NVL"}, "AMD", 2, PathType.NVL),
        ({"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": "SYS"}, "AMD", 2, PathType.LOC),
    ],
)
def test_how_far_peers_go(env: dict[str, str], vendor: str, gpus: int, level: PathType) -> None:
    assert p2p_level(env, vendor, gpus) is level


def test_gpus_under_one_bridge_are_peers_and_across_a_cpu_they_are_not() -> None:
    box = Box()
    switch = box.switch(box.root(0))
    a, b, c = box.gpu(switch), box.gpu(switch), box.gpu(box.root(0))
    routes = box.routes()
    assert p2p_eligible(routes, a, b, PathType.PXB)
    assert not p2p_eligible(routes, a, c, PathType.PXB)
    assert p2p_eligible(routes, a, c, PathType.SYS)
    assert not p2p_eligible(routes, a, b, PathType.LOC)


def test_gpudirect_ends_at_the_host_bridge_unless_told() -> None:
    box = Box()
    switch = box.switch(box.root(0))
    beside, nic, apart = box.gpu(switch), box.nic(switch), box.gpu(box.root(0))
    across = box.gpu(box.root(1))
    routes = box.routes()
    assert gdr_level({}) is PathType.P2C
    assert gdr_level({"NCCL_NET_GDR_C2C": "0"}) is PathType.PXB
    assert gdr_eligible(routes, beside, nic, {})
    assert not gdr_eligible(routes, apart, nic, {})
    assert gdr_eligible(routes, apart, nic, {"NCCL_NET_GDR_LEVEL": "PHB"})
    assert not gdr_eligible(routes, across, nic, {"NCCL_NET_GDR_LEVEL": "PHB"})
    assert gdr_eligible(routes, across, nic, {"NCCL_NET_GDR_LEVEL": "4"})
    assert not gdr_eligible(routes, beside, nic, {"NCCL_NET_GDR_LEVEL": "LOC"})


def test_by_pxn_the_distance_of_the_relay_counts() -> None:
    box = Box()
    switch = box.switch(box.root(0))
    near, nic, far = box.gpu(switch), box.nic(switch), box.gpu(box.root(1))
    box.nvlink(near, far)
    routes = box.routes()
    assert gdr_eligible(routes, far, nic, {})
    assert not gdr_eligible(routes, far, nic, {"NCCL_PXN_DISABLE": "1"})


def test_old_gpus_send_by_gpudirect_only_with_nvlink() -> None:
    box = Box()
    switch = box.switch(box.root(0))
    a, nic, b = box.gpu(switch), box.nic(switch), box.gpu(switch)
    plain = box.routes()
    assert gdr_eligible(plain, a, nic, {}, cc=70)
    assert not gdr_eligible(plain, a, nic, {}, cc=70, sending=True)
    assert gdr_eligible(plain, a, nic, {}, cc=80, sending=True)
    assert gdr_eligible(plain, a, nic, {"NCCL_NET_GDR_READ": "1"}, cc=70, sending=True)
    assert not gdr_eligible(plain, a, nic, {"NCCL_NET_GDR_READ": "0"}, cc=90, sending=True)
    box.nvlink(a, b)
    assert gdr_eligible(box.routes(), a, nic, {}, cc=70, sending=True)
