"""A machine as a graph that people can look at."""

from __future__ import annotations

import re

from wirespeed._api.topo import topo
from wirespeed.readers.cluster_toml import read_cluster_toml
from wirespeed.topology.presets import preset
from wirespeed.topology.software import Software
from wirespeed.views.export.dot import dot
from wirespeed.views.export.toml import cluster_toml


def test_each_numa_node_is_a_box_with_its_devices() -> None:
    text = dot(topo("dgx-h100"))
    first = text[text.index('subgraph "cluster node0 NUMA node 0"') :]
    first = first[: first.index("\n  }")]
    assert '"node0/gpu0"' in first
    assert '"node0/gpu7"' not in first
    assert '"node0/nvswitch0"' not in first
    assert text.count("subgraph") == 2


def test_each_cable_is_one_edge_with_its_bandwidth() -> None:
    report = topo("dgx-h100")
    text = dot(report)
    assert text.count(" -- ") == len(report.links) // 2
    assert re.search(r'"node0/gpu0" -- "node0/nvswitch0" \[label="nvlink x\d ', text)


def test_braces_and_quotes_are_balanced() -> None:
    for name in ("dgx-h100", "gb200-nvl72", "pcie-8x-rtx4090"):
        text = dot(topo(name))
        assert text.count("{") == text.count("}")
        assert text.replace('\\"', "").count('"') % 2 == 0


def test_load_colours_what_is_busy() -> None:
    report = topo("dgx-h100")
    link = report.links[0]
    busy = dot(report, utilisation={f"{link.source}>{link.target}": 1.0, "node0/gpu0": 0.1})
    assert busy.count("#b8232f") == 1
    assert busy.count("fillcolor") == 1
    assert "fillcolor" not in dot(report)


def test_a_design_is_written_so_that_it_reads_back_equal() -> None:
    for name in ("dgx-h100", "mi300x-8", "gb200-nvl72"):
        whole = cluster_toml(preset(name), nodes=3, changes=["node0/nic0=down"])
        short = cluster_toml(preset(name), nodes=3, preset=name)
        assert read_cluster_toml(whole).node == preset(name)
        assert read_cluster_toml(short).node == preset(name)
        assert read_cluster_toml(whole).changes == ("node0/nic0=down",)
        assert len(short) < 80


def test_software_goes_along() -> None:
    software = Software("nccl", (2, 27, 3), env={"NCCL_ALGO": "Ring"})
    spec = read_cluster_toml(cluster_toml(preset("dgx-h100"), software=software))
    assert spec.software.library == "nccl@2.27.3"
    assert spec.software.env == {"NCCL_ALGO": "Ring"}
