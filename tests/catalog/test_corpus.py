"""Nothing of the collected facts is lost, and every GPU of the corpus has a row."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from support import shared
from wirespeed import catalog
from wirespeed.catalog import TABLES, Row

pytestmark = pytest.mark.corpus

Fact = dict[str, Any]

# Facts that describe several products became a row each; here with what differs.
SPLIT = {
    "HGX H800 / H20 8-GPU": ("hgx-h800", "hgx-h20"),
    "aws p4d.24xlarge / p4de.24xlarge": ("p4d.24xlarge", "p4de.24xlarge"),
    "aws p5.48xlarge / p5e.48xlarge": ("p5.48xlarge", "p5e.48xlarge"),
    "aws p6e-gb200.36xlarge (inside u-p6e-gb200x72)": ("p6e-gb200.36xlarge",),
    "gcp a2-highgpu-8g / a2-megagpu-16g": ("a2-highgpu-8g", "a2-megagpu-16g"),
    "gcp a3-ultragpu-8g / a4-highgpu-8g": ("a3-ultragpu-8g", "a4-highgpu-8g"),
    "azure ND40rs_v2 (NDv2)": ("nd40rs_v2",),
    "azure ND96asr_v4 / ND96amsr_A100_v4": ("nd96asr_v4", "nd96amsr_a100_v4"),
    "azure ND96isr_H100_v5 / H200_v5": ("nd96isr_h100_v5", "nd96isr_h200_v5"),
    "azure ND128isr_NDR_GB200_v6 / ND GB300 v6": ("nd128isr_ndr_gb200_v6", "nd gb300 v6"),
    "azure NC96ads_A100_v4 / NC80adis_H100_v5": ("nc96ads_a100_v4", "nc80adis_h100_v5"),
    "oci BM.GPU4.8 / BM.GPU.B4.8 / BM.GPU.A100-v2.8": (
        "bm.gpu4.8",
        "bm.gpu.b4.8",
        "bm.gpu.a100-v2.8",
    ),
    "oci BM.GPU.H200.8 / BM.GPU.B200.8 / BM.GPU.MI300X.8": (
        "bm.gpu.h200.8",
        "bm.gpu.b200.8",
        "bm.gpu.mi300x.8",
    ),
    "oci BM.GPU.GB200.4 (4 ifs) / GB200-v3.4 and GB300.4 (8 ifs)": (
        "bm.gpu.gb200.4",
        "bm.gpu.gb200-v3.4",
        "bm.gpu.gb300.4",
    ),
    "TPU v5e / v6e (Trillium)": ("tpu-v5e", "tpu-v6e"),
    "ConnectX-6 Dx / Lx": ("cx6-dx", "cx6-lx"),
    "AMD Pensando Pollara 400 / Vulcano 800": ("vulcano", "pollara"),
    "ConnectX-9 SuperNIC (announced)": ("cx9",),
    "EDR / HDR (adapter latency as listed)": ("edr-adapter", "hdr-adapter"),
    "NCCL send/recv 2 KB between nodes (H100) / in node": (
        "nccl-sendrecv",
        "nccl-sendrecv-local",
    ),
    "same, P2P disabled (staged through host memory)": ("staged-copy",),
    "same GPU (floor of that test)": ("same-gpu-copy",),
    "GH200 (Grace-Hopper)": ("gh200",),
    "GB200 / GB300 (Grace-Blackwell)": ("gb200",),
    "Vera-Rubin": ("vera-rubin",),
    "MI250X (OAM = 2 GCDs)": ("mi250x",),
    "MI300X / MI325X (8-GPU UBB 2.0)": ("mi300x",),
    "MI350X / MI355X": ("mi355x",),
    "MI455X (announced)": ("mi455x",),
    "v1 (Nitro v3)": ("efa-v1",),
    "v2 (Nitro v4)": ("efa-v2",),
    "v3 (Nitro v5)": ("efa-v3",),
    "v4 (Nitro v6)": ("efa-v4",),
    "v4 in AWS announcements, v3 in AWS EFA table": ("efa-gb200",),
}
RENAMED = {
    "nvlink_c2c": "c2c",
    "pcie_p2p_measured": "p2p",
    "gcp_net": "gcp",
    "ethernet_switch_latency": "switch",
}
FIGURES = {
    "gpu": {
        "mem_GB": "memory_GB",
        "mem_GBps": "memory_GBps",
        "fp32": "fp32_TFLOPS",
        "tf32": "tf32_TFLOPS",
        "fp16": "fp16_TFLOPS",
        "bf16": "bf16_TFLOPS",
        "fp8": "fp8_TFLOPS",
        "fp4": "fp4_TFLOPS",
        "int8_tops": "int8_TOPS",
        "sm": "sm_count",
        "cc": "cc",
        "pcie_lanes": "pcie_lanes",
        "tdp_W": "tdp_W",
        "smi_MiB": "visible_memory_MiB",
        "mamf_bf16": "measured_bf16_TFLOPS",
        "mamf_fp8": "measured_fp8_TFLOPS",
    },
    "pcie": {"GTps_per_lane": "lane_rate_GTps", "h2d_typ_GBps_dir": "host_copy_GBps_dir"},
    "cpu_link": {
        "raw_per_link_GBps_dir": "link_GBps_dir",
        "nccl_planning_GBps_dir": "planning_GBps_dir",
    },
    "nvlink": {
        "link_GBps_dir": "bandwidth_GBps_dir",
        "nccl_planning_link_GBps_dir": "planning_GBps_dir",
        "smi_reports_link_GBps_dir": "smi_GBps_dir",
        "lanes_per_link_dir": "lanes_per_link",
    },
    "nvlink_c2c": {"GBps_dir": "bandwidth_GBps_dir"},
    "nvswitch": {"ports": "ports", "chip_GBps_bidir": "chip_bidirectional_GBps"},
    "xgmi": {"link_GBps_dir": "bandwidth_GBps_dir", "total_GBps_dir": "total_GBps_dir"},
    "infiniband": {
        "data_4x_Gbps": "rate_Gbps",
        "eff_4x_GBps_dir": "bandwidth_GBps_dir",
        "hop_latency_ns": "hop_latency_ns",
        "switch_ports_4x": "switch_ports",
    },
    "ethernet": {"eff_GBps_dir": "bandwidth_GBps_dir", "typ_rdma_GBps_dir": "achieved_GBps_dir"},
    "ethernet_switch_latency": {"hop_latency_ns": "latency_ns"},
    "gcp_net": {"gpu_total_Gbps": "rate_Gbps", "headline_total_Gbps": "headline_rate_Gbps"},
    "slingshot": {"Gbps_per_port": "rate_Gbps"},
    "nic": {"max_Gbps": "rate_Gbps"},
    "hop": {"ns": "latency_ns"},
    "launch": {"us": "latency_us"},
    "switch": {"ns": "latency_ns"},
    "rdma": {"us": "latency_us"},
    "platform": {
        "gpus": "gpus",
        "nvlink_per_gpu_GBps_dir": "nvlink_GBps_dir",
        "nic_Gbps": "nic_rate_Gbps",
        "nccl_ring_busbw_GBps": "measured_ring_busbw_GBps",
        "nvswitch": "nvswitches",
    },
    "cloud": {
        "gpus": "gpus",
        "net_Gbps": "rate_Gbps",
        "nic_Gbps": "nic_rate_Gbps",
        "h2d_alarm_below_GBps": "host_copy_alarm_GBps_dir",
    },
    "correction": {"claim": "claim", "correct": "correct"},
    "torus": {"pod_chips": "pod_chips", "link_GBps_dir": "link_GBps_dir"},
}


def facts() -> Iterator[tuple[str, int, Fact]]:
    """Table, place in it, row: of all files."""
    for file in sorted(shared("facts").glob("*.toml")):
        for table, rows in tomllib.loads(file.read_text()).items():
            if isinstance(rows, list):
                for place, row in enumerate(rows):
                    yield table, place, row


def rows_of(table: str, place: int, fact: Fact) -> list[Row]:
    """The catalog's rows for a fact; the first has its main figures."""
    rows = TABLES[{"roce_efficiency": "roce", **RENAMED}.get(table, table)]()
    label = str(
        next(
            (
                fact[column]
                for column in ("name", "model", "what", "switch", "machine", "case", "product")
                if column in fact and (column != "switch" or table == "ethernet_switch_latency")
            ),
            fact.get("gen", fact.get("speed_Gbps", "")),
        )
    )
    if "variant" in fact:
        label = f"{label}-ga102"
    if table in ("correction", "roce_efficiency"):
        return [rows[place]]
    keys = SPLIT.get(label)
    if keys is None:
        names = {label, label.partition(" ")[2]} if table == "cloud" else {label}
        return [row for row in rows if names & set(row.names)]
    return [row for key in keys for row in rows if row.key == key]


def test_every_fact_has_its_row() -> None:
    missing = [(t, f.get("name", place)) for t, place, f in facts() if not rows_of(t, place, f)]
    assert missing == []


def test_no_two_facts_share_a_row() -> None:
    """Except the Ethernet switches' latencies, which two of the files state alike."""
    owners: dict[tuple[str, str], int] = {}
    for table, place, fact in facts():
        for row in rows_of(table, place, fact):
            assert owners.setdefault((table, row.key), place) == place


def test_split_facts_have_all_their_rows() -> None:
    for table, place, fact in facts():
        label = fact.get("name", fact.get("model", fact.get("gen")))
        if label in SPLIT and table != "gpu":
            assert len(rows_of(table, place, fact)) == len(SPLIT[label]), label


def test_main_figures_are_those_of_the_facts() -> None:
    wrong = []
    for table, place, fact in facts():
        row = rows_of(table, place, fact)[0]
        for column, ours in FIGURES.get(table, {}).items():
            if column in fact and getattr(row, ours) != pytest.approx(fact[column]):
                wrong.append((table, row.key, column, fact[column], getattr(row, ours)))
    assert wrong == []


def test_reference_designs_keep_their_sizes() -> None:
    for table, place, fact in facts():
        if table == "fabric":
            row = rows_of(table, place, fact)[0]
            assert isinstance(row, catalog.Fabric)
            assert len(row.sizes) == len(fact.get("table", []))


def test_nvlinks_of_boards_and_gpus_are_those_of_the_facts() -> None:
    for table, _, fact in facts():
        if table == "gpu":
            words = fact["nvlink"].replace("(GA102)", " ").split()
            links = next((int(w[1:]) for w in words if w[0] == "x" and w[1:].isdigit()), 0)
            assert catalog.gpu(fact["name"]).nvlink_links == links
            assert catalog.gpu(fact["name"]).pcie_generation == int(fact["pcie_gen"][3:])


def test_every_recorded_gpu_has_a_row() -> None:
    names = {
        record["cluster"].get("gpu")
        for file in ("collectives.json", "training.json")
        for record in json.loads(shared("validation", file).read_text())
    }
    for name in names - {None}:
        assert catalog.gpu(name)


@pytest.mark.parametrize(
    ("recorded", "key"),
    [
        ("A100-SXM-40GB", "a100-sxm-40gb"),
        ("A100-PCIe", "a100-pcie-80gb"),
        ("H100-96GB-500W", "h100-sxm-96gb"),
        ("V100-16GB", "v100-sxm2-16gb"),
        ("V100-SXM3", "v100-sxm3"),
        ("GH200", "gh200-96gb"),
        ("RTX-4070-Ti", "rtx-4070-ti-super"),
    ],
)
def test_recorded_names_mean_the_right_part(recorded: str, key: str) -> None:
    assert catalog.gpu(recorded).key == key


def test_gpu_models_in_lstopo_samples_have_rows() -> None:
    for file in shared("samples", "lstopo-xml").glob("*.xml"):
        for line in file.read_text(errors="replace").splitlines():
            if 'name="GPUModel"' in line:
                assert catalog.gpu(line.split('value="')[1].split('"')[0])
