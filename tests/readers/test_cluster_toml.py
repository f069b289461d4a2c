"""A cluster TOML is read with all its errors at once, and written so that it reads back equal."""

from __future__ import annotations

import string

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.errors import InputError, Problems, WirespeedError
from wirespeed.readers.cluster_toml import read_cluster_toml, write_cluster_toml
from wirespeed.topology.cluster_spec import ClusterSpec, SoftwareSpec
from wirespeed.topology.node_builder import unit_of
from wirespeed.topology.node_checks import problems_of
from wirespeed.topology.node_design import (
    Cpu,
    GpuLinks,
    NicGroup,
    NodeDesign,
    PcieGroup,
)
from wirespeed.topology.presets import preset, preset_names


def problems(text: str) -> list[str]:
    """First lines of all messages."""
    with pytest.raises(Problems) as caught:
        read_cluster_toml(text)
    return [str(problem).splitlines()[0] for problem in caught.value.problems]


def test_a_preset_is_enough():
    spec = read_cluster_toml('[node]\npreset = "hgx-h100"')
    assert spec.node == preset("dgx-h100")
    assert spec.nodes == 1
    assert spec.preset == "hgx-h100"


def test_a_rack_is_whole_unless_nodes_are_counted():
    assert read_cluster_toml('[node]\npreset = "gb200-nvl72"').nodes == 18
    assert read_cluster_toml('nodes = 4\n[node]\npreset = "gb200-nvl72"').nodes == 4


def test_all_parts_are_read():
    spec = read_cluster_toml(
        """
        nodes = 4
        fabric = "fat-tree"
        changes = ["node1/nic3=down", "nic=800G"]
        [node]
        preset = "dgx-h100"
        [software]
        library = "nccl@2.27"
        [software.env]
        NCCL_ALGO = "Ring"
        """
    )
    assert spec == ClusterSpec(
        node=preset("dgx-h100"),
        nodes=4,
        fabric="fat-tree",
        software=SoftwareSpec("nccl@2.27", {"NCCL_ALGO": "Ring"}),
        changes=("node1/nic3=down", "nic=800G"),
        preset="dgx-h100",
    )


def test_a_fabric_may_be_a_table_whose_errors_stand_beside_the_others():
    text = '[node]\npreset = "dgx-h100"\n[fabric]\nkind = "fat-tree"\nradix = 64'
    assert read_cluster_toml(text).fabric == {"kind": "fat-tree", "radix": 64}
    found = problems(f"nodes = 0\n{text}\nradius = 3\noversubscription = -1")
    assert len(found) == 3
    assert all(line.startswith("cluster.toml: ") for line in found)
    assert ["nodes" in found[0], "radius" in found[1], "oversubscription" in found[2]] == [True] * 3
    (unknown,) = problems('fabric = "fat-trea"\n[node]\npreset = "dgx-h100"')
    assert unknown == "cluster.toml: fabric: there is no fabric 'fat-trea'"


def test_fields_override_a_presets_tables_key_by_key_and_lists_whole():
    text = """
        [node]
        preset = "dgx-h100"
        p2p = false
        pcie = [{ gpus = [0, 1, 2, 3, 4, 5, 6, 7], nics = [0] }]
        nics = [{ model = "ConnectX-7", count = 1, rate_Gbps = 400 }]
        [node.cpu]
        model = "EPYC 9654"
        """
    node, base = read_cluster_toml(text).node, preset("dgx-h100")
    assert node.cpu == msgspec.structs.replace(base.cpu, model="EPYC 9654")
    assert node.nvlink == base.nvlink
    assert not node.p2p
    assert node.nic_count == 1
    assert len(node.pcie) == 1


def test_a_node_can_be_written_out_in_full():
    text = """
        [node]
        gpu = "A100-SXM4-40GB"
        gpus = 4
        pcie = [{ gpus = [0, 1] }, { gpus = [2, 3], nics = [0] }]
        nics = [{ model = "ConnectX-6", count = 1, rate_Gbps = 200 }]
        [node.nvlink]
        style = "mesh"
        edges = [[0, 1, 12], [2, 3, 12]]
        """
    node = read_cluster_toml(text).node
    assert node.name == "cluster"
    assert node.pcie == (PcieGroup(gpus=(0, 1)), PcieGroup(gpus=(2, 3), nics=(0,)))
    assert len(unit_of(node).source) > 0


def test_all_errors_come_at_once_with_file_and_key():
    found = problems(
        """
        nodes = 0
        fabrik = "fat-tree"
        preset = "dgx-h100"
        changes = ["node1/nic3=down", "nic=fast", 3]
        [node]
        gpu = "h100-sxm"
        gpus = 8
        p2p = "yes"
        [node.nvlink]
        style = "swich"
        edges = [[0, 1], [0, 1, 4]]
        [[node.pcie]]
        generation = 9
        [[node.nics]]
        count = 3
        [software]
        library = "mccl"
        env = { NCCL_NTHREADS = 256 }
        """
    )
    assert sorted(found) == [
        "cluster.toml: changes[1]: 'nic=fast' is not a change",
        "cluster.toml: changes[2]: expected a text, got a whole number",
        "cluster.toml: fabrik: there is no such key",
        "cluster.toml: node.nics[0].model: missing",
        "cluster.toml: node.nics[0].rate_Gbps: missing",
        "cluster.toml: node.nvlink.edges[0]: expected a list of length 3, got 2",
        "cluster.toml: node.nvlink.style: 'swich' is none of none, mesh, switch",
        "cluster.toml: node.p2p: expected true or false, got a text",
        "cluster.toml: node.pcie[0].generation: 9 is none of 3, 4, 5, 6, 7",
        "cluster.toml: nodes: expected a whole number >= 1",
        "cluster.toml: preset: there is no such key",
        "cluster.toml: software.env.NCCL_NTHREADS: expected a text, got a whole number",
        "cluster.toml: software.library: 'mccl' is not a library",
    ]


def test_what_does_not_fit_together_is_named_beside_unreadable_changes():
    found = problems(
        """
        changes = ["bogus"]
        [node]
        preset = "dgx-h100"
        pcie = [{ gpus = [0, 1, 2, 3, 4, 5, 6, 9] }, { nics = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] }]
        """
    )
    assert found == [
        "cluster.toml: node.pcie[0].gpus: GPU 9 does not exist (the node has 8)",
        "cluster.toml: node.pcie: GPU 7 is in no group",
        "cluster.toml: changes[0]: 'bogus' is not a change",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[node]\npreset = "dgx-h10"', "node.preset: there is no preset 'dgx-h10'"),
        ("[node]\npreset = 3", "node.preset: a preset is named by a text"),
        ("nodes = 2", "node: missing"),
        ("node = 2", "node: a table is expected here"),
        ('[node]\npreset = "t4"\npcie = 3', "node.pcie: a list of tables is expected here"),
        ('[node]\npreset = "t4"\n[node.cpu]\nmemory_GBps = inf', "node.cpu.memory_GBps: "),
        ('[node]\npreset = "t4"\n[node.cpu]\nmemory_GBps = nan', "node.cpu.memory_GBps: "),
    ],
)
def test_one_error_is_one_message(text, message):
    (found,) = problems(text)
    assert found.startswith(f"cluster.toml: {message}")


def test_a_wrong_key_gets_near_ones_even_beside_an_unknown_preset():
    with pytest.raises(Problems) as caught:
        read_cluster_toml('[node]\npreset = "dgx-h10"\nnicz = []', file="mine.toml")
    text = str(caught.value)
    assert "did you mean dgx-h100" in text
    assert "mine.toml: node.nicz: there is no such key\n  did you mean nics" in text


@pytest.mark.parametrize("text", ["a b", "[node", "x = " + "[" * 5000, "x = " + "9" * 5000, "\0"])
def test_what_is_no_toml_is_one_error(text):
    with pytest.raises(InputError, match=r"cluster\.toml"):
        read_cluster_toml(text)


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_reads_back_from_its_name_and_from_all_its_fields(name):
    for called in (name, ""):
        spec = ClusterSpec(node=preset(name), nodes=preset(name).nodes_per_unit, preset=called)
        assert read_cluster_toml(write_cluster_toml(spec)) == spec


LINKS = [
    GpuLinks(),
    GpuLinks("mesh", every_pair=1),
    GpuLinks("switch", switches=6, links_per_switch=(2,), switch_generation=2),
]
CHANGES = ["nic=800G", "*/gpu0=down", "env:A= b"]
WORDS = st.text(string.printable + "äß✓\u2028", max_size=12)


@st.composite
def designs(draw: st.DrawFn) -> NodeDesign:
    """Sound designs: GPUs and NICs dealt out to groups, links within what the GPU has."""
    gpus, nics = draw(st.integers(1, 8)), draw(st.integers(0, 6))
    count = draw(st.integers(1, 4))
    deal = st.integers(0, count - 1)
    gpu_home = [draw(deal) for _ in range(gpus)]
    nic_home = [draw(deal) for _ in range(nics)]
    groups = tuple(
        PcieGroup(
            levels=draw(st.sampled_from([0, 1, 2])),
            gpus=tuple(g for g in range(gpus) if gpu_home[g] == k),
            nics=tuple(n for n in range(nics) if nic_home[n] == k),
            generation=draw(st.sampled_from([3, 4, 5])),
            uplink_GBps=draw(st.floats(0, 100)),
            model=draw(WORDS),
        )
        for k in range(count)
    )
    links = draw(
        st.sampled_from(
            [GpuLinks(), GpuLinks("mesh", every_pair=1), GpuLinks("switch", 0, (), 6, (2,))]
        )
    )
    cards = tuple(
        NicGroup(
            draw(WORDS), 1, draw(st.floats(1, 800)), draw(st.sampled_from(["compute", "storage"]))
        )
        for _ in range(nics)
    )
    return NodeDesign(
        name=draw(WORDS),
        gpu="a100-sxm-80gb",
        gpus=gpus,
        description=draw(WORDS),
        nvlink=links,
        cpu=Cpu(model=draw(WORDS), memory_GBps=draw(st.floats(0, 500))),
        pcie=groups,
        nics=cards,
        gdr=draw(st.booleans()),
    )


FABRICS = [
    "",
    "fat-tree",
    "mine.toml",
    {"kind": "rail-only"},
    {"kind": "rail-optimised", "radix": [64, 32], "oversubscription": 2.0},
]
SPECS = st.builds(
    ClusterSpec,
    node=designs(),
    nodes=st.integers(1, 1000),
    fabric=st.sampled_from(FABRICS),
    software=st.builds(
        SoftwareSpec,
        library=st.sampled_from(["", "nccl@2.27", "rccl"]),
        env=st.dictionaries(WORDS, WORDS, max_size=3),
    ),
    changes=st.lists(st.sampled_from(["nic=800G", "*/gpu0=down", "env:A= b"]), max_size=3).map(
        tuple
    ),
    preset=st.sampled_from(["", "dgx-a100", "gb200"]),
)


@given(SPECS)
def test_what_is_written_reads_back_equal(spec):
    if not problems_of(spec.node):
        assert read_cluster_toml(write_cluster_toml(spec)) == spec


GOOD = write_cluster_toml(ClusterSpec(node=preset("dgx-a100"), nodes=4, changes=("nic=800G",)))


@given(st.integers(0, len(GOOD)), st.integers(0, 40), st.text(max_size=6))
def test_a_damaged_file_gets_a_message_and_never_a_traceback(place, length, patch):
    damaged = GOOD[:place] + patch + GOOD[place + length :]
    try:
        spec = read_cluster_toml(damaged)
    except WirespeedError as error:
        found = str(error)
    else:
        assert problems_of(spec.node) == []
        return
    assert found.startswith("cluster.toml: ")
