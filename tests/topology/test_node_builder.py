"""A node's design becomes a graph with wire rates, rails and latencies."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import networkx as nx
import numpy as np
import pytest

from wirespeed.errors import UnknownName
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.node_builder import unit_of
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
from wirespeed.topology.unit import Unit

GPU, CPU, ROOT, PCIE = (
    ComponentKind.GPU,
    ComponentKind.CPU,
    ComponentKind.ROOT,
    ComponentKind.PCIE,
)
NVSWITCH, NIC = ComponentKind.NVSWITCH, ComponentKind.NIC

TWO_BEHIND_A_SWITCH = NodeDesign(
    name="box",
    gpu="a100-pcie-80gb",
    gpus=2,
    cpu=Cpu(model="EPYC 7742", memory_GBps=160),
    pcie=(PcieGroup(gpus=(0, 1), nics=(0,)),),
    nics=(NicGroup(model="ConnectX-6", count=1, rate_Gbps=200),),
)


def graph(unit: Unit, *kinds: LinkKind) -> nx.DiGraph:
    """The unit's links of these kinds, or all, as a graph that networkx reads."""
    result = nx.DiGraph()
    result.add_nodes_from(range(unit.components))
    for k in range(unit.links):
        if not kinds or unit.link_kind[k] in kinds:
            result.add_edge(
                int(unit.source[k]), int(unit.target[k]), latency=unit.latency[k], link=k
            )
    return result


def way(unit: Unit, start: int, end: int, *kinds: LinkKind) -> list[int]:
    """Links of the shortest way over links of these kinds."""
    allowed = graph(unit, *kinds)
    path = nx.shortest_path(allowed, start, end)
    return [allowed.edges[a, b]["link"] for a, b in pairwise(path)]


def kinds_on_the_way(unit: Unit, start: int, end: int, *kinds: LinkKind) -> list[ComponentKind]:
    return [ComponentKind(unit.kind[unit.target[k]]) for k in way(unit, start, end, *kinds)][:-1]


def change(design: NodeDesign, **fields: object) -> NodeDesign:
    return msgspec.structs.replace(design, **fields)


def test_devices_on_one_switch_meet_in_it():
    unit = unit_of(TWO_BEHIND_A_SWITCH)
    one, other = unit.of_kind(GPU)
    assert kinds_on_the_way(unit, one, other) == [PCIE]
    assert kinds_on_the_way(unit, one, unit.of_kind(NIC)[0]) == [PCIE]
    assert kinds_on_the_way(unit, one, unit.of_kind(CPU)[0]) == [PCIE, ROOT]


def test_two_switch_levels_put_a_lower_switch_before_each_device():
    design = change(TWO_BEHIND_A_SWITCH, pcie=(PcieGroup(gpus=(0, 1), nics=(0,), levels=2),))
    unit = unit_of(design)
    assert kinds_on_the_way(unit, *unit.of_kind(GPU)) == [PCIE, PCIE, PCIE]


def test_without_a_switch_devices_of_one_bridge_meet_in_the_bridge():
    design = change(TWO_BEHIND_A_SWITCH, pcie=(PcieGroup(gpus=(0, 1), nics=(0,), levels=0),))
    unit = unit_of(design)
    assert len(unit.of_kind(PCIE)) == 0
    assert kinds_on_the_way(unit, *unit.of_kind(GPU)) == [ROOT]


def test_groups_share_a_host_bridge_only_where_they_name_the_same():
    apart = (PcieGroup(gpus=(0,), nics=(0,)), PcieGroup(gpus=(1,)))
    unit = unit_of(change(TWO_BEHIND_A_SWITCH, pcie=apart))
    assert kinds_on_the_way(unit, *unit.of_kind(GPU)) == [PCIE, ROOT, CPU, ROOT, PCIE]
    shared = tuple(msgspec.structs.replace(group, root=7) for group in apart)
    unit = unit_of(change(TWO_BEHIND_A_SWITCH, pcie=shared))
    assert kinds_on_the_way(unit, *unit.of_kind(GPU)) == [PCIE, ROOT, PCIE]


def test_an_upper_switch_joins_groups_below_one_uplink():
    cascaded = (PcieGroup(gpus=(0,), nics=(0,), upper=0), PcieGroup(gpus=(1,), upper=0))
    unit = unit_of(change(TWO_BEHIND_A_SWITCH, pcie=cascaded))
    assert kinds_on_the_way(unit, *unit.of_kind(GPU)) == [PCIE, PCIE, PCIE]
    into_root = np.isin(unit.target, unit.of_kind(ROOT)) & (unit.link_kind == LinkKind.PCIE)
    assert into_root.sum() == 1


def test_pcie_links_carry_the_wire_rate_of_the_slower_end():
    slow = (PcieGroup(gpus=(0, 1), nics=(0,), generation=5, uplink_generation=3, uplink_lanes=8),)
    unit = unit_of(change(TWO_BEHIND_A_SWITCH, pcie=slow))
    gpu, cpu = unit.of_kind(GPU)[0], unit.of_kind(CPU)[0]
    down, up, inside = unit.bandwidth[way(unit, gpu, cpu)]
    assert down == pytest.approx(31.508e9, rel=1e-4), "an A100 is Gen4 in a Gen5 slot"
    assert up == pytest.approx(7.877e9, rel=1e-4), "eight lanes of Gen3"
    assert inside >= up


def test_a_switch_adds_its_crossing_to_half_a_microsecond_from_device_to_root():
    unit = unit_of(TWO_BEHIND_A_SWITCH)
    to_root = way(unit, unit.of_kind(GPU)[0], unit.of_kind(ROOT)[0])
    assert unit.latency[to_root].sum() == pytest.approx(605e-9)
    direct = change(TWO_BEHIND_A_SWITCH, pcie=(PcieGroup(gpus=(0, 1), nics=(0,), levels=0),))
    unit = unit_of(direct)
    to_root = way(unit, unit.of_kind(GPU)[0], unit.of_kind(ROOT)[0])
    assert unit.latency[to_root].sum() == pytest.approx(500e-9)


def test_an_nvlink_hop_takes_500_ns_and_600_through_an_nvswitch():
    mesh = unit_of(change(TWO_BEHIND_A_SWITCH, nvlink=GpuLinks(style="mesh", every_pair=12)))
    assert mesh.latency[mesh.link_kind == LinkKind.NVLINK] == pytest.approx([500e-9, 500e-9])
    links = GpuLinks(style="switch", switches=1, links_per_switch=(12,), switch_generation=2)
    switched = unit_of(change(TWO_BEHIND_A_SWITCH, nvlink=links))
    one, other = switched.of_kind(GPU)
    assert switched.latency[way(switched, one, other, LinkKind.NVLINK)].sum() == pytest.approx(
        600e-9
    )


def test_sockets_with_four_numa_nodes_share_their_links_out_to_the_counterparts():
    cpu = Cpu(sockets=2, numa_nodes=8, link=CpuLink(kind="epyc-rome", links=4), memory_GBps=160)
    unit = unit_of(change(TWO_BEHIND_A_SWITCH, cpu=cpu))
    crossing = (unit.link_kind == LinkKind.CPU) & (unit.numa[unit.source] // 4 == 0)
    crossing &= unit.numa[unit.target] // 4 == 1
    assert unit.bandwidth[crossing].tolist() == [32e9] * 4
    assert (unit.numa[unit.target[crossing]] - unit.numa[unit.source[crossing]] == 4).all()
    assert unit.throughput[unit.of_kind(CPU)].tolist() == [40e9] * 8


def test_a_host_bridge_moves_what_its_ports_move_between_peers_both_ways():
    cpu = Cpu(memory_GBps=160, root_p2p_GBps=20)
    direct = (PcieGroup(gpus=(0, 1), levels=0), PcieGroup(nics=(0,), levels=0))
    unit = unit_of(change(TWO_BEHIND_A_SWITCH, cpu=cpu, pcie=direct))
    assert unit.throughput[unit.of_kind(ROOT)].tolist() == [80e9, 40e9]
    assert np.isinf(unit_of(TWO_BEHIND_A_SWITCH).throughput[unit.of_kind(GPU)]).all()


def test_only_compute_nics_are_on_rails():
    nics = (
        NicGroup(model="ConnectX-6", count=1, rate_Gbps=100, role="frontend"),
        NicGroup(model="ConnectX-6", count=2, rate_Gbps=200),
    )
    groups = (PcieGroup(gpus=(0, 1), nics=(0, 1, 2)),)
    unit = unit_of(change(TWO_BEHIND_A_SWITCH, nics=nics, pcie=groups))
    ids = unit.of_kind(NIC)
    assert unit.rail[ids].tolist() == [-1, 0, 1]
    assert unit.rate[ids].tolist() == [12.5e9, 25e9, 25e9]
    assert (unit.rail[unit.of_kind(GPU)] == -1).all()


def test_a_coherent_link_takes_the_place_of_pcie():
    design = NodeDesign(
        name="superchip", gpu="gh200", gpus=1, host_link=HostLink(kind="c2c", numa=(0,))
    )
    unit = unit_of(design)
    assert unit.numa[unit.of_kind(GPU)].tolist() == [0]
    assert unit.bandwidth[unit.link_kind == LinkKind.C2C].tolist() == [450e9, 450e9]


def test_groups_of_switches_join_by_trunks_or_through_upper_switches():
    links = GpuLinks(
        style="switch", switches=2, links_per_switch=(6,), switch_generation=2, trunk=Trunk(1, 3)
    )
    across = unit_of(change(TWO_BEHIND_A_SWITCH, nvlink=links))
    assert kinds_on_the_way(across, *across.of_kind(GPU), LinkKind.NVLINK) == [NVSWITCH, NVSWITCH]
    above = msgspec.structs.replace(links, trunk=Trunk(1, 3, upper_switches=4))
    unit = unit_of(change(TWO_BEHIND_A_SWITCH, nvlink=above))
    assert len(unit.of_kind(NVSWITCH)) == 2 * 2 + 4
    assert len(way(unit, *unit.of_kind(GPU), LinkKind.NVLINK)) == 4


def test_a_rack_owns_its_switches_and_repeats_its_nodes():
    links = GpuLinks(style="switch", switches=3, links_per_switch=(4,), switch_generation=2)
    rack = unit_of(change(TWO_BEHIND_A_SWITCH, nvlink=links, nodes_per_unit=3))
    assert rack.nodes == 3
    assert rack.node[rack.of_kind(GPU)].tolist() == [0, 0, 1, 1, 2, 2]
    assert rack.index[rack.of_kind(GPU)].tolist() == [0, 1] * 3
    assert rack.node[rack.of_kind(NVSWITCH)].tolist() == [-1] * 3
    assert rack.rail[rack.of_kind(NIC)].tolist() == [0, 0, 0]


def test_the_order_of_groups_and_edges_in_a_design_does_not_matter():
    groups = (PcieGroup(gpus=(0,), nics=(0,)), PcieGroup(gpus=(1,)))
    edges = ((0, 1, 8),)
    one = unit_of(change(TWO_BEHIND_A_SWITCH, pcie=groups, nvlink=GpuLinks("mesh", edges=edges)))
    other = unit_of(
        change(TWO_BEHIND_A_SWITCH, pcie=groups[::-1], nvlink=GpuLinks("mesh", edges=((1, 0, 8),)))
    )
    for column in ("kind", "index", "numa", "source", "target", "bandwidth", "latency"):
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))


def test_a_gpu_that_the_catalog_lacks_is_named():
    with pytest.raises(UnknownName, match="H9000"):
        unit_of(change(TWO_BEHIND_A_SWITCH, gpu="H9000"))
