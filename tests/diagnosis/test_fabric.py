"""Fabrics as two tools print them: what is miswired is found, what is well is left in peace."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fabric_text as ft
from support import shared
from wirespeed.diagnosis.fabric import fabric_findings
from wirespeed.evidence import Finding
from wirespeed.inventory.fabric_graph import fabric_graph
from wirespeed.readers import read_text

PODS = ft.rails(pods=2, hosts=4, rails=4, spines=4, trunk=1)


def findings(fabric: ft.Fabric) -> tuple[Finding, ...]:
    return fabric_findings([read_text(ft.ibnetdiscover(fabric), file="fabric.txt")])


def bad(found: tuple[Finding, ...]) -> list[Finding]:
    return [finding for finding in found if finding.severity in ("warning", "error")]


def test_a_fabric_with_rails_is_as_expected() -> None:
    (found,) = findings(PODS)
    assert found.code == "fabric_as_expected"
    assert "8 hosts with 32 adapters; 8 leaves; 4 switches above them" in found.cause
    assert "4 rails" in found.cause
    assert "1600 Gb/s up from a leaf" in found.cause


def test_both_tools_show_the_same_graph() -> None:
    graphs = [
        fabric_graph([read_text(tool(PODS), file="fabric.txt")])
        for tool in (ft.ibnetdiscover, ft.iblinkinfo)
    ]
    ends = [
        {frozenset({(c.a, c.a_port), (c.b, c.b_port)}) for c in graph.cables} for graph in graphs
    ]
    assert ends[0] == ends[1]
    assert len(ends[0]) == len(PODS.cables)
    assert {c.rate for c in graphs[1].cables} == {400.0}
    assert graphs[0].level == graphs[1].level


def test_swapped_cables_of_two_hosts_are_told_as_one() -> None:
    fabric = PODS.swapped(("node-001 mlx5_0", 1), ("node-002 mlx5_3", 1))
    (found,) = bad(findings(fabric))
    assert found.code == "rail_miswired"
    assert "node-001 mlx5_0 and node-002 mlx5_3 are swapped" in found.cause
    assert len(found.evidence) == 2
    assert "swap" in found.remedy


def test_a_cable_in_the_wrong_leaf_names_the_right_one() -> None:
    cables = {**PODS.cables, ("node-001 mlx5_0", 1): ("leaf-0-2", 40, "4xNDR")}
    (found,) = bad(findings(ft.Fabric(PODS.switches, PODS.adapters, cables)))
    assert found.code == "rail_miswired"
    assert "leaf-0-2" in found.cause
    assert "leaf-0-0" in found.remedy


def test_a_narrow_link_is_an_error_and_shows_its_line() -> None:
    fabric = PODS.slower(("node-003 mlx5_1", 1), "1xNDR")
    text = ft.ibnetdiscover(fabric)
    lines = {"fabric.txt": text.split("\n")}
    (found,) = bad(fabric_findings([read_text(text, file="fabric.txt")], lines))
    assert (found.code, found.severity) == ("link_degraded", "error")
    assert "1xNDR" in found.evidence[0].text
    assert "node-003 mlx5_1" in found.cause


def test_an_uplink_at_half_rate_is_found() -> None:
    (found,) = bad(findings(PODS.slower(("leaf-1-2", 6), "4xHDR")))
    assert found.code == "link_degraded"
    assert "leaf-1-2" in found.cause


def test_a_host_without_one_of_its_adapters() -> None:
    (found,) = bad(findings(PODS.without(("node-005 mlx5_2", 1))))
    assert found.code == "cable_missing"
    assert "node-005 has 3 ports" in found.cause
    assert "mlx5_2" in found.cause


def test_a_missing_uplink_names_leaf_and_spine() -> None:
    fabric = ft.rails(pods=2, hosts=4, rails=4, spines=2, trunk=2)
    (found,) = bad(findings(fabric.without(("leaf-0-1", 7))))
    assert found.code == "cable_missing"
    assert "leaf-0-1" in found.cause
    assert "spine-1" in found.cause
    assert "1 cables" in found.cause


def test_half_of_the_uplinks_is_told_as_arithmetic_and_no_fault() -> None:
    fabric = ft.rails(pods=2, hosts=8, rails=4, spines=4, trunk=1)
    found = findings(fabric)
    assert not bad(found)
    (told,) = [finding for finding in found if finding.code == "oversubscribed"]
    assert "3200 Gb/s down and 1600 up, 2:1" in told.cause


def test_older_adapters_in_a_third_of_the_hosts_are_no_bad_cables() -> None:
    fabric = ft.rails(pods=1, hosts=9, rails=2, spines=2, trunk=5)
    for host in range(3):
        for rail in range(2):
            fabric = fabric.slower((f"node-{host:03d} mlx5_{rail}", 1), "4xHDR")
    found = findings(fabric)
    assert not bad(found)
    assert "link_rates_mixed" in {finding.code for finding in found}


def test_hosts_that_hang_from_one_leaf_each_have_no_rails() -> None:
    cables = {
        (f"node-{host} mlx5_{k}", 1): (f"leaf-{host // 4}", 2 * (host % 4) + k + 1, "4xHDR")
        for host in range(8)
        for k in range(2)
    }
    cables |= {
        (f"leaf-{leaf}", 10 + k): ("spine-0", 8 * leaf + k + 1, "4xHDR")
        for leaf in range(2)
        for k in range(8)
    }
    adapters = tuple(node for node, _ in cables if node.startswith("node"))
    fabric = ft.Fabric(("leaf-0", "leaf-1", "spine-0"), adapters, cables)
    (found,) = findings(fabric)
    assert "all adapters of a host on one leaf" in found.cause
    moved = fabric.swapped(("node-1 mlx5_0", 1), ("node-6 mlx5_0", 1))
    torn = bad(findings(moved))
    assert [finding.code for finding in torn] == ["rail_miswired"] * 2
    assert [finding.cause.split()[0] for finding in torn] == ["node-1", "node-6"]


def test_a_leaf_with_fewer_uplinks_where_leaves_differ_in_their_spines() -> None:
    cables = {
        (f"node-{leaf}-{k} mlx5_0", 1): (f"leaf-{leaf}", k + 1, "4xHDR")
        for leaf in range(6)
        for k in range(4)
    }
    for leaf in range(6):
        for k in range(4 if leaf else 3):
            cables[f"leaf-{leaf}", 10 + k] = (f"spine-{leaf}-{k}", 1, "4xHDR")
    nodes = dict.fromkeys(end[0] for end in cables)
    switches = dict.fromkeys(far for far, _, _ in cables.values())
    adapters = tuple(node for node in nodes if node.startswith("node"))
    (found,) = bad(findings(ft.Fabric(tuple(switches), adapters, cables)))
    assert found.code == "uplinks_unequal"
    assert "leaf-0" in found.cause
    assert "3 cables upwards (600 Gb/s)" in found.cause


def test_what_both_ends_could_do_is_better_than_any_comparison() -> None:
    fabric = PODS
    end = ("node-000 mlx5_0", 1)
    text = ft.iblinkinfo(fabric.slower(end, "4xHDR"), could_be={end: "106.25 Gbps"})
    found = bad(fabric_findings([read_text(text, file="links.txt")]))
    (slow,) = [finding for finding in found if finding.code == "link_degraded"]
    assert slow.confidence > 0.9
    assert "could do 106.25 Gbps" in slow.cause


def test_a_port_that_is_down_is_shown_by_iblinkinfo() -> None:
    text = ft.iblinkinfo(PODS.without(("node-005 mlx5_2", 1)))
    found = {finding.code for finding in bad(fabric_findings([read_text(text, file="l.txt")]))}
    assert "cable_missing" in found


def test_other_files_show_no_fabric() -> None:
    listing = read_text("GPU 0: NVIDIA L4 (UUID: GPU-0)\n", file="list.txt")
    assert fabric_findings([listing]) == ()


SHAPES = st.builds(
    dict,
    pods=st.integers(1, 3),
    hosts=st.integers(3, 6),
    rails=st.sampled_from([1, 2, 4, 8]),
    spines=st.integers(2, 4),
    trunk=st.integers(1, 3),
    link=st.sampled_from(["4xEDR", "4xHDR", "2xNDR", "4xNDR"]),
)


@settings(max_examples=25, deadline=None)
@given(SHAPES)
def test_no_fabric_that_is_wired_alike_everywhere_is_blamed(shape: dict[str, int]) -> None:
    fabric = ft.rails(**shape)  # type: ignore[arg-type]
    found = findings(fabric)
    assert not bad(found)
    assert found[0].code == "fabric_as_expected"


@settings(max_examples=25, deadline=None)
@given(SHAPES, st.data())
def test_one_slow_cable_is_the_only_finding(shape: dict[str, int], data: st.DataObject) -> None:
    fabric = ft.rails(**shape)  # type: ignore[arg-type]
    hosts = [end for end in fabric.cables if end[0].startswith("node")]
    end = data.draw(st.sampled_from(hosts))
    found = bad(findings(fabric.slower(end, "1xEDR")))
    assert [finding.code for finding in found] == ["link_degraded"]
    assert end[0] in found[0].cause


@settings(max_examples=25, deadline=None)
@given(SHAPES, st.data())
def test_swapped_rails_are_the_only_finding(shape: dict[str, int], data: st.DataObject) -> None:
    fabric = ft.rails(**{**shape, "rails": 4, "hosts": 6})  # type: ignore[arg-type]
    pod = data.draw(st.integers(0, shape["pods"] - 1))
    a, b = data.draw(st.lists(st.integers(0, 5), min_size=2, max_size=2))
    one, other = data.draw(st.lists(st.integers(0, 3), min_size=2, max_size=2, unique=True))
    ends = [(f"node-{pod * 6 + host:03d} mlx5_{rail}", 1) for host, rail in ((a, one), (b, other))]
    found = bad(findings(fabric.swapped(ends[0], ends[1])))
    assert [finding.code for finding in found] == ["rail_miswired"]
    assert "swapped" in found[0].cause


@pytest.mark.corpus
def test_published_fabrics_are_as_they_should_be() -> None:
    folder = shared("samples", "ibnetdiscover")
    for path in sorted(folder.iterdir()):
        evidence = read_text(path.read_bytes(), file=path.name)
        assert not bad(fabric_findings([evidence])), path.name


@pytest.mark.corpus
def test_hosts_of_a_published_tree_are_2_4_or_6_cables_apart() -> None:
    path = shared("samples", "ibnetdiscover", "03-superbench-faked.txt")
    graph = fabric_graph([read_text(path.read_bytes(), file=path.name)])
    a, *others = graph.adapters
    assert {graph.hops(a, b) for b in others} == {2, 4, 6}
    assert graph.hops(a, "ca 0x0") is None
