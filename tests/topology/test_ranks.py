"""Which GPUs take part."""

from __future__ import annotations

import pytest

from wirespeed.errors import UsageError, WirespeedError
from wirespeed.topology.address import name_of
from wirespeed.topology.change import parse_change
from wirespeed.topology.cluster import Cluster, build_cluster
from wirespeed.topology.fabrics.generic import SINGLE
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.ranks import parse_ranks


@pytest.fixture(scope="module")
def two_nodes() -> Cluster:
    return build_cluster(preset_machine("dgx-a100"), nodes=2, fabric=("single", SINGLE))


def names(text: str, cluster: Cluster) -> list[str]:
    return [name_of(cluster.topology, int(gpu)) for gpu in parse_ranks(text, cluster).gpus]


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("0", ["node0/gpu0"]),
        ("7-9", ["node0/gpu7", "node1/gpu0", "node1/gpu1"]),
        ("0-15:8", ["node0/gpu0", "node1/gpu0"]),
        ("9,2", ["node1/gpu1", "node0/gpu2"]),
        ("*/gpu3", ["node0/gpu3", "node1/gpu3"]),
        ("node*/gpu3", ["node0/gpu3", "node1/gpu3"]),
        ("node1/gpu0, 0", ["node1/gpu0", "node0/gpu0"]),
        ("per-node=2", ["node0/gpu0", "node0/gpu1", "node1/gpu0", "node1/gpu1"]),
    ],
)
def test_ranks_by_number_address_and_node(two_nodes, text, gpus):
    assert names(text, two_nodes) == gpus


@pytest.mark.parametrize(
    "text",
    [
        "",
        "16",
        "3-1",
        "0-3:0",
        "0,0",
        "all",
        "node0/nic0",
        "node7/gpu0",
        "per-node=0",
        "per-node=9",
    ],
)
def test_what_names_no_group_is_refused(two_nodes, text):
    with pytest.raises(WirespeedError):
        parse_ranks(text, two_nodes)


def test_on_one_node_an_address_needs_no_prefix():
    one = build_cluster(preset_machine("dgx-a100"))
    assert names("gpu4", one) == ["node0/gpu4"]
    with pytest.raises(UsageError, match="node0/nic0 is no GPU"):
        parse_ranks("node0/nic0", one)


def test_a_gpu_that_is_down_is_no_rank():
    lame = build_cluster(preset_machine("dgx-a100"), changes=[parse_change("gpu0=down")])
    assert names("0", lame) == ["node0/gpu1"]
    assert len(parse_ranks("per-node=7", lame)) == 7
