"""Two devices are as far apart as NCCL says, and what may go between them follows from that."""

from __future__ import annotations

import numpy as np
import pytest

from topology_tables import routes_of
from wirespeed.topology.eligibility import (
    gdr_eligible,
    gdr_level,
    level_of,
    p2p_eligible,
    p2p_level,
)
from wirespeed.topology.kinds import ComponentKind, LinkKind, PathType
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.nccl_speeds import (
    LOCAL,
    cpu_planning,
    cpu_planning_of,
    intel_overhead,
    nccl_bandwidth,
    nvlink_planning,
    pcie_planning,
)
from wirespeed.topology.path_types import local_gpu, nccl_path, pxn_relay
from wirespeed.topology.unit import UnitBuilder
from wirespeed.topology.unit_routes import UnitRoutes
from wirespeed.units import GB, gbps

GEN4_X16 = 31.507692 * GB


class Box:
    """A node in the making: two sockets, devices on switches or on host bridges."""

    def __init__(self, cpu: str = "EPYC 7742") -> None:
        self.builder = UnitBuilder("box")
        self.cpus = [self.builder.add(ComponentKind.CPU, numa=n, model=cpu) for n in range(2)]
        self.builder.connect(*self.cpus, LinkKind.CPU, bandwidth=96 * GB)

    def root(self, socket: int) -> int:
        root = self.builder.add(ComponentKind.ROOT, numa=socket)
        self.builder.connect(root, self.cpus[socket], LinkKind.ROOT, bandwidth=128 * GB)
        return root

    def switch(self, above: int) -> int:
        switch = self.builder.add(ComponentKind.PCIE)
        self.plug(switch, above)
        return switch

    def gpu(self, above: int | None, model: str = "A100 SXM4 80GB") -> int:
        gpu = self.builder.add(ComponentKind.GPU, model=model)
        if above is not None:
            self.plug(gpu, above)
        return gpu

    def nic(self, above: int, rate: float = 200) -> int:
        rail = self.builder._next.get((int(ComponentKind.NIC), 0), 0)
        nic = self.builder.add(ComponentKind.NIC, rail=rail, rate=gbps(rate))
        self.plug(nic, above)
        return nic

    def plug(self, low: int, high: int) -> None:
        self.builder.connect(low, high, LinkKind.PCIE, bandwidth=GEN4_X16, lanes=16)

    def nvlink(self, a: int, b: int, count: int = 4) -> None:
        self.builder.connect(a, b, LinkKind.NVLINK, bandwidth=25 * GB * count, lanes=count)

    def routes(self) -> UnitRoutes:
        return routes_of(self.builder.build())


def test_the_farthest_part_of_the_way_names_it() -> None:
    box = Box()
    here, there = box.root(0), box.root(1)
    upper = box.switch(here)
    left, right = box.switch(upper), box.switch(upper)
    a, b, c = box.gpu(left), box.gpu(left), box.gpu(right)
    d, e = box.gpu(box.root(0)), box.gpu(there)
    routes = box.routes()
    assert nccl_path(routes, a, a) is PathType.LOC
    assert nccl_path(routes, a, b) is PathType.PIX
    assert nccl_path(routes, a, c) is PathType.PXB
    # Another host bridge of the same socket is NODE to nvidia-smi, one CPU to NCCL.
    assert nccl_path(routes, a, d) is PathType.PHB
    assert nccl_path(routes, a, e) is PathType.SYS


def test_nvlink_counts_directly_and_through_one_gpu_but_not_two() -> None:
    box = Box()
    a, b, c, d = (box.gpu(box.root(n % 2)) for n in range(4))
    box.nvlink(a, b)
    box.nvlink(b, c)
    box.nvlink(c, d)
    routes = box.routes()
    assert nccl_path(routes, a, b) is PathType.NVL
    assert nccl_path(routes, a, c) is PathType.NVB
    assert nccl_path(routes, a, d) is PathType.SYS


def test_a_far_nic_is_reached_through_the_gpu_beside_it() -> None:
    box = Box()
    near, far = box.switch(box.root(0)), box.root(1)
    a, nic, b = box.gpu(near), box.nic(near), box.gpu(far)
    box.nvlink(a, b)
    routes = box.routes()
    assert local_gpu(routes, nic) == a
    assert pxn_relay(routes, b, nic) == a
    assert nccl_path(routes, b, nic) is PathType.PXN
    assert nccl_path(routes, b, nic, pxn=False) is PathType.SYS
    # It receives without a relay.
    assert nccl_path(routes, nic, b) is PathType.SYS
    assert nccl_path(routes, a, nic) is PathType.PIX


def test_without_nvlink_nobody_relays() -> None:
    box = Box()
    near = box.switch(box.root(0))
    _, nic, b = box.gpu(near), box.nic(near), box.gpu(box.root(1))
    assert nccl_path(box.routes(), b, nic) is PathType.SYS


def test_a_gpu_two_hops_away_does_not_relay() -> None:
    box = Box()
    near = box.switch(box.root(0))
    a, nic = box.gpu(near), box.nic(near)
    b, c = box.gpu(box.root(1)), box.gpu(box.root(1))
    box.nvlink(a, b)
    box.nvlink(b, c)
    routes = box.routes()
    assert nccl_path(routes, a, c) is PathType.NVB
    assert nccl_path(routes, c, nic) is PathType.SYS


def test_a_wider_way_through_another_gpu_is_taken_even_if_the_own_is_short() -> None:
    box = Box()
    upper = box.switch(box.root(0))
    slow = box.builder.add(ComponentKind.PCIE)
    box.builder.connect(slow, upper, LinkKind.PCIE, bandwidth=GEN4_X16 / 8, lanes=2)
    a, b, nic = box.gpu(upper), box.gpu(slow), box.nic(upper)
    box.nvlink(a, b)
    routes = box.routes()
    assert nccl_path(routes, b, nic, pxn=False) is PathType.PXB
    assert nccl_path(routes, b, nic) is PathType.PXN


def test_two_gpus_and_two_nics_on_one_switch_take_one_each() -> None:
    box = Box()
    switch = box.switch(box.root(0))
    gpus = [box.gpu(switch), box.gpu(switch)]
    nics = [box.nic(switch), box.nic(switch)]
    routes = box.routes()
    assert [local_gpu(routes, nic) for nic in nics] == gpus


def test_a_nic_of_the_cpu_that_c2c_leads_to_is_p2c() -> None:
    box = Box("Grace")
    a, b = box.gpu(None, "GB200"), box.gpu(None, "GB200")
    for gpu, cpu in ((a, box.cpus[0]), (b, box.cpus[0])):
        box.builder.connect(gpu, cpu, LinkKind.C2C, bandwidth=450 * GB, lanes=10)
    here, there = box.nic(box.root(0)), box.nic(box.root(1))
    routes = box.routes()
    assert nccl_path(routes, a, box.cpus[0]) is PathType.C2C
    assert nccl_path(routes, a, b) is PathType.C2C
    assert nccl_path(routes, a, here) is PathType.P2C
    assert nccl_path(routes, a, there) is PathType.SYS


def test_what_is_down_is_disconnected() -> None:
    box = Box()
    a, b = box.gpu(box.root(0)), box.gpu(box.root(1))
    unit = box.builder.build()
    routes = UnitRoutes(unit, np.zeros(unit.links + unit.components))
    assert nccl_path(routes, a, b) is PathType.DIS


@pytest.mark.parametrize(
    ("preset", "ways"),
    [
        ("dgx-h100", "PXB PXN PXN PXN PXN PXN PXN PXN"),
        ("dgx-a100", "PXB PXB PXN PXN PXN PXN PXN PXN"),
        ("dgx-1v", "PIX PXN PXN SYS"),
        ("gb200-nvl72", "P2C P2C PXN PXN"),
        ("gb300-nvl72", "PIX PXN PXN PXN"),
        ("aws-p4d", "PIX PXN PXN PXN"),
        ("azure-ndv2", "PHB"),
    ],
)
def test_the_first_gpu_of_a_platform_reaches_each_compute_nic(preset: str, ways: str) -> None:
    unit = preset_machine(preset).unit
    routes = routes_of(unit)
    gpu = int(unit.of_kind(ComponentKind.GPU)[0])
    nics = unit.of_kind(ComponentKind.NIC)
    nics = nics[(unit.node[nics] == unit.node[gpu]) & (unit.rail[nics] >= 0)]
    assert " ".join(nccl_path(routes, gpu, int(nic)).name for nic in nics) == ways


# Peer to peer and GPUDirect


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


# What NCCL credits paths with


@pytest.mark.parametrize(
    ("cc", "rate"),
    [
        (60, 18),
        (70, 20),
        (75, 20),
        (80, 20),
        (86, 12),
        (89, 20),
        (90, 20.6),
        (100, 40.1),
        (120, 40.1),
    ],
)
def test_a_link_by_compute_capability(cc: int, rate: float) -> None:
    assert nvlink_planning(cc) == rate * GB


@pytest.mark.parametrize(
    ("generation", "rate"), [(1, 3), (2, 6), (3, 12), (4, 24), (5, 48), (6, 96), (7, 12)]
)
def test_sixteen_lanes_by_generation(generation: int, rate: float) -> None:
    assert pcie_planning(generation, 16) == rate * GB


@pytest.mark.parametrize(
    ("arch", "vendor", "family", "model", "rate"),
    [
        ("ppc64", "", 0, 0, 32),
        ("arm64", "ARM", 0, 0, 6),
        ("x86_64", "GenuineIntel", 6, 79, 6),
        ("x86_64", "GenuineIntel", 6, 85, 10),
        ("x86_64", "GenuineIntel", 6, 106, 10),
        ("x86_64", "GenuineIntel", 6, 143, 22),
        ("x86_64", "GenuineIntel", 6, 207, 40),
        ("x86_64", "AuthenticAMD", 143, 49, 16),
        ("x86_64", "CentaurHauls", 7, 0, 6),
        ("x86_64", "", 0, 0, 5000),
    ],
)
def test_between_sockets_by_cpu(
    arch: str, vendor: str, family: int, model: int, rate: float
) -> None:
    assert cpu_planning(arch, vendor, family, model) == rate * GB


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("Xeon E5-2698 v4", 6),
        ("Xeon Platinum 8168", 10),
        ("Xeon Platinum 8275CL", 10),
        ("Xeon Gold 6248", 10),
        ("Xeon Platinum 8480C", 22),
        ("Xeon Platinum 8570", 40),
        ("Xeon 6776P", 40),
        ("Xeon Emerald Rapids", 40),
        ("EPYC 9575F", 16),
        ("Grace", 6),
        ("POWER9", 32),
    ],
)
def test_between_sockets_by_name(name: str, rate: float) -> None:
    assert cpu_planning_of(name) == rate * GB


def test_an_unknown_cpu_is_no_limit() -> None:
    assert cpu_planning_of("") == LOCAL


def test_a_path_is_as_wide_as_its_narrowest_part() -> None:
    box = Box("Xeon Platinum 8480C")
    a, b = box.gpu(box.switch(box.root(0))), box.gpu(box.root(1))
    nic = box.nic(box.root(0), rate=100)
    routes = box.routes()
    assert nccl_bandwidth(routes, a, b) == 22 * GB
    assert nccl_bandwidth(routes, a, nic) == 12.5 * GB
    assert nccl_bandwidth(routes, a, box.cpus[0]) == pytest.approx(24 * GB)


def test_intel_takes_a_fifth_more_of_pcie_for_peers_through_the_cpu() -> None:
    intel, amd = Box("Xeon Gold 6248"), Box("EPYC 7742")
    for box, share in ((intel, 1.2), (amd, 1.0)):
        switch = box.switch(box.root(0))
        a, b, c = box.gpu(switch), box.gpu(switch), box.gpu(box.root(0))
        nic = box.nic(box.root(0))
        routes = box.routes()
        assert intel_overhead(routes, a, c) == share
        assert intel_overhead(routes, a, b) == 1.0
        assert intel_overhead(routes, a, nic) == 1.0


@pytest.mark.parametrize(
    ("preset", "rate"),
    [
        ("dgx-h100", 18 * 20.6),
        ("dgx-a100", 12 * 20.0),
        ("dgx-2", 6 * 20.0),
        ("gb200-nvl72", 18 * 40.1),
        ("hgx-a100-4", 4 * 20.0),
        ("mi300x-8", 48.0),
        ("pcie-8x-rtx3090-nvlink", 4 * 12.0),
    ],
)
def test_the_widest_pair_of_a_platform(preset: str, rate: float) -> None:
    unit = preset_machine(preset).unit
    routes = routes_of(unit)
    a, *others = unit.of_kind(ComponentKind.GPU).tolist()
    widest = max(nccl_bandwidth(routes, a, b) for b in others)
    assert widest == pytest.approx(rate * GB)
