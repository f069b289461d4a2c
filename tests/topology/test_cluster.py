"""Nodes, racks and parts of racks become one cluster, or an error that says what to do."""

from __future__ import annotations

import numpy as np
import pytest

from wirespeed.collectives.forecast import forecast
from wirespeed.collectives.operation import Collective, Operation
from wirespeed.errors import Infeasible, UsageError
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import MOST_NODES, Cluster, build_cluster, everyone
from wirespeed.topology.fabrics.named import default_fabric, fabric_named
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.machines import preset_machine


def build(name: str, nodes: int | None = None, fabric: str = "", *changes: str) -> Cluster:
    design = (fabric, fabric_named(fabric)) if fabric else None
    edits = [parse_change(text) for text in changes]
    return build_cluster(preset_machine(name), nodes=nodes, fabric=design, changes=edits)


@pytest.mark.parametrize("nodes", [0, -1, MOST_NODES + 1, 10**12])
def test_no_cluster_has_so_many_nodes(nodes):
    with pytest.raises(UsageError, match="a cluster of"):
        build("dgx-h100", nodes)


def test_a_fabric_that_is_too_small_says_the_largest_it_holds():
    with pytest.raises(Infeasible, match="cannot hold 2,049 nodes") as caught:
        build("dgx-h100", 2049, "superpod-h100")
    assert "2,048" in caught.value.why
    assert build("dgx-h100", 2048, "superpod-h100").nodes == 2048


def test_without_a_number_a_preset_is_one_node_or_one_rack():
    assert build("dgx-h100").nodes == 1
    assert build("gb200-nvl72").nodes == 18
    assert len(everyone(build("gb200-nvl72"))) == 72


def test_nodes_count_trays_and_the_last_rack_may_be_partly_filled():
    on = build("gb200-nvl72", 20, "fat-tree")
    topology = on.topology
    assert topology.nodes == 20
    assert len(topology.unit_class) == 2
    assert len(everyone(on)) == 80
    assert np.bincount(topology.node[topology.gpus()]).tolist() == [4] * 20
    switches = topology.of_kind(ComponentKind.NVSWITCH)
    assert np.bincount(topology.unit_of(switches)).tolist() == [18, 18]


def test_less_than_a_rack_keeps_its_switches():
    on = build("gb200-nvl72", 2)
    assert len(everyone(on)) == 8
    assert len(on.topology.of_kind(ComponentKind.NVSWITCH)) == 18
    assert len(on.topology.units) == 1


def test_equal_nodes_share_one_description():
    on = build("dgx-h100", 5, "fat-tree")
    assert len(on.topology.units) == 1
    assert on.topology.unit_class.tolist() == [0] * 5


def test_every_nic_on_a_rail_has_a_cable_and_no_other():
    on = build("dgx-h100", 3, "fat-tree")
    topology = on.topology
    nics = topology.of_kind(ComponentKind.NIC)
    leaves = topology.kind[topology.target] == ComponentKind.LEAF
    cabled = set(topology.source[leaves & np.isin(topology.source, nics)].tolist())
    assert cabled == set(nics[topology.rail[nics] >= 0].tolist())


def test_nodes_without_a_fabric_cannot_talk():
    on = build("dgx-h100", 2)
    with pytest.raises(Infeasible, match="has no network to other nodes"):
        forecast(Collective(Operation.ALL_REDUCE), on, [8])


def test_the_change_of_nodes_wins_over_the_number_given():
    assert build("dgx-h100", 2, "fat-tree", "nodes=3").nodes == 3
    assert build("gb200-nvl72", None, "fat-tree", "nodes=36").nodes == 36


def test_the_default_fabric_is_the_smallest_of_the_platform():
    name, design = default_fabric("dgx-h100", 16)
    assert "h100" in name
    assert default_fabric("pcie-8x-a100", 16)[0] == "fat-tree"
    on = build_cluster(preset_machine("dgx-h100"), nodes=16, fabric=(name, design))
    assert on.fabric == name


@pytest.mark.parametrize("name", ["aws-p3", "azure-nca100-v4", "gcp-a2-highgpu", "gcp-a3-high"])
def test_nodes_that_speak_tcp_join_a_fabric_all_the_same(name):
    machine = preset_machine(name)
    fabric = default_fabric(machine.platform, 2, machine.network)
    on = build_cluster(machine, nodes=2, fabric=fabric)
    assert forecast(Collective(Operation.ALL_REDUCE), on, [2**30]).rows[0].busbw_GBps > 0
    assert on.abilities.socket == (machine.network != "tcpx")


def test_rail_only_is_a_fabric_whose_rails_do_not_meet():
    machine = preset_machine("dgx-h100")
    fabric = "leaf-spine", fabric_named("leaf-spine")
    apart = build_cluster(
        machine, nodes=4, fabric=fabric, changes=[parse_change("routing=rail-only")]
    )
    nics = apart.topology.of_kind(ComponentKind.NIC)
    nics = nics[apart.topology.rail[nics] >= 0]
    wiring = apart.topology.wiring
    assert apart.fabric == "rail-only"
    assert wiring.reachable(nics[:1], nics[8:9]).all()
    assert not wiring.reachable(nics[:1], nics[9:10]).any()
