"""What NCCL credits links and paths with."""

from __future__ import annotations

import pytest

from topology.test_nccl_paths import Box
from topology_tables import routes_of
from wirespeed.topology.kinds import ComponentKind
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
from wirespeed.units import GB


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
