"""A machine from a library's log alone, and a log held against the files beside it."""

from __future__ import annotations

import pytest

import wirespeed as ws
from inventory.matrices import said
from support import shared
from wirespeed.errors import InputError
from wirespeed.evidence import Evidence
from wirespeed.inventory import Resolved, resolve
from wirespeed.inventory.combined import combine
from wirespeed.inventory.log_node import address, log_node
from wirespeed.inventory.matrix_text import matrix_text
from wirespeed.readers import read_text
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.machines import preset_machine

BUSES = ("1b000", "43000", "52000", "61000", "9d000", "c3000", "d1000", "df000")
MATRIX = matrix_text(preset_machine("dgx-h100").unit)


def log(
    *,
    hosts: int = 2,
    gpus: int = 8,
    nics: int = 8,
    layer: str = "IB",
    link: str = "",
    version: str = "2.21.5",
    env: str = "",
    more: str = "",
) -> str:
    """A log of so many hosts; with `link` such as "NVL[370.8] - NVS/0" also the first's picture."""
    said = [f"n0:1:1 [0] NCCL INFO NCCL version {version}+cuda12.4"]
    listed = " ".join(f"[{k}]mlx5_{k}:1/{layer}" for k in range(nics))
    for host in range(hosts):
        said.append(f"n{host}:1:1 [0] NCCL INFO NET/IB : Using {listed} [RO]; OOB eth0:10.0.0.1<0>")
        for gpu in range(gpus):
            rank = host * gpus + gpu
            said.append(
                f"n{host}:{gpu}:9 [{gpu}] NCCL INFO comm 0x5 rank {rank} nRanks {hosts * gpus} "
                f"nNodes {hosts} localRanks {gpus} localRank {gpu} MNNVL 0"
            )
            said.append(
                f"n{host}:{gpu}:9 [{gpu}] NCCL INFO ncclCommInitRank comm 0x5 rank {rank} nranks "
                f"{hosts * gpus} cudaDev {gpu} nvmlDev {gpu} busId {BUSES[gpu]} - Init START"
            )
    for gpu in range(gpus if link else 0):
        said.append(f"n0:1:1 [0] NCCL INFO + PCI[48.0] - GPU/{BUSES[gpu].upper()} (0)")
        said.append(f"n0:1:1 [0] NCCL INFO                + {link}")
        rate = link.partition("[")[2].partition("]")[0]
        cells = " ".join(
            f"GPU/{bus.upper()} ({2 * (k != gpu)}/{rate}/{'NVL' if k != gpu else 'LOC'})"
            for k, bus in enumerate(BUSES[:gpus])
        )
        nets = " ".join(
            f"NET/{k} ({3 if k == gpu else 6}/48.0/{'PXB' if k == gpu else 'SYS'})"
            for k in range(nics)
        )
        said.append(
            f"n0:1:1 [0] NCCL INFO GPU/{BUSES[gpu].upper()} :{cells} CPU/0 (1/4/PHB) {nets}"
        )
    if env:
        said.append(f"n0:1:1 [0] NCCL INFO {env}")
    return "\n".join([*said, more, ""])


def of_log(text: str) -> Resolved:
    return resolve("-", stdin=lambda: text)


def evidence(text: str, file: str = "run.log") -> Evidence:
    return read_text(text, file=file)


def test_a_log_says_nodes_gpus_nics_library_and_settings():
    node = log_node([evidence(log(env="NCCL_IB_GID_INDEX set by environment to 3"))])
    assert node is not None
    assert [(gpu.index, gpu.bus_id) for gpu in node.gpus][:2] == [
        (0, "0000:1b:00.0"),
        (1, "0000:43:00.0"),
    ]
    assert [(nic.name, nic.layer) for nic in node.nics][7] == ("mlx5_7", "IB")
    assert (len(node.gpus), node.nodes, node.hosts) == (8, 2, ["n0", "n1"])
    assert (node.library, node.version) == ("nccl", (2, 21, 5))
    assert node.env == {"NCCL_IB_GID_INDEX": "3"}


@pytest.mark.parametrize(
    ("link", "preset"),
    [
        ("NVL[370.8] - NVS/0", "dgx-h100"),
        ("NVL[240.0] - NVS/0", "dgx-a100"),
        ("NVL[721.8] - NVS/0", "dgx-b200"),
    ],
)
def test_what_the_library_credits_links_with_tells_the_gpu(link: str, preset: str):
    resolved = of_log(log(link=link, version="2.27.3"))
    assert resolved.machine.platform == preset
    assert resolved.nodes == 2
    assert "nothing in the log names the GPU" in said(resolved.machine, "gpu-from-preset")
    unit = resolved.machine.unit
    labels = [unit.labels[int(c)] for c in unit.of_kind(ComponentKind.NIC)]
    assert labels == [f"mlx5_{k}" for k in range(8)]


def test_the_library_and_its_settings_are_followed():
    resolved = of_log(log(env="NCCL_ALGO set by environment to Ring"))
    assert resolved.software is not None
    assert str(resolved.software) == "nccl@2.21"
    assert resolved.software.env == {"NCCL_ALGO": "Ring"}
    assert "NCCL_ALGO=Ring" in said(resolved.machine, "settings-from-log")


def test_a_log_alone_is_enough_for_a_forecast(tmp_path):
    (tmp_path / "run.log").write_text(log(link="NVL[370.8] - NVS/0"))
    result = ws.collective("all_reduce", on=ws.cluster(str(tmp_path / "run.log")), sizes="1G")
    assert result.rows[0].busbw_GBps > 100
    assert any(n.code == "machine-from-log" for n in result.warnings)


def test_a_pair_without_nvlink_is_a_pcie_box():
    text = log(gpus=2, nics=1, more="n0:1:1 [0] NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct")
    machine = of_log(text).machine
    assert machine.platform.startswith("pcie-")
    assert len(machine.unit.of_kind(ComponentKind.NIC)) == 1


def test_reading_from_a_peer_over_nvlink_is_an_a100():
    line = "n0:1:1 [0] NCCL INFO Channel 00 : 0[1b000] -> 1[43000] via P2P/IPC/read"
    assert of_log(log(nics=4, more=line)).machine.gpu.startswith("a100-sxm")


def test_roce_is_ethernet():
    assert of_log(log(layer="RoCE")).machine.network == "ethernet"


def test_a_log_that_names_no_nic_gets_those_of_the_preset():
    resolved = of_log(log(nics=0))
    assert len(resolved.machine.unit.of_kind(ComponentKind.NIC)) > 0
    assert "no NIC is named" in said(resolved.machine, "machine-from-log")


def test_what_is_off_is_said_with_how_to_forecast_it():
    line = "n0:1:1 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 1 'mlx5_1'"
    assert "off for mlx5_1; --change gdr=off" in said(
        of_log(log(more=line)).machine, "gdr-off-in-log"
    )
    line = "n0:1:1 [0] NCCL INFO Using network Socket"
    assert "net=socket" in said(of_log(log(more=line)).machine, "sockets-in-log")
    line = "n0:1:1 [0] NCCL INFO NVLS multicast support is not available on dev 0"
    assert "NVLS off" in said(of_log(log(more=line)).machine, "abilities-in-log")


def test_a_line_or_two_of_one_process_are_no_machine():
    with pytest.raises(InputError, match="no GPU is named"):
        of_log("n0:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n")


def test_a_log_of_rccl_is_a_machine_of_amd_s():
    text = log().replace("NCCL version", "RCCL version")
    machine = of_log(text).machine
    assert machine.library == "rccl"
    assert machine.gpu.startswith("mi")


def test_a_file_of_graphs_counts_gpus_too():
    text = (
        '<graphs version="1"><graph id="0" pattern="4" nchannels="1" typeintra="SYS">'
        '<channel><gpu dev="0"/><gpu dev="1"/></channel></graph></graphs>'
    )
    machine = of_log(text).machine
    assert len(machine.unit.of_kind(ComponentKind.GPU)) == 2
    assert machine.platform.startswith("pcie-")


def test_beside_a_matrix_the_log_brings_nodes_and_settings():
    found = combine(
        [
            evidence(MATRIX, "topo.txt"),
            evidence(log(hosts=4, env="NCCL_PROTO set by environment to LL")),
        ]
    )
    assert (found.machine.platform, found.nodes) == ("dgx-h100", 4)
    assert found.software is not None
    assert found.software.env == {"NCCL_PROTO": "LL"}
    assert not any(n.code == "contradiction" for n in found.machine.warnings)
    assert "machine-from-log" not in {n.code for n in found.machine.warnings}


def test_what_contradicts_the_files_is_said_with_the_line():
    text = log(nics=12, link="NVL[370.8] - NVS/0")
    four = matrix_text(preset_machine("pcie-8x-rtx4090").unit)
    contradictions = [
        n.text
        for n in combine([evidence(four, "topo.txt"), evidence(text)]).machine.warnings
        if n.code == "contradiction"
    ]
    assert any("says NVLink all the way between GPUs, topo.txt" in text for text in contradictions)
    found = combine([evidence(MATRIX, "topo.txt"), evidence(text)]).machine
    assert "mlx5_10, mlx5_11 in run.log:2 is no NIC" in said(found, "contradiction")
    query = "index, name, pci.bus_id\n" + "".join(
        f"{k}, NVIDIA H100 80GB HBM3, 00000000:0{k}:00.0\n" for k in range(8)
    )
    parts = [evidence(MATRIX, "topo.txt"), evidence(query, "gpus.csv"), evidence(log())]
    assert "is no GPU of" in said(combine(parts).machine, "contradiction")


def test_the_doctor_compares_on_the_log_s_machine(tmp_path):
    run = (
        "#       size         count      type   redop    root     time   algbw   busbw #wrong"
        "     time   algbw   busbw #wrong\n"
        "  1073741824     268435456     float     sum      -1   60000   17.90   33.56      0"
        "    60000   17.90   33.56      0\n"
    )
    (tmp_path / "run.log").write_text(log(link="NVL[370.8] - NVS/0") + run)
    report = ws.doctor(str(tmp_path / "run.log"))
    assert report.comparison is not None
    assert report.verdict == "slow"
    assert any(n.code == "machine-from-log" for n in report.warnings)


@pytest.mark.parametrize(
    ("bus", "whole"),
    [
        ("1b000", "0000:1b:00.0"),
        ("901000", "0009:01:00.0"),
        ("0000:2c:00", "0000:2c:00.0"),
        ("", ""),
        ("x", ""),
        ("f" * 40, ""),
    ],
)
def test_addresses(bus: str, whole: str):
    assert address(bus) == whole


SAMPLES = [
    ("nccl-info-log/03-a100-4node-2chan-2.10.3.txt", "a100-sxm", 8, 4),
    ("nccl-info-log/04-a100-noshm-nop2p-2.7.8.txt", "a100-sxm-40gb", 2, 1),
    ("nccl-info-log/05-4090-8-2.26.5-shm.txt", "rtx-4090", 2, 1),
    ("nccl-info-log/06-h100-affinity-mismatch.txt", "", 8, 2),
    ("nccl-info-log/07-gdr-distance.txt", "", 4, 1),
    ("nccl-info-log/09-p2p-not-enabled-pcie.txt", "", 2, 2),
    ("nccl-info-log/12-gb200-channels.txt", "", 4, 1),
    ("nccl-info-log/15-rccl-missing-iommu.txt", "mi", 8, 1),
    ("nccl-info-log/19-no-nvls-4gpu.txt", "", 4, 1),
    ("nccl-graph-xml/01-azure-ncv4-graph.xml", "a100-pcie", 4, 1),
]


@pytest.mark.corpus
@pytest.mark.parametrize(("name", "gpu", "count", "nodes"), SAMPLES)
def test_published_logs_are_machines(name: str, gpu: str, count: int, nodes: int):
    resolved = resolve(str(shared("samples", *name.split("/"))))
    assert resolved.machine.gpu.startswith(gpu)
    assert len(resolved.machine.unit.of_kind(ComponentKind.GPU)) == count
    assert resolved.nodes == nodes


def test_logs_of_several_hosts_of_a_job_in_files_of_their_own_are_one_job():
    whole = log(hosts=2).replace("nNodes 2 ", "")
    first = "\n".join(line for line in whole.split("\n") if line.startswith("n0:"))
    second = "\n".join(line for line in whole.split("\n") if line.startswith("n1:"))
    for bus in BUSES:
        # Slots of the second host have other addresses.
        second = second.replace(f"busId {bus}", f"busId a{bus}")
    node = log_node([evidence(first, "n0.log"), evidence(second, "n1.log")])
    assert node is not None
    assert (len(node.gpus), node.nodes, node.hosts) == (8, 2, ["n0", "n1"])
    assert node.gpus[0].bus_id == "0000:1b:00.0"
    again = log_node([evidence(first, "a.log"), evidence(first, "b.log")])
    assert again is not None
    assert set(again.hosts) == {"n0"}
