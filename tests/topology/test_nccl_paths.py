"""Two devices are as far apart as NCCL says."""

from __future__ import annotations

import numpy as np
import pytest

from topology_tables import routes_of
from wirespeed.topology.kinds import ComponentKind, LinkKind, PathType
from wirespeed.topology.machines import preset_machine
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
