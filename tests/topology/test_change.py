"""A change reads the same wherever it is written, and does what rebuilding the machine would."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.errors import Infeasible, UnknownName, UsageError
from wirespeed.topology.change import (
    CAPABILITIES,
    COUNTS,
    FACTORS,
    NETS,
    ROUTINGS,
    Change,
    ChangeKind,
    parse_change,
    render,
)
from wirespeed.topology.cluster import Cluster, build_cluster, everyone
from wirespeed.topology.fabrics.named import fabric_named
from wirespeed.topology.fabrics.wiring import Routing
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machine import Machine
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.unit import Unit
from wirespeed.topology.ways import Way

RESOURCE, MACHINE = ChangeKind.RESOURCE, ChangeKind.MACHINE


def build(name: str, *changes: str, nodes: int | None = None, fabric: str = "") -> Cluster:
    design = (fabric, fabric_named(fabric)) if fabric else None
    edits = [parse_change(text) for text in changes]
    return build_cluster(preset_machine(name), nodes=nodes, fabric=design, changes=edits)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("node1/nic3=down", Change(RESOURCE, "node1/nic3", 0.0)),
        ("nic3=0.5", Change(RESOURCE, "nic3", 0.5)),
        ("leaf0>spine2=0.5", Change(RESOURCE, "leaf0>spine2", 0.5)),
        ("node0/gpu0-node0/nvswitch1=down", Change(RESOURCE, "node0/gpu0-node0/nvswitch1", 0.0)),
        ("*/gpu7=0.25", Change(RESOURCE, "*/gpu7", 0.25)),
        ("gpu0=1", Change(RESOURCE, "gpu0", 1.0)),
        ("node1/gpu3:compute=0.8", Change(ChangeKind.COMPUTE, "node1/gpu3", 0.8)),
        ("nics=4", Change(MACHINE, "nics", 4.0)),
        ("nic=800G", Change(MACHINE, "nic", 800.0)),
        ("nvlink=2x", Change(MACHINE, "nvlink", 2.0)),
        ("hbm=2x", Change(MACHINE, "hbm", 2.0)),
        ("memory=1.5x", Change(MACHINE, "memory", 1.5)),
        ("gemm=1.2x", Change(MACHINE, "gemm", 1.2)),
        ("nvlink-domain=72", Change(MACHINE, "nvlink-domain", 72.0)),
        ("nodes=32", Change(MACHINE, "nodes", 32.0)),
        ("gdr=off", Change(ChangeKind.CAPABILITY, "gdr", False)),
        ("p2p=off", Change(ChangeKind.CAPABILITY, "p2p", False)),
        ("nvls=off", Change(ChangeKind.CAPABILITY, "nvls", False)),
        ("sharp=off", Change(ChangeKind.CAPABILITY, "sharp", False)),
        ("pxn=off", Change(ChangeKind.CAPABILITY, "pxn", False)),
        ("cross-nic=off", Change(ChangeKind.CAPABILITY, "cross-nic", False)),
        ("acs=on", Change(ChangeKind.CAPABILITY, "acs", True)),
        ("net=socket", Change(ChangeKind.CAPABILITY, "net", "socket")),
        ("routing=ecmp", Change(ChangeKind.ROUTING, "routing", "ecmp")),
        ("routing=spray", Change(ChangeKind.ROUTING, "routing", "spray")),
        ("routing=rail-only", Change(ChangeKind.ROUTING, "routing", "rail-only")),
        ("proto=LL", Change(ChangeKind.SETTING, "proto", "LL")),
        ("algo=Ring", Change(ChangeKind.SETTING, "algo", "Ring")),
        ("channels=8", Change(ChangeKind.SETTING, "channels", 8.0)),
        ("env:NCCL_X=Y", Change(ChangeKind.ENV, "NCCL_X", "Y")),
        ("env:NCCL_HCA=^mlx5_0:1,mlx5_1", Change(ChangeKind.ENV, "NCCL_HCA", "^mlx5_0:1,mlx5_1")),
        ("env:NCCL_ALGO=ring=1", Change(ChangeKind.ENV, "NCCL_ALGO", "ring=1")),
        ("env:EMPTY=", Change(ChangeKind.ENV, "EMPTY", "")),
        (" nic3 = down ", Change(RESOURCE, "nic3", 0.0)),
    ],
)
def test_each_form_of_the_contract_is_understood(text, change):
    assert parse_change(text) == change
    assert parse_change(render(change)) == change
    assert str(change) == render(change)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=",
        "nic3",
        "nic3=",
        "=down",
        "nic3=0",
        "nic3=-1",
        "nic3=1.5",
        "nic3=nan",
        "nic3=inf",
        "nic3=half",
        "gpu3:compute=down",
        "gpu3:memory=0.5",
        "spaceship=down",
        "nics=0",
        "nics=two",
        "nics=1.5",
        "nodes=0",
        "nodes=-3",
        f"channels={'9' * 400}",
        f"nic={'9' * 400}G",
        f"nvlink={'9' * 400}x",
        "nic=800",
        "nic=0G",
        "nvlink=2",
        "nvlink=0x",
        "gdr=no",
        "net=carrier-pigeon",
        "routing=luck",
        "env:=Y",
        "env:NCCL_X",
    ],
)
def test_what_is_no_change_gets_one_message(text):
    with pytest.raises(UsageError) as caught:
        parse_change(text)
    assert "is not a change" in str(caught.value)
    assert caught.value.remedy


shares = st.floats(1e-12, 1, allow_nan=False)
factors = st.floats(1e-6, 1e6)
counts = st.integers(1, 10**6).map(float)
components = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "node3/", "*/", "rack1/"]),
    st.sampled_from([kind.word for kind in ComponentKind]),
    st.integers(0, 10**6),
)
addresses = components | st.builds(
    "{}{}{}".format, components, st.sampled_from([">", "-"]), components
)
names = st.from_regex(r"[A-Z][A-Z0-9_]{0,20}", fullmatch=True)
values = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20)
CHANGES = st.one_of(
    st.builds(Change, st.just(RESOURCE), addresses, st.just(0.0) | shares),
    st.builds(Change, st.just(ChangeKind.COMPUTE), components, shares),
    st.builds(Change, st.just(MACHINE), st.sampled_from(COUNTS), counts),
    st.builds(Change, st.just(MACHINE), st.sampled_from([*FACTORS, "nic"]), factors),
    st.builds(Change, st.just(ChangeKind.CAPABILITY), st.sampled_from(CAPABILITIES), st.booleans()),
    st.builds(Change, st.just(ChangeKind.CAPABILITY), st.just("net"), st.sampled_from(NETS)),
    st.builds(Change, st.just(ChangeKind.ROUTING), st.just("routing"), st.sampled_from(ROUTINGS)),
    st.builds(Change, st.just(ChangeKind.SETTING), st.sampled_from(["algo", "proto"]), names),
    st.builds(Change, st.just(ChangeKind.SETTING), st.just("channels"), counts),
    st.builds(Change, st.just(ChangeKind.ENV), names, values),
)


@given(CHANGES)
def test_what_is_written_is_read_back_as_the_same_change(change):
    assert parse_change(render(change)) == change


@given(st.text(max_size=30) | st.builds("{}={}".format, addresses, st.text(max_size=8)))
def test_any_text_is_a_change_or_an_error_for_people(text):
    with suppress(UsageError):
        change = parse_change(text)
        assert parse_change(render(change)) == change


# A change is an overlay: the same as the machine built with that rate.


def rebuilt(name: str, chosen: np.ndarray, factor: float) -> Machine:
    """A preset whose links in a unit are built at a share of their rate."""
    machine = preset_machine(name)
    unit = machine.unit
    bandwidth = np.where(chosen, unit.bandwidth * factor, unit.bandwidth)
    return replace(machine, unit=replace(unit, bandwidth=bandwidth))


def links_at(unit: Unit, kind: ComponentKind, index: int) -> np.ndarray:
    at = (unit.kind == kind) & (unit.index == index)
    return at[unit.source] | at[unit.target]


@pytest.mark.parametrize(
    ("name", "kind", "index"),
    [
        ("dgx-1v", ComponentKind.GPU, 3),
        ("pcie-8x-rtx4090", ComponentKind.GPU, 5),
        ("dgx-h100", ComponentKind.NIC, 2),
        ("mi300x-8", ComponentKind.GPU, 0),
        ("dgx-a100", ComponentKind.PCIE, 1),
    ],
)
def test_a_slow_component_is_one_built_with_slow_links(name, kind, index):
    changed = build(name, f"{kind.word}{index}=0.5")
    machine = rebuilt(name, links_at(preset_machine(name).unit, kind, index), 0.5)
    built = build_cluster(machine)
    links = changed.topology.links
    assert changed.topology.capacity[:links].tolist() == built.topology.capacity[:links].tolist()


@pytest.mark.parametrize("name", ["hgx-a100-4", "pcie-8x-rtx4090", "dgx-h100"])
def test_routes_under_a_change_are_those_of_the_rebuilt_machine(name):
    """Where no share is split by width, loads on the resources are the same."""
    changed = build(name, "gpu3=0.5")
    gpus = changed.topology.gpus()
    source, target = np.repeat(gpus, len(gpus)), np.tile(gpus, len(gpus))
    kept = source != target
    chosen = links_at(changed.topology.units[0], ComponentKind.PCIE, 10**6)
    plain = build_cluster(rebuilt(name, chosen, 0.5))
    for way in (Way.DIRECT, Way.PCIE, Way.HOST):
        loads = [
            c.router.inside_loads(source[kept], target[kept], way, np.ones(kept.sum()))
            for c in (changed, plain)
        ]
        assert loads[0] == pytest.approx(loads[1])


def test_nothing_is_built_anew_for_a_change():
    plain, changed = build("dgx-h100"), build("dgx-h100", "gpu3-nvswitch1=0.5")
    assert changed.topology.bandwidth.tolist() == plain.topology.bandwidth.tolist()
    differs = np.flatnonzero(changed.topology.capacity != plain.topology.capacity)
    assert len(differs) == 2
    assert changed.topology.altered == {0}
    assert plain.topology.altered == frozenset()


def test_one_direction_of_a_link_changes_alone():
    changed = build("dgx-h100", "gpu3>nvswitch1=0.5").topology
    slower = np.flatnonzero(changed.capacity[: changed.links] < changed.bandwidth)
    assert [changed.kind[changed.source[k]] for k in slower] == [ComponentKind.GPU]


def test_changes_of_one_resource_multiply():
    once, twice = build("dgx-h100", "nic0=0.25"), build("dgx-h100", "nic0=0.5", "nic0=0.5")
    assert once.topology.capacity.tolist() == twice.topology.capacity.tolist()


def test_only_the_changed_node_has_routes_of_its_own():
    changed = build("dgx-h100", "node1/nic3=down", nodes=3, fabric="fat-tree")
    assert changed.topology.altered == {1}
    classes = [changed.router.class_of(unit) for unit in range(3)]
    assert classes[0] == classes[2] != classes[1]


def test_a_gpu_that_is_down_takes_no_part():
    changed = build("dgx-h100", "gpu3=down")
    assert changed.topology.index[everyone(changed).gpus].tolist() == [0, 1, 2, 4, 5, 6, 7]


def test_a_nic_that_is_down_is_nobodys_nearest():
    changed = build("dgx-h100", "nic0=down")
    nearest = changed.router.nearest_nics(int(changed.topology.gpus()[0]))
    assert 0 not in changed.topology.index[list(nearest)]


def test_a_slow_gpu_keeps_its_links():
    changed = build("dgx-h100", "gpu3:compute=0.8")
    assert changed.compute == {int(changed.topology.gpus()[3]): 0.8}
    assert (changed.topology.capacity[: changed.topology.links] > 0).all()
    assert changed.topology.altered == frozenset()


def test_only_a_gpu_has_compute():
    with pytest.raises(UsageError, match="is no GPU"):
        build("dgx-h100", "nic3:compute=0.8")


def test_a_change_of_what_is_not_there_names_it():
    with pytest.raises(UnknownName, match="nic33"):
        build("dgx-h100", "nic33=down")
    with pytest.raises(UnknownName, match="there is no link"):
        build("dgx-h100", "gpu0>gpu1=0.5")


def test_capabilities_and_settings_reach_the_cluster():
    changed = build("dgx-h100", "gdr=off", "nvls=off", "cross-nic=off", "acs=on", "routing=spray")
    abilities = changed.abilities
    assert [abilities.gdr, abilities.nvls, abilities.cross_nic] == [False] * 3
    assert abilities.acs
    assert changed.routing == Routing.SPRAY
    software = build("dgx-h100", "algo=Ring", "channels=8", "env:NCCL_X=Y").software
    assert software.settings == {"algo": "Ring", "channels": "8"}
    assert software.env == {"NCCL_X": "Y"}


def test_sockets_do_without_gpudirect():
    abilities = build("dgx-h100", "net=socket").abilities
    assert abilities.socket
    assert not abilities.gdr
    assert build("dgx-h100", "net=ib").abilities.gdr


# The machine as it might be.


def test_a_faster_nic_brings_its_pcie_link():
    unit = build("dgx-h100", "nic=800G").topology.units[0]
    compute = (unit.kind == ComponentKind.NIC) & (unit.rail >= 0)
    assert set(unit.rate[compute]) == {100e9}
    touches = compute[unit.source] | compute[unit.target]
    assert (unit.bandwidth[touches] >= 100e9).all()


def test_fewer_nics_are_spread_over_those_there_are():
    unit = build("dgx-h100", "nics=4").topology.units[0]
    compute = unit.rail >= 0
    assert unit.rail[compute].tolist() == [0, 1, 2, 3]
    assert unit.index[compute].tolist() == [0, 2, 4, 6]


def test_more_nics_than_there_are_cannot_be():
    with pytest.raises(Infeasible, match="a node with 9 NICs"):
        build("dgx-h100", "nics=9")


def test_twice_the_nvlink_is_twice_every_lane():
    plain, fast = (build("dgx-1v", *c).topology.units[0] for c in ((), ("nvlink=2x",)))
    nvlink = plain.link_kind == LinkKind.NVLINK
    assert (fast.bandwidth[nvlink] == 2 * plain.bandwidth[nvlink]).all()
    assert (fast.bandwidth[~nvlink] == plain.bandwidth[~nvlink]).all()


def test_twice_the_memory_is_twice_what_cpus_move():
    plain, fast = (build("dgx-h100", *c).topology.units[0] for c in ((), ("memory=2x",)))
    cpus = plain.kind == ComponentKind.CPU
    assert (fast.throughput[cpus] == 2 * plain.throughput[cpus]).all()


@pytest.mark.parametrize("change", ["hbm=2x", "gemm=1.2x"])
def test_what_only_a_training_step_takes_into_account_is_said(change):
    (notice,) = [n for n in build("dgx-h100", change).warnings if n.code == "for-steps-only"]
    assert change in notice.text


def test_the_number_of_nodes_is_a_change_too():
    changed = build("dgx-h100", "nodes=4", fabric="fat-tree")
    assert changed.nodes == 4
    assert len(everyone(changed)) == 32


def test_a_cluster_shows_in_one_line_what_it_is():
    shown = repr(build("dgx-h100", "node3/nic0=down", nodes=16, fabric="fat-tree"))
    assert shown == "Cluster(16 x dgx-h100, fat-tree, nccl@2.27, node3/nic0=down)"
