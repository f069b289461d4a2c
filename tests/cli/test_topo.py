"""`wirespeed topo`: what a person and a program get to know of a machine."""

from __future__ import annotations

import pytest

ENVELOPE = ["schema", "version", "inputs", "parameters", "warnings"]
FIELDS = [
    *("name", "nodes", "basis", "gpus", "cpus", "pcie_switches", "nics", "nvswitches"),
    *("links", "pairs", "oddities"),
]


def test_the_json_has_the_fields_of_the_contract(run):
    found = run("topo", "dgx-h100", "--json").json
    assert found["schema"] == "wirespeed.topo/1"
    assert set(ENVELOPE + FIELDS) <= set(found)
    assert set(found["basis"]) == {"gpu_model", "preset", "alternatives"}
    assert {"name", "model", "numa", "nics"} <= set(found["gpus"][0])
    assert {"name", "model", "rate_Gbps", "numa"} <= set(found["nics"][0])
    assert set(found["links"][0]) == {"from", "to", "kind", "lanes", "bandwidth_GBps"}
    assert set(found["pairs"][0]) == {"from", "to", "smi", "nccl", "bandwidth_GBps"}


def test_an_h100_has_18_nvlinks_of_450_GBps_in_all(run):
    links = run("topo", "dgx-h100", "--json").json["links"]
    mine = [row for row in links if row["from"] == "node0/gpu3" and row["kind"] == "nvlink"]
    assert {row["to"] for row in mine} == {f"node0/nvswitch{k}" for k in range(4)}
    assert sum(row["lanes"] for row in mine) == 18
    assert sum(row["bandwidth_GBps"] for row in mine) == pytest.approx(450)


def test_an_a100_stands_on_pcie_gen4_x16_at_31_5_GBps_both_ways(run):
    links = run("topo", "dgx-a100", "--json").json["links"]
    slots = [
        row for row in links if row["kind"] == "pcie" and "node0/gpu0" in (row["from"], row["to"])
    ]
    assert len(slots) == 2
    for row in slots:
        assert row["lanes"] == 16
        assert row["bandwidth_GBps"] == pytest.approx(31.5, abs=0.05)


def test_pairs_bear_nvidia_smis_word_and_nccls(run):
    pairs = {(p["from"], p["to"]): p for p in run("topo", "dgx-h100", "--json").json["pairs"]}
    near = pairs["node0/gpu0", "node0/nic0"]
    assert (near["smi"], near["nccl"]) == ("PXB", "PXB")
    far = pairs["node0/gpu0", "node0/nic4"]
    assert (far["smi"], far["nccl"]) == ("SYS", "PXN")  # through a GPU beside that NIC
    linked = pairs["node0/gpu0", "node0/gpu5"]
    assert (linked["smi"], linked["nccl"], linked["bandwidth_GBps"]) == ("NV18", "NVL", 450)


def test_of_equal_nodes_one_is_listed_and_with_full_all(run):
    one = run("topo", "dgx-a100", "--nodes", "4", "--json").json
    assert one["nodes"] == 4
    assert len(one["gpus"]) == 8
    assert one["fabric"]["name"] == "superpod-a100"
    every = run("topo", "dgx-a100", "--nodes", "4", "--full", "--json").json
    assert len(every["gpus"]) == 32


def test_a_node_that_differs_is_listed_beside_the_others(run):
    found = run("topo", "dgx-a100", "--nodes", "4", "--change", "node2/nic0=down", "--json").json
    assert {gpu["name"].split("/")[0] for gpu in found["gpus"]} == {"node0", "node2"}


def test_a_rack_is_listed_by_one_tray_and_all_its_switches(run):
    found = run("topo", "gb200-nvl72", "--json").json
    assert found["nodes"] == 18
    assert [gpu["name"] for gpu in found["gpus"]] == [f"node0/gpu{k}" for k in range(4)]
    assert len(found["nvswitches"]) == 18
    assert found["nvswitches"][0]["name"] == "rack0/nvswitch0"
    assert found["nvlink_domain"] == 72


def test_the_table_names_machine_paths_and_nics(run):
    out = run("topo", "dgx-h100").out
    assert out.startswith("dgx-h100: 8x H100 SXM5 80GB\n")
    assert "18 links a GPU to 4x NVSwitch 3; 450 GB/s a GPU, per direction" in out
    assert "gpu2  NV18  NV18  X     NV18" in out
    assert "gpu5     1  nic5          PXB" in out
    assert "\033" not in out
    assert all(len(line) <= 100 and line == line.rstrip() for line in out.splitlines())


def test_list_shows_presets_and_fabrics(run):
    out = run("topo", "--list").out
    assert "gb200-nvl72" in out
    assert "rail-optimised" in out


def test_list_of_a_source_shows_every_address(run):
    names = [line.split("\t")[0] for line in run("topo", "hgx-a100-4", "--list").out.splitlines()]
    assert {"node0/gpu3", "node0/cpu0", "node0/nic0"} <= set(names)
    assert len(set(names)) == len(names)


def test_dot_draws_every_cable_once(run):
    out = run("topo", "hgx-a100-4", "--to", "dot").out
    assert out.startswith('graph "hgx-a100-4" {')
    assert out.count('"node0/gpu0" -- "node0/gpu1"') == 1
    assert out.count('"node0/gpu1" -- "node0/gpu0"') == 0


def test_strict_passes_a_machine_without_oddities(run):
    assert run("topo", "dgx-h100", "--strict").status == 0


def test_nccl_xml_is_a_topology_file_that_reads_back(run, tmp_path):
    file = tmp_path / "topo.xml"
    file.write_text(run("topo", "dgx-a100", "--to", "nccl-xml").out)
    assert file.read_text().startswith("<system")
    found = run("topo", str(file), "--json").json
    assert len(found["gpus"]) == 8
    assert len(found["nics"]) == 10


def test_toml_reads_back_as_the_same_cluster(run, tmp_path):
    words = ("dgx-a100", "--nodes", "4", "--change", "node2/nic0=down")
    file = tmp_path / "ours.toml"
    file.write_text(run("topo", *words, "--to", "toml").out)
    original, copy = run("topo", *words, "--json").json, run("topo", str(file), "--json").json
    for field in ("nodes", "gpus", "nics", "links", "pairs", "fabric"):
        assert copy[field] == original[field]


def test_what_a_format_cannot_hold_is_refused(run, tmp_path):
    broken = run("topo", "dgx-a100", "--change", "gpu0=down", "--to", "nccl-xml")
    assert broken.status == 2
    assert "gpu0=down has no place in a topology file" in broken.err
    tree = tmp_path / "tree.xml"
    tree.write_text(run("topo", "dgx-a100", "--to", "nccl-xml").out)
    refused = run("topo", str(tree), "--to", "toml")
    assert refused.status == 2
    assert "--to nccl-xml" in refused.err


@pytest.mark.parametrize(
    ("matrix", "word"),
    [
        ("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n", "PHB"),
        (
            "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV4\tPIX\nGPU1\tNV4\t X \tSYS\nNIC0\tPIX\tSYS\t X \n",
            "NV4",
        ),
    ],
)
def test_a_matrix_goes_to_toml_and_back(run, tmp_path, matrix, word):
    file, copy = tmp_path / "matrix.txt", tmp_path / "copy.toml"
    file.write_text(matrix)
    copy.write_text(run("topo", str(file), "--to", "toml").out)
    read, again = (run("topo", str(source), "--json").json for source in (file, copy))
    assert read["pairs"][0]["smi"] == word
    for field in ("nodes", "gpus", "nics", "links", "pairs"):
        assert again[field] == read[field]
