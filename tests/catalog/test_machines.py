"""Platforms, clouds and fabrics agree with their parts and with arithmetic."""

from __future__ import annotations

import pytest

from wirespeed import catalog

PLATFORMS = [pytest.param(row, id=row.key) for row in catalog.platforms()]
CLOUDS = [pytest.param(row, id=row.key) for row in catalog.clouds()]
FABRICS = [pytest.param(row, id=row.key) for row in catalog.fabrics()]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_platforms_nvlink_is_that_of_its_gpu(platform: catalog.Platform) -> None:
    if platform.nvlink_GBps_dir is None:
        return
    for name in (platform.gpu, *platform.other_gpus):
        found = catalog.nvlink_of(catalog.gpu(name))
        assert found is not None
        generation, links = found
        assert generation.bandwidth(links) == platform.nvlink_GBps_dir * 1e9


@pytest.mark.parametrize("platform", PLATFORMS)
def test_mesh_edges_use_every_link_of_every_gpu(platform: catalog.Platform) -> None:
    if not platform.nvlink_edges:
        return
    used = dict.fromkeys(range(platform.gpus), 0)
    for a, b, links in platform.nvlink_edges:
        used[a] += links
        used[b] += links
    assert set(used.values()) == {catalog.gpu(platform.gpu).nvlink_links}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_links_to_switches_add_up_to_the_gpus(platform: catalog.Platform) -> None:
    if platform.links_to_switches:
        assert sum(platform.links_to_switches) == catalog.gpu(platform.gpu).nvlink_links


@pytest.mark.parametrize("machine", PLATFORMS + CLOUDS)
def test_groups_name_each_gpu_and_nic_once(machine: catalog.Platform | catalog.Cloud) -> None:
    if not machine.gpu_nic_groups:
        return
    gpus = [gpu for group in machine.gpu_nic_groups for gpu in group[0]]
    nics = [nic for group in machine.gpu_nic_groups for nic in group[1]]
    assert sorted(gpus) == list(range(machine.gpus))
    assert sorted(nics) == list(range(machine.nics or len(nics)))


@pytest.mark.parametrize("cloud", CLOUDS)
def test_an_instances_rate_is_that_of_its_nics(cloud: catalog.Cloud) -> None:
    count = cloud.nics or cloud.rdma_interfaces
    if count and cloud.nic_rate_Gbps and cloud.rate_Gbps:
        assert count * cloud.nic_rate_Gbps == cloud.rate_Gbps


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_health_check_never_asks_for_more_than_the_wire(cloud: catalog.Cloud) -> None:
    gpu = catalog.gpu(cloud.gpu)
    if cloud.host_copy_alarm_GBps_dir:
        wire = catalog.pcie(gpu.pcie_generation).bandwidth(gpu.pcie_lanes)
        assert cloud.host_copy_alarm_GBps_dir * 1e9 < wire
    if cloud.gpudirect_alarm_Gbps and cloud.nic_rate_Gbps:
        assert cloud.gpudirect_alarm_Gbps < cloud.nic_rate_Gbps


@pytest.mark.parametrize(
    ("shape", "gpu", "rate"),
    [
        ("p5.48xlarge", "h100-sxm", 3200),
        ("a3-megagpu-8g", "h100-sxm", 1600),
        ("ND GB300 v6", "gb300", 3200),
        ("BM.GPU.GB200.4", "gb200", 1600),
    ],
)
def test_shapes_are_found_by_their_providers_name(shape: str, gpu: str, rate: float) -> None:
    found = catalog.cloud(shape)
    assert (found.gpu, found.rate_Gbps) == (gpu, rate)


@pytest.mark.parametrize("fabric", FABRICS)
def test_a_reference_design_has_ports_for_its_cables(fabric: catalog.Fabric) -> None:
    for size in fabric.sizes:
        assert size.gpus == size.nodes * (fabric.gpus_per_node or 0)
        if fabric.switch_ports and size.leaf_cables is not None:
            assert size.leaf_cables <= size.spines * fabric.switch_ports
            assert (size.node_cables or 0) + size.leaf_cables <= size.leaves * fabric.switch_ports


def test_frontiers_groups_hold_its_nodes() -> None:
    frontier = catalog.fabric("frontier")
    assert frontier.groups is not None
    assert frontier.nodes_per_group is not None
    assert frontier.groups * frontier.nodes_per_group >= (frontier.nodes or 0)


@pytest.mark.parametrize(("mtu", "share"), [(1024, 0.926), (2048, 0.961), (4096, 0.980)])
def test_roce_overhead_shrinks_with_the_packet(mtu: int, share: float) -> None:
    assert catalog.roce_payload_share(mtu) == pytest.approx(share, abs=6e-4)


def test_efa_follows_nitro_not_speed() -> None:
    generation = catalog.efa("p6-b300.48xlarge")
    assert generation == catalog.efa("p6-b200.48xlarge")
    assert {instance.rate_Gbps for instance in generation.instances} == {3200, 6400}


def test_google_advertises_more_than_gpus_get() -> None:
    for network in catalog.gcp_networks():
        assert network.gpu_nics * network.nic_rate_Gbps == network.rate_Gbps
        assert network.rate_Gbps < network.headline_rate_Gbps
        assert catalog.cloud(network.key).rate_Gbps == network.rate_Gbps
