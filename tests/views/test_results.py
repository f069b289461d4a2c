"""Results show themselves."""

from __future__ import annotations

import pytest

import wirespeed as ws
from wirespeed._api.load import RESULTS
from wirespeed.views import _VIEWS

H100 = """\
dgx-h100: 8x H100 SXM5 80GB
GPUs           8x H100 SXM5 80GB
NVLink         18 links a GPU to 4x NVSwitch 3; 450 GB/s a GPU, per direction
NVLink domain  8 GPUs
CPUs           Xeon Platinum 8480C, 2 NUMA nodes
PCIe           24 switches; GPUs on x16, 63 GB/s
NICs           10x ConnectX-7 400 Gb/s

Between GPUs
      gpu0  gpu1  gpu2  gpu3  gpu4  gpu5  gpu6  gpu7
────────────────────────────────────────────────────
gpu0  X     NV18  NV18  NV18  NV18  NV18  NV18  NV18
"""


def test_every_result_has_a_view():
    assert set(_VIEWS) == set(RESULTS)


def test_a_machine_prints_as_a_person_would_describe_it():
    assert str(ws.topo("dgx-h100")).startswith(H100)


def test_a_mesh_shows_the_pairs_that_need_a_gpu_between():
    text = str(ws.topo("dgx-1v"))
    assert "gpu0  X     NV1   NV1   NV2   NV2   SYS   SYS   SYS" in text
    assert "NVLinks of a GPU in between" in text


def test_a_way_over_another_gpu_and_a_domain_bear_the_links_name():
    text = str(ws.topo("mi250x-8"))
    assert "xGMI links of a GPU in between" in text
    assert "xGMI domain  8 GPUs" in text
    assert "NVLink" not in text


def test_what_no_graph_shows_is_said():
    assert "Rubin is announced" in str(ws.topo("vera-rubin-nvl72"))
    assert "no peer-to-peer over PCIe" in str(ws.topo("pcie-8x-rtx4090"))
    assert ws.topo("dgx-h100").warnings == ()


def test_amds_links_are_named_though_nvidia_smi_has_no_word_for_them():
    text = str(ws.topo("mi300x-8"))
    assert "xGMI         7 links a GPU to 7 GPUs directly; 448 GB/s a GPU" in text
    assert "gpu0  X     XGMI" in text


def test_nodes_that_differ_are_shown_apart():
    text = str(ws.topo("dgx-h100", nodes=2, changes=["node1/nic3=down"]))
    assert "Between GPUs of node0" in text
    assert "NICs of node1" in text
    assert "Nodes          2, all of them below" in text


def test_what_was_assumed_is_listed(tmp_path):
    file = tmp_path / "matrix.txt"
    file.write_text("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n")
    report = ws.topo(str(file))
    assert report.warnings
    text = str(report)
    assert "Notes\n- " in text


@pytest.mark.parametrize("operation", ["all_reduce", "alltoall", "sendrecv", "p2p_copy", "h2d"])
def test_every_kind_of_operation_prints(operation):
    forecast = ws.collective(operation, "dgx-a100", sizes="1K,1M,1G")
    text = str(forecast)
    assert text.startswith(f"{operation} on dgx-a100: forecast\n")
    assert "1 node, 8 GPUs" in text


def test_small_messages_wait_and_large_ones_fill_the_wire():
    text = str(ws.collective("all_reduce", "dgx-a100", sizes="1K,4G"))
    small, large = (line for line in text.splitlines() if line.strip().startswith(("1K", "4G")))
    assert " latency " in small
    assert " node0/gpu0>node0/nvswitch" in large


def test_results_show_as_html():
    assert ws.topo("dgx-a100")._repr_html_().startswith('<div class="wirespeed"><h4>dgx-a100')
    assert "<td" in ws.collective("all_reduce", "dgx-a100", sizes="1M")._repr_html_()
