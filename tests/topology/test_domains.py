"""nvlink-domain=N: more nodes, or fewer, below the same NVSwitches."""

from __future__ import annotations

from pathlib import Path

import pytest

import wirespeed
from wirespeed.errors import Infeasible, UsageError
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machines import preset_machine, with_domain
from wirespeed.topology.node_builder import unit_of
from wirespeed.topology.presets import preset

EXAMPLE = str(Path(__file__).resolve().parents[2] / "examples/dgx-h100-topo-m.txt")


def test_nine_nodes_below_one_set_of_switches_are_a_rack():
    design = with_domain(preset("dgx-b200"), 72)
    assert (design.nodes_per_unit, design.nvlink_domain) == (9, 72)
    plain, rack = unit_of(preset("dgx-b200")), unit_of(design)
    assert (rack.kind == ComponentKind.GPU).sum() == 72
    switches = [(unit.kind == ComponentKind.NVSWITCH).sum() for unit in (plain, rack)]
    assert switches[0] == switches[1]
    # Every GPU keeps its links: nine nodes have nine times the bandwidth into switches.
    into = [u.bandwidth[u.link_kind == LinkKind.NVLINK].sum() for u in (plain, rack)]
    assert into[1] == pytest.approx(9 * into[0])


def test_the_domain_that_a_machine_has_changes_nothing():
    design = preset("gb200-nvl72")
    assert with_domain(design, 72) is design
    assert with_domain(preset("pcie-8x-rtx4090"), 1).nodes_per_unit == 1


@pytest.mark.parametrize(
    ("name", "gpus", "why"),
    [
        ("dgx-b200", 12, "whole nodes, of 8 GPUs"),
        ("dgx-b200", 4, "whole nodes, of 8 GPUs"),
        ("dgx-b200", 800, "576 GPUs at most"),
        ("dgx-1v", 16, "no NVSwitches join its GPUs"),
        ("pcie-8x-rtx4090", 8, "no NVSwitches join its GPUs: 1 are"),
        ("dgx-gh200", 100, "in groups of"),
    ],
)
def test_a_domain_that_cannot_be_has_its_reason(name: str, gpus: int, why: str):
    with pytest.raises(Infeasible, match="NVLink domain of") as caught:
        with_domain(preset(name), gpus)
    assert why in str(caught.value.why)


def test_in_one_domain_nine_nodes_need_no_network():
    rack = wirespeed.cluster("dgx-b200", changes=["nvlink-domain=72"])
    apart = wirespeed.cluster("dgx-b200", nodes=9)
    (together,) = wirespeed.collective("all_reduce", rack, sizes=[2**30]).rows
    (split,) = wirespeed.collective("all_reduce", apart, sizes=[2**30]).rows
    assert together.ranks == split.ranks == 72
    # A GPU has 900 GB/s of NVLink and 50 of a NIC, of which a node's eight are shared.
    assert together.busbw_GBps > 2 * split.busbw_GBps
    assert "nvswitch" in together.bottleneck
    assert [str(change) for change in rack.changes] == ["nvlink-domain=72"]


def test_a_rack_that_is_partitioned_needs_the_network():
    parts = wirespeed.cluster("gb200-nvl72", nodes=4, changes=["nvlink-domain=8"])
    (row,) = wirespeed.collective("all_reduce", parts, sizes=[2**30]).rows
    whole = wirespeed.cluster("gb200-nvl72", nodes=4)
    (within,) = wirespeed.collective("all_reduce", whole, sizes=[2**30]).rows
    assert row.time_us > 1.2 * within.time_us
    assert "nic" in row.bottleneck


def test_a_machine_without_a_design_says_what_to_do():
    with pytest.raises(
        UsageError, match="nvlink-domain=16 cannot be changed on dgx-b200"
    ) as caught:
        wirespeed.cluster(preset_machine("dgx-b200"), changes=["nvlink-domain=16"])
    assert caught.value.remedy


def test_a_node_that_was_read_is_joined_like_a_preset():
    read = wirespeed.cluster(EXAMPLE, nodes=2, changes=["nvlink-domain=16"])
    assert read.machine.unit.nodes == 2
    assert "nvswitch" in wirespeed.collective("all_reduce", read, sizes=[2**30]).rows[0].bottleneck
