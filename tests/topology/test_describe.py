"""A cluster as a report."""

from __future__ import annotations

import pytest

from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import build_cluster
from wirespeed.topology.describe import describe, different_nodes
from wirespeed.topology.fabrics.generic import SINGLE
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.presets import preset_names
from wirespeed.topology.report import TopoReport
from wirespeed.topology.result import ParameterSet, to_json

HASH = ParameterSet("0" * 12)


def report(name: str, *changes: str, nodes: int | None = None, full: bool = False) -> TopoReport:
    edits = [parse_change(change) for change in changes]
    fabric = ("single", SINGLE) if nodes else None
    cluster = build_cluster(preset_machine(name), nodes=nodes, fabric=fabric, changes=edits)
    return describe(cluster, HASH, full=full)


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_can_be_described_and_dumped(name):
    made = report(name)
    assert to_json(made)
    assert len(made.gpus) * made.nodes == made.total_gpus


def test_links_come_in_both_directions():
    links = {(row.source, row.target): row for row in report("hgx-a100-4").links}
    for (source, target), row in links.items():
        back = links[target, source]
        assert (back.kind, back.lanes) == (row.kind, row.lanes)


def test_a_pair_without_nvlink_goes_over_pcie_at_its_narrowest():
    pairs = {(row.source, row.target): row for row in report("pcie-8x-rtx4090").pairs}
    far = pairs["node0/gpu0", "node0/gpu7"]
    assert (far.smi, far.nccl) == ("SYS", "SYS")
    assert 0 < far.bandwidth_GBps < 31.6


def test_a_degraded_link_shows_in_links_and_pairs():
    made = report("hgx-a100-4", "gpu0>gpu1=0.5")
    links = {(row.source, row.target, row.kind): row.bandwidth_GBps for row in made.links}
    assert links["node0/gpu0", "node0/gpu1", "nvlink"] == pytest.approx(50)
    assert links["node0/gpu1", "node0/gpu0", "nvlink"] == pytest.approx(100)
    pairs = {(row.source, row.target): row.bandwidth_GBps for row in made.pairs}
    assert pairs["node0/gpu0", "node0/gpu1"] == pytest.approx(50)


def test_a_nic_that_is_down_is_nobodys_nearest():
    gpus = report("dgx-a100", "nic0=down").gpus
    assert gpus[0].nics == ("node0/nic1",)


def test_equal_nodes_are_one_and_others_stand_apart():
    changes = [parse_change("node3/nic0=down"), parse_change("node5/nic0=down")]
    cluster = build_cluster(
        preset_machine("dgx-a100"), nodes=6, fabric=("single", SINGLE), changes=changes
    )
    assert different_nodes(cluster.topology) == [0, 3]


def test_the_last_rack_may_be_a_part_of_one():
    made = report("gb200-nvl72", nodes=20)
    assert made.nodes == 20
    assert made.total_gpus == 80
    assert made.nvlink_domain == 72
    assert made.fabric is not None
