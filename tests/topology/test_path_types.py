"""nvidia-smi's and NCCL's words for the way between two devices, on nodes checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from topology.router_cases import GPU, NIC, cluster, joined_gpus, routes_of, two_sockets
from wirespeed.topology.address import find
from wirespeed.topology.kinds import ComponentKind, PathType, SmiWord
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.path_types import bonded_links, nccl_path, smi_word
from wirespeed.topology.unit_routes import UnitRoutes


@pytest.mark.parametrize(
    ("a", "b", "smi", "nccl"),
    [
        ("gpu0", "gpu0", "X", "LOC"),
        ("gpu0", "gpu1", "PIX", "PIX"),
        ("gpu0", "nic0", "PIX", "PIX"),
        ("gpu0", "gpu2", "PXB", "PXB"),
        ("gpu2", "nic0", "PXB", "PXB"),
        ("gpu0", "gpu3", "PHB", "PHB"),
        ("gpu3", "nic0", "PHB", "PHB"),
        # NCCL has no host bridges: two of one NUMA node are one CPU.
        ("gpu0", "gpu4", "NODE", "PHB"),
        ("gpu4", "nic0", "NODE", "PHB"),
        ("gpu0", "gpu5", "SYS", "SYS"),
        ("gpu5", "nic0", "SYS", "SYS"),
    ],
)
def test_each_distance_on_a_node_of_two_sockets(a, b, smi, nccl):
    unit, at = two_sockets()
    routes = routes_of(unit)
    for source, target in ((at[a], at[b]), (at[b], at[a])):
        assert smi_word(routes, source, target) == smi
        assert nccl_path(routes, source, target) == PathType[nccl]


def test_words_grow_with_the_distance():
    assert [w.name for w in sorted(SmiWord)] == ["PIX", "PXB", "PHB", "NODE", "SYS"]
    assert PathType.LOC < PathType.NVL < PathType.NVB < PathType.PIX < PathType.PXB
    assert PathType.PXB < PathType.PHB < PathType.SYS < PathType.NET < PathType.DIS


def test_where_no_way_is_left_there_is_no_word():
    unit, at = two_sockets()
    down = [k for k in range(unit.links) if at["gpu5"] in (unit.source[k], unit.target[k])]
    routes = routes_of(unit, *down)
    assert smi_word(routes, at["gpu0"], at["gpu5"]) == ""
    assert nccl_path(routes, at["gpu0"], at["gpu5"]) == PathType.DIS


def test_bonded_nvlinks_are_counted_and_a_way_round_is_not():
    unit = joined_gpus({(0, 1): 2, (1, 2): 1}, 3)
    routes, gpus = routes_of(unit), unit.of_kind(GPU).tolist()
    assert smi_word(routes, gpus[0], gpus[1]) == "NV2"
    assert bonded_links(routes, gpus[0], gpus[2]) == 0
    assert smi_word(routes, gpus[0], gpus[2]) == "PHB"
    assert nccl_path(routes, gpus[0], gpus[2]) == PathType.NVB


@pytest.mark.parametrize(
    ("name", "a", "b", "smi", "nccl"),
    [
        ("dgx-1v", "gpu0", "gpu1", "NV1", "NVL"),
        ("dgx-1v", "gpu0", "gpu3", "NV2", "NVL"),
        ("dgx-1v", "gpu0", "gpu5", "SYS", "NVB"),
        ("dgx-1v", "gpu0", "nic0", "PIX", "PIX"),
        ("dgx-1v", "gpu0", "nic3", "SYS", None),
        ("dgx-a100", "gpu0", "gpu7", "NV12", "NVL"),
        ("dgx-h100", "gpu0", "gpu7", "NV18", "NVL"),
        ("dgx-b200", "gpu0", "gpu7", "NV18", "NVL"),
        ("hgx-a100-4", "gpu0", "gpu3", "NV4", "NVL"),
        ("gb200-nvl72", "node0/gpu0", "node17/gpu3", "NV18", "NVL"),
        ("pcie-8x-rtx4090", "gpu0", "gpu1", "NODE", "PHB"),
        ("pcie-8x-rtx4090", "gpu0", "gpu4", "SYS", "SYS"),
        ("pcie-8x-a6000-nvlink", "gpu0", "gpu1", "NV4", "NVL"),
    ],
)
def test_known_nodes_say_what_their_owners_see(name, a, b, smi, nccl):
    on = cluster(name)
    a, b = int(find(on.topology, a)[0]), int(find(on.topology, b)[0])
    assert smi_word(on.router.routes(0), a, b) == smi
    if nccl:
        assert on.router.path_type(a, b) == PathType[nccl]


def test_without_nvlink_the_word_is_that_of_pcie():
    down = [f"gpu0-nvswitch{k}=down" for k in range(4)]
    on = cluster("dgx-h100", 1, *down)
    gpus = on.topology.gpus().tolist()
    assert smi_word(on.router.routes(0), gpus[0], gpus[1]) in ("PXB", "PHB", "NODE", "SYS")
    assert smi_word(on.router.routes(0), gpus[1], gpus[2]) == "NV18"


def test_an_nvswitch_less_is_fewer_bonded_links():
    on = cluster("dgx-h100", 1, "nvswitch0=down")
    gpus = on.topology.gpus().tolist()
    assert smi_word(on.router.routes(0), gpus[0], gpus[1]) == "NV13"


@pytest.mark.parametrize("name", ["dgx-h100", "dgx-1v", "pcie-8x-a100", "mi300x-8"])
def test_words_of_a_pair_do_not_depend_on_who_asks(name):
    on = cluster(name)
    routes = on.router.routes(0)
    devices = [*on.topology.gpus().tolist(), *on.topology.of_kind(NIC).tolist()]
    for a in devices:
        for b in devices:
            assert smi_word(routes, a, b) == smi_word(routes, b, a)
            types = {nccl_path(routes, x, y, pxn=False) for x, y in ((a, b), (b, a))}
            assert len(types) == 1


@pytest.mark.parametrize(("name", "word"), [("gb200-nvl72", "SYS"), ("pcie-8x-a100", "NODE")])
def test_devices_on_host_bridges_of_one_socket_are_apart_where_bridges_are_domains(name, word):
    # Seen on GB200: NICs of one Grace are SYS to each other, ports of a card PIX.
    unit = preset_machine(name).unit
    routes = UnitRoutes(unit, np.concatenate([unit.bandwidth, np.full(unit.components, np.inf)]))
    devices = [
        int(c)
        for kind in (ComponentKind.NIC, ComponentKind.GPU)
        for c in unit.of_kind(kind)
        if kind == ComponentKind.NIC or name != "gb200-nvl72"
    ]
    words = {
        smi_word(routes, a, b)
        for a in devices
        for b in devices
        if a != b and unit.node[a] == unit.node[b] and unit.numa[a] == unit.numa[b]
    }
    assert word in words
    assert not {"SYS", "NODE"} - {word} & words
