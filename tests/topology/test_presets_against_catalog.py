"""Presets say what the catalog's tables of platforms and cloud shapes say."""

from __future__ import annotations

import pytest

from wirespeed.catalog import clouds, gpu, platforms
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.node_builder import unit_of
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.presets import preset
from wirespeed.topology.unit import first_nodes

PLATFORMS = [row.key for row in platforms()]
CLOUDS = [row.key for row in clouds()]
GPUS_BY_NAME = {"a2-megagpu-16g": 16, "nc80adis_h100_v5": 2}
"""Shapes that share a published row with another of a different size."""


def named(key: str) -> NodeDesign:
    return preset(key.replace(" ", "-"))


def groups(design: NodeDesign) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """GPUs and compute NICs below the same switch."""
    compute = [n for n in range(design.nic_count) if design.nic(n).role == "compute"]
    return [
        (group.gpus, tuple(n for n in group.nics if n in compute))
        for group in design.pcie
        if group.gpus
    ]


def compute_rates(design: NodeDesign) -> list[float]:
    return [
        design.nic(n).rate_Gbps for n in range(design.nic_count) if design.nic(n).role == "compute"
    ]


@pytest.mark.parametrize("row", platforms(), ids=PLATFORMS)
def test_a_platform(row):
    design = named(row.key)
    assert row.gpu in ("", gpu(design.gpu).key) or gpu(design.gpu).key in row.other_gpus
    assert design.gpus == row.gpus_per_node
    assert design.gpus * design.nodes_per_unit == row.gpus
    assert design.status == row.status
    if row.nvlink_domain:
        assert design.nvlink_domain == row.nvlink_domain
    if row.nvlink_edges:
        assert [list(edge) for edge in design.nvlink.pairs(design.gpus)] == [
            list(edge) for edge in sorted(row.nvlink_edges)
        ]
    if row.nvswitches:
        unit = unit_of(design)
        assert len(unit.of_kind(ComponentKind.NVSWITCH)) == row.nvswitches
        assert design.nvlink.switch_generation == row.nvswitch_generation
    if row.gpu_nic_groups:
        assert groups(design) == list(row.gpu_nic_groups)
    if row.nic_rate_Gbps and design.gdr:
        assert set(compute_rates(design)) == {row.nic_rate_Gbps}


@pytest.mark.parametrize("row", clouds(), ids=CLOUDS)
def test_a_cloud_shape(row):
    design = named(row.key)
    assert gpu(design.gpu).key == row.gpu
    assert design.gpus == GPUS_BY_NAME.get(row.key, row.gpus)
    if row.nvlink_domain:
        assert design.nvlink_domain == row.nvlink_domain
    if row.rate_Gbps:
        assert sum(compute_rates(design)) == row.rate_Gbps
    if row.nvswitches:
        assert len(unit_of(design).of_kind(ComponentKind.NVSWITCH)) == row.nvswitches
    if row.rdma is not None:
        assert design.network.rdma == row.rdma
    if row.gpudirect is not None:
        assert design.gdr == row.gpudirect
    if row.gpu_nic_groups:
        assert groups(design) == list(row.gpu_nic_groups)
    if row.gpu_numa:
        node = first_nodes(unit_of(design), 1)
        assert tuple(node.numa[node.of_kind(ComponentKind.GPU)]) == row.gpu_numa
