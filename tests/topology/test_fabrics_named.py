from __future__ import annotations

import tomllib

import numpy as np
import pytest

from fabric_cases import bare_ports, cluster
from support import shared
from wirespeed.errors import Infeasible, Problems, UnknownName
from wirespeed.topology.fabrics.clos import ClosDesign
from wirespeed.topology.fabrics.dragonfly import DragonflyDesign
from wirespeed.topology.fabrics.latency import Network
from wirespeed.topology.fabrics.named import (
    default_fabric,
    fabric_named,
    fabric_names,
    fabric_rows,
)
from wirespeed.topology.fabrics.table import KINDS, fabric_from_table
from wirespeed.topology.kinds import ComponentKind

pytestmark = pytest.mark.fast


def counts(name, nodes, rails=8):
    """Leaves, spines and cores, and cables by tier, of a design laid for so many nodes."""
    ports = bare_ports(nodes, rails)
    first = nodes * rails
    laid = fabric_named(name).lay(ports, first_switch=first, first_link=0)
    switches = np.bincount(laid.kind, minlength=9)[ComponentKind.LEAF :]
    tier = np.concatenate([np.full(first, ComponentKind.NIC), laid.kind])[laid.source]
    cables = [np.count_nonzero(tier == kind) for kind in (5, 6, 7)]
    return switches.tolist(), cables


@pytest.mark.parametrize(
    ("nodes", "switches"),
    [
        (20, [8, 4, 0]),
        (40, [16, 10, 0]),
        (80, [32, 20, 0]),
        (120, [48, 80, 24]),
        (140, [56, 80, 28]),
    ],
)
def test_superpod_a100_has_the_switches_of_its_table(nodes, switches):
    assert counts("superpod-a100", nodes)[0] == switches


@pytest.mark.parametrize(
    ("nodes", "switches", "cables"),
    [
        (64, [16, 8, 0], [512, 512, 0]),
        (128, [32, 16, 0], [1024, 1024, 0]),
        (256, [64, 32, 0], [2048, 2048, 0]),
        (512, [128, 128, 64], [4096, 4096, 4096]),
        (1024, [256, 256, 128], [8192, 8192, 8192]),
        (2048, [512, 512, 256], [16384, 16384, 16384]),
    ],
)
def test_superpod_h100_has_the_switches_and_cables_of_its_table(nodes, switches, cables):
    assert counts("superpod-h100", nodes) == (switches, cables)


@pytest.mark.parametrize(
    ("nodes", "switches", "cables"),
    [
        (72, [8, 4, 0], [576, 576, 0]),
        (144, [16, 8, 0], [1152, 1152, 0]),
        (288, [32, 18, 0], [2304, 2304, 0]),
        (576, [64, 36, 0], [4608, 4608, 0]),
        (1296, [144, 72, 0], [10368, 10368, 0]),
    ],
)
def test_superpod_b300_has_the_switches_and_cables_of_its_table(nodes, switches, cables):
    assert counts("superpod-b300", nodes) == (switches, cables)


@pytest.mark.parametrize(("units", "leaf", "spine"), [(1, 16, 8), (2, 32, 16), (16, 256, 128)])
def test_the_two_planes_of_spectrum_x_have_the_switches_of_their_table(units, leaf, spine):
    switches, cables = counts("superpod-b300-spectrum", 64 * units)
    assert switches == [leaf, spine, 0]
    # An 800G cage holds two of the 400G links.
    assert [cable // 2 for cable in cables] == [512 * units, 512 * units, 0]


@pytest.mark.corpus
def test_all_rows_of_the_facts_are_reproduced():
    facts = tomllib.loads(shared("facts", "fabrics.toml").read_text(encoding="utf-8"))
    table = {row["name"]: row.get("table", []) for row in facts["fabric"]}
    for nodes, _, *switches in table["DGX SuperPOD A100 (HDR)"]:
        assert counts("superpod-a100", nodes)[0] == switches
    for _, nodes, _, *rest in table["DGX SuperPOD H100 / H200 / B200 (NDR)"]:
        assert counts("superpod-h100", nodes) == (rest[:3], rest[3:])
    for _, nodes, _, leaf, spine, *cables in table["DGX SuperPOD B300 (XDR, Quantum-X800)"]:
        assert counts("superpod-b300", nodes) == ([leaf, spine, 0], [*cables, 0])
    for row in table["DGX SuperPOD B300 (Spectrum-X / 800G ports split to 400)"]:
        _, nodes, _, leaf, spine, *cables = row
        switches, laid = counts("superpod-b300-spectrum", nodes)
        assert switches == [leaf, spine, 0]
        assert laid == [2 * cable for cable in cables] + [0]


def test_a_smaller_cluster_is_a_part_of_the_next_published_size():
    assert counts("superpod-h100", 16) == ([8, 8, 0], [128, 256, 0])
    assert counts("superpod-h100", 300)[0] == [80, 128, 64]


@pytest.mark.parametrize("name", fabric_names())
def test_every_named_fabric_carries_messages_between_two_nodes(name):
    rails = 4 if name in ("superpod-gb200", "azure-gb300", "frontier", "perlmutter") else 8
    topology = cluster(fabric_named(name), 2, rails)
    nics = topology.of_kind(ComponentKind.NIC)
    assert topology.wiring.name == name
    assert len(topology.wiring.paths(nics[0], nics[rails]).of(0)[0]) >= 2


@pytest.mark.parametrize("row", fabric_rows(), ids=lambda row: row.key)
def test_every_reference_design_has_a_source_and_only_published_ports(row):
    assert row.source.startswith("http")
    design = row.built()
    assert isinstance(design, ClosDesign | DragonflyDesign)
    for alias in row.names:
        assert fabric_named(alias) == design


@pytest.mark.parametrize(
    ("name", "nodes", "rails"),
    [
        ("meta-24k", 3072, 8),
        ("alibaba-hpn", 1920, 8),
        ("megascale", 1250, 8),
        ("azure-eagle", 1800, 8),
        ("azure-gb300", 1152, 4),
        ("fire-flyer-2", 800, 1),
        ("frontier", 9408, 4),
        ("perlmutter", 1536, 4),
        ("oci-mi355x", 16384, 8),
        ("superpod-gb200", 2304, 4),
    ],
)
def test_a_reference_design_holds_what_was_built(name, nodes, rails):
    counts(name, nodes, rails)


def test_metas_pods_have_the_published_ratios():
    ports = bare_ports(3072)
    wiring = fabric_named("meta-24k").lay(ports, first_switch=24576, first_link=0).wiring
    shape = wiring.shape
    assert (shape.per_leaf, shape.leaves, len(wiring.tree)) == (16, 192, 8)
    assert shape.per_leaf / shape.uplinks == 0.5
    assert shape.leaves * shape.trunk / shape.spine_uplinks == pytest.approx(7, rel=0.02)


def test_hpn_has_sixteen_leaves_a_segment_in_two_planes():
    switches, _ = counts("alibaba-hpn", 1920)
    assert switches == [15 * 16, 2 * 60, 0]
    wiring = (
        fabric_named("alibaba-hpn")
        .lay(bare_ports(3840), first_switch=3840 * 8, first_link=0)
        .wiring
    )
    assert wiring.shape.leaves * wiring.shape.trunk / wiring.shape.spine_uplinks == 15


def test_frontiers_groups_inject_1753_times_what_leaves_them():
    wiring = (
        fabric_named("frontier")
        .lay(bare_ports(9408, 4), first_switch=9408 * 4, first_link=0)
        .wiring
    )
    assert wiring.groups == 74
    assert 32 * 16 / (wiring.pair_links * 73) == pytest.approx(1.753, abs=1e-3)


@pytest.mark.parametrize(
    ("platform", "nodes", "name"),
    [
        ("dgx-a100", 1, "superpod-a100"),
        ("dgx-a100", 140, "superpod-a100"),
        ("dgx-a100", 141, "fat-tree"),
        ("dgx-h100", 16, "superpod-h100"),
        ("dgx-h200", 2048, "superpod-h100"),
        ("dgx-b200", 2049, "fat-tree"),
        ("dgx-b300", 1296, "superpod-b300"),
        ("gb200-nvl72", 36, "superpod-gb200"),
        ("gb300-nvl72", 36, "fat-tree"),
        ("mi300x-8", 4, "fat-tree"),
        ("dgx-1v", 4, "fat-tree"),
        ("anything", 4, "fat-tree"),
    ],
)
def test_a_platform_takes_its_own_superpod_while_it_holds_the_nodes(platform, nodes, name):
    found, design = default_fabric(platform, nodes)
    assert found == name
    rails = 4 if platform.endswith("nvl72") else 8
    laid = design.lay(bare_ports(nodes, rails), first_switch=nodes * rails, first_link=0)
    assert laid.wiring.name == name


def test_the_default_fat_tree_speaks_what_the_machine_speaks():
    assert default_fabric("mi300x-8", 4, "ethernet")[1].network is Network.ETHERNET
    assert default_fabric("aws-p5", 4, "efa")[1].network is Network.ETHERNET
    assert default_fabric("dgx-1v", 4)[1].network is Network.INFINIBAND
    assert fabric_named("dragonfly").network is Network.SLINGSHOT


@pytest.mark.parametrize("row", fabric_rows(), ids=lambda row: row.key)
def test_the_platforms_of_a_reference_design_are_names_of_nodes(row):
    for platform in row.platforms:
        assert default_fabric(platform, 1)[0] == row.key
        assert max(row.built().sizes) > 1


def test_a_reference_design_with_more_nics_a_node_holds_fewer_nodes():
    assert counts("fire-flyer-2", 20, rails=8)[0] == [10, 5, 0]
    with pytest.raises(Infeasible, match="80 nodes of 8 NICs"):
        counts("fire-flyer-2", 81, rails=8)


def test_ports_stated_for_a_leaf_are_never_exceeded():
    table = {"kind": "leaf-spine", "leaf_ports": [8, 8], "nodes_per_leaf": 3}
    with pytest.raises(Infeasible, match="cannot hold"):
        cluster(fabric_from_table(table, "f.toml"), 4, 4)


def test_too_many_nodes_for_a_design_are_refused_with_the_largest_number():
    with pytest.raises(Infeasible, match="2,048 nodes of 8 NICs"):
        counts("superpod-h100", 2049)


def test_an_unknown_fabric_is_answered_with_near_names():
    with pytest.raises(UnknownName, match="superpod-h100"):
        fabric_named("superpodh100")


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_with_only_a_kind_is_that_kind(kind):
    assert fabric_from_table({"kind": kind}, "f.toml") == fabric_named(kind)


def test_a_table_sets_what_a_user_may_know():
    design = fabric_from_table(
        {
            "kind": "rail-optimised",
            "name": "ours",
            "radix": [40, 64],
            "oversubscription": [3, 1],
            "nodes_per_leaf": 18,
            "network": "ethernet",
            "switch_latency_ns": 800,
        },
        "f.toml",
    )
    assert isinstance(design, ClosDesign)
    topology = cluster(design, 36, 4)
    assert topology.wiring.name == "ours"
    assert topology.wiring.shape.per_leaf == 18
    assert topology.wiring.shape.uplinks == 6
    assert topology.wiring.leaves == 8


def test_every_error_of_a_table_is_reported_at_once_with_its_key():
    with pytest.raises(Problems) as raised:
        fabric_from_table(
            {
                "kind": "leaf-spine",
                "radix": 1,
                "oversubscription": [1, "two"],
                "planes": True,
                "railz": 4,
                "leaf_ports": [3],
                "network": "token-ring",
            },
            "cluster.toml: fabric",
        )
    wheres = [problem.where for problem in raised.value.problems]
    keys = ["radix", "oversubscription", "planes", "railz", "leaf_ports", "network"]
    assert wheres == [f"cluster.toml: fabric.{key}" for key in keys]


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"kind": "torus"}, "kind"),
        ({"kind": 3}, "kind"),
        ({"kind": "leaf-spine", "uplink_speed": 2}, "uplink_speed"),
        ({"kind": "leaf-spine", "leaf_ports": [4, 4], "oversubscription": 1}, "oversubscription"),
        ({"kind": "rail-optimised", "tiers": 1}, "tiers"),
        ({"kind": "dragonfly", "groups": 4000}, "groups"),
        ({"kind": "dragonfly", "radix": 64}, "radix"),
        ({"kind": "leaf-spine", "sizes": [4, 2]}, "sizes"),
        ({"kind": "leaf-spine", "sizes": 4}, "sizes"),
        ({"kind": "leaf-spine", "name": " "}, "name"),
        ({"kind": "leaf-spine", "latency_ns": float("nan")}, "latency_ns"),
    ],
)
def test_what_contradicts_itself_is_refused(table, key):
    with pytest.raises(Problems) as raised:
        fabric_from_table(table, "f.toml")
    assert raised.value.problems[0].where == f"f.toml.{key}"
