"""What does not fit together in a node's design is found, all of it, with its key."""

from __future__ import annotations

import msgspec
import pytest

from wirespeed.topology.node_checks import problems_of
from wirespeed.topology.node_design import (
    Cpu,
    CpuLink,
    GpuLinks,
    HostLink,
    NicGroup,
    NodeDesign,
    PcieGroup,
    Trunk,
)
from wirespeed.topology.presets import preset, preset_names

SOUND = NodeDesign(
    name="box",
    gpu="a100-sxm-80gb",
    gpus=4,
    nvlink=GpuLinks(style="mesh", every_pair=4),
    cpu=Cpu(sockets=2, numa_nodes=2, link=CpuLink("epyc-milan")),
    pcie=(PcieGroup(gpus=(0, 1), nics=(0,)), PcieGroup(numa=1, gpus=(2, 3), nics=(1,))),
    nics=(NicGroup(model="ConnectX-6", count=2, rate_Gbps=200),),
)
ONE, OTHER = SOUND.pcie


def found(**fields: object) -> list[tuple[str, str]]:
    """(key, what) of the problems of a sound design with other fields."""
    return [(p.key, p.what) for p in problems_of(msgspec.structs.replace(SOUND, **fields))]


def group(base: PcieGroup, **fields: object) -> PcieGroup:
    return msgspec.structs.replace(base, **fields)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_sound(name):
    assert problems_of(preset(name)) == []


def test_the_example_is_sound():
    assert found() == []


def test_an_unknown_gpu():
    assert found(gpu="a1000") == [("gpu", "there is no GPU 'a1000'")]


def test_a_gpu_or_nic_that_does_not_exist():
    groups = (group(ONE, gpus=(0, 1, 9)), group(OTHER, nics=(1, 7)))
    assert found(pcie=groups) == [
        ("pcie[0].gpus", "GPU 9 does not exist (the node has 4)"),
        ("pcie[1].nics", "NIC 7 does not exist (the node has 2)"),
    ]


def test_a_gpu_in_two_groups_or_in_none():
    groups = (group(ONE, gpus=(0, 1, 2)), group(OTHER, gpus=(2,), nics=()))
    assert found(pcie=groups) == [
        ("pcie[0].gpus", "GPU 2 is listed 2 times"),
        ("pcie[1].gpus", "GPU 2 is listed 2 times"),
        ("pcie", "GPU 3 is in no group"),
        ("pcie", "NIC 1 is in no group"),
    ]


def test_a_coherent_link_may_take_the_place_of_a_pcie_group():
    groups = (group(ONE, gpus=()), group(OTHER, gpus=()))
    link = HostLink(kind="c2c", GBps=450, numa=(0, 0, 1, 1))
    assert found(pcie=groups, host_link=link) == []
    assert found(host_link=HostLink(kind="c2c", numa=(0, 0))) == [
        ("host_link.numa", "2 NUMA nodes for 4 GPUs"),
        ("host_link.GBps", "no coherent link of A100 SXM4 80GB is known"),
    ]
    assert found(host_link=HostLink(numa=(0, 0, 1, 1)))[0][0] == "host_link"


def test_a_numa_node_that_does_not_exist():
    assert found(pcie=(ONE, group(OTHER, numa=4))) == [
        ("pcie[1].numa", "NUMA node 4 does not exist (the node has 2)")
    ]


def test_numa_nodes_are_equal_shares_of_sockets_that_are_joined():
    assert found(cpu=Cpu(sockets=2, numa_nodes=3, link=CpuLink("epyc-milan"))) == [
        ("cpu.numa_nodes", "3 NUMA nodes are no equal shares of 2 sockets")
    ]
    unjoined = found(cpu=Cpu(sockets=2, numa_nodes=2))
    assert [key for key, _ in unjoined] == ["cpu.link"]
    unknown = found(cpu=Cpu(sockets=2, numa_nodes=2, link=CpuLink("epyc-milano")))
    assert [key for key, _ in unknown] == ["cpu.link.kind"]
    # The catalog knows QPI, but no rate of it.
    assert [k for k, _ in found(cpu=Cpu(sockets=2, numa_nodes=2, link=CpuLink("qpi")))] == [
        "cpu.link"
    ]


def test_a_host_bridge_has_one_numa_node_and_a_switch_one_bridge():
    shared = (group(ONE, root=1), group(OTHER, root=1))
    assert found(pcie=shared) == [("pcie[1].root", "host bridge 1 is on NUMA node 0 and on 1")]
    cascaded = (group(ONE, upper=2, root=0), group(OTHER, numa=0, upper=2, root=1))
    assert found(pcie=cascaded) == [("pcie[1].root", "upper switch 2 hangs from two host bridges")]


def test_a_mesh_joins_gpus_that_exist_each_pair_once():
    edges = ((0, 1, 4), (1, 0, 4), (2, 2, 1), (3, 5, 1))
    assert found(nvlink=GpuLinks("mesh", edges=edges)) == [
        ("nvlink.edges[1]", "GPU 1 and 0 stand here twice"),
        ("nvlink.edges[2]", "joins GPU 2 with itself"),
        ("nvlink.edges[3]", "GPU 5 does not exist (the node has 4)"),
    ]
    assert found(nvlink=GpuLinks("mesh")) == [("nvlink", "a mesh without links")]
    assert [key for key, _ in found(nvlink=GpuLinks(every_pair=1))] == ["nvlink.every_pair"]


def test_no_gpu_uses_more_links_than_it_has():
    assert found(nvlink=GpuLinks("mesh", every_pair=5))[0] == (
        "nvlink.every_pair",
        "GPU 0: 15 links are used, A100 SXM4 80GB has 12",
    )
    links = GpuLinks("switch", switches=6, links_per_switch=(3,))
    assert found(nvlink=links) == [
        ("nvlink.links_per_switch", "18 links are used, A100 SXM4 80GB has 12")
    ]
    assert found(gpu="l40s") == [("nvlink", "L40S has no links to other GPUs")]


def test_switches_are_counted_and_each_has_its_links():
    assert found(nvlink=GpuLinks("switch", switches=4, links_per_switch=(5, 5))) == [
        ("nvlink.links_per_switch", "2 numbers for 4 switches")
    ]
    assert [key for key, _ in found(nvlink=GpuLinks("switch"))] == ["nvlink.switches"]
    assert [key for key, _ in found(nvlink=GpuLinks(switches=4))] == ["nvlink.switches"]


@pytest.mark.parametrize(
    ("trunk", "key"),
    [
        (Trunk(group=3, links=1), "group"),
        (Trunk(group=2), "links"),
        (Trunk(links=2), "group"),
        (Trunk(group=2, links=1, upper_switches=5), "upper_switches"),
    ],
)
def test_trunks_join_whole_groups(trunk, key):
    links = GpuLinks("switch", switches=2, links_per_switch=(6,), trunk=trunk)
    assert [where for where, _ in found(nvlink=links)] == [f"nvlink.trunk.{key}"]
