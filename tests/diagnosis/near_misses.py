"""Texts on which each rule of the doctor fires, and ones that look alike on which it must not.

Written from what the tools print, before the rules were, and by someone else. A case names the code
that must be among the findings (`fires`) and codes that must not (`silent`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    texts: dict[str, str]
    fires: str | None = None
    silent: tuple[str, ...] = ()


_HEAD = """\
gpu-a:410:410 [0] NCCL INFO Bootstrap : Using ens3:192.168.7.11<0>
gpu-a:410:410 [0] NCCL INFO NCCL version 2.21.5+cuda12.4
"""

_PCIE_MATRIX = """\
\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tPHB\t0-31\t0\t\tN/A
GPU1\tPHB\t X \t0-31\t0\t\tN/A
"""

_P2P_HANGS = """\
# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
gpu-a:410:433 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
gpu-a:410:434 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/CUMEM
gpu-a:410:433 [0] NCCL INFO Connected all rings
gpu-a:410:433 [0] NCCL INFO comm 0x5581 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 21000 commId 0x77 - Init COMPLETE
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""

_LSPCI_REDIRECTED = """\
20:01.1 PCI bridge: Advanced Micro Devices, Inc. [AMD] Starship/Matisse GPP Bridge (prog-if 00 [Normal decode])
\tCapabilities: [2a0 v1] Access Control Services
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans+
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
"""

_LSPCI_VALIDATES = _LSPCI_REDIRECTED.replace(
    "ACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+",
    "ACSCtl:\tSrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd-",
)

_TWO_NODES = """\
gpu-a:410:433 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB ens3:192.168.7.11<0>
gpu-b:512:533 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB ens3:192.168.7.12<0>
gpu-a:410:433 [0] NCCL INFO Using network IB
gpu-b:512:533 [0] NCCL INFO Using network IB
gpu-a:410:433 [0] NCCL INFO comm 0x5581 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
gpu-b:512:533 [0] NCCL INFO comm 0x5581 rank 1 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0
"""

_EDGES = """\
gpu-a:410:433 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0{gdr}
gpu-a:410:433 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0{gdr}
gpu-b:512:533 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0{other}
gpu-b:512:533 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0{other}
gpu-a:410:433 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1
"""

_GRAPH_LEVEL = """\
gpu-a:410:433 [0] NCCL INFO === System : maxBw 24.0 totalBw 24.0 ===
gpu-a:410:433 [0] NCCL INFO CPU/0 (1/1/2)
"""

_SWITCHED = """\
\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tNV18\t{w}\t0-47\t0\t\tN/A
GPU1\tNV18\t X \tNV18\t{w}\t0-47\t0\t\tN/A
GPU2\tNV18\tNV18\t X \t{w}\t0-47\t0\t\tN/A
GPU3\t{w}\t{w}\t{w}\t X \t0-47\t0\t\tN/A
"""

_NVLINK_UP = "".join(f"\t Link {k}: 26.562 GB/s\n" for k in range(18))

_EMULATED = """\
<system version="1">
  <cpu numaid="-1" affinity="ffffffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:00:05.0" class="0x060400" vendor="0x1b36" device="0x000c" link_speed="{speed}" link_width="{width}">
      <pci busid="0000:04:00.0" class="0x030200" vendor="0x10de" device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1"/>
      </pci>
    </pci>
    <pci busid="0000:00:06.0" class="0x060400" vendor="0x1b36" device="0x000c" link_speed="{speed}" link_width="{width}">
      <pci busid="0000:05:00.0" class="0x020700" vendor="0x15b3" device="0x101e" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1" maxconn="131072" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
"""

_REAL_BRIDGE = _EMULATED.replace(
    'vendor="0x1b36" device="0x000c"', 'vendor="0x8086" device="0x352a"'
).replace('numaid="-1"', 'numaid="0"')

_IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 12
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4129
\tNumber of ports: 1
\tPort 1:
\t\tState: {state}
\t\tPhysical state: {physical}
\t\tRate: {rate}
\t\tBase lid: {lid}
\t\tLink layer: InfiniBand
"""

_LINK = """\
18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed {speed}, Width {width}
"""

_RESULTS = """\
# nThread 1 nGpus 8 minBytes {size} maxBytes {size} step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#  Rank  0 Group  0 Pid   2001 on gpu-a device  0 [0000:18:00] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   2001 on gpu-a device  1 [0000:33:00] NVIDIA H100 80GB HBM3
#  Rank  2 Group  0 Pid   2001 on gpu-a device  2 [0000:4e:00] NVIDIA H100 80GB HBM3
#  Rank  3 Group  0 Pid   2001 on gpu-a device  3 [0000:69:00] NVIDIA H100 80GB HBM3
#  Rank  4 Group  0 Pid   2001 on gpu-a device  4 [0000:84:00] NVIDIA H100 80GB HBM3
#  Rank  5 Group  0 Pid   2001 on gpu-a device  5 [0000:9f:00] NVIDIA H100 80GB HBM3
#  Rank  6 Group  0 Pid   2001 on gpu-a device  6 [0000:ba:00] NVIDIA H100 80GB HBM3
#  Rank  7 Group  0 Pid   2001 on gpu-a device  7 [0000:d5:00] NVIDIA H100 80GB HBM3
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
{row}
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 1.0
"""


def _edges(gdr: str, other: str | None = None) -> str:
    return _EDGES.format(gdr=gdr, other=gdr if other is None else other)


CASES = (
    # A. PCIe peer-to-peer redirected or broken
    Case(
        "p2p over PCIe stalls after the header and bridges redirect requests",
        {"run.txt": _HEAD + _P2P_HANGS, "topo.txt": _PCIE_MATRIX, "lspci.txt": _LSPCI_REDIRECTED},
        fires="acs_iommu",
    ),
    Case(
        "bridges that only validate the source redirect nothing",
        {"run.txt": _HEAD + _P2P_HANGS, "topo.txt": _PCIE_MATRIX, "lspci.txt": _LSPCI_VALIDATES},
        silent=("acs_iommu",),
    ),
    Case(
        "the capability to redirect is not the setting",
        {"lspci.txt": _LSPCI_VALIDATES},
        silent=("acs_iommu",),
    ),
    # B. GPUDirect RDMA
    Case(
        "no peer memory module for a NIC",
        {
            "log.txt": _HEAD
            + _TWO_NODES
            + "gpu-a:410:433 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n"
            + _edges("")
        },
        fires="gdr_off",
    ),
    Case(
        "edges say GDRDMA both ways",
        {"log.txt": _HEAD + _TWO_NODES + _edges("/GDRDMA")},
        silent=("gdr_off",),
    ),
    Case(
        "one node sends and receives without it",
        {"log.txt": _HEAD + _TWO_NODES + _edges("/GDRDMA", "")},
        fires="gdr_off",
    ),
    Case(
        "the probe for DMA-BUF says nothing against it, and no edge is shown",
        {
            "log.txt": _HEAD
            + _TWO_NODES
            + "gpu-a:410:433 [0] NCCL INFO DMA-BUF is available on GPU device 0\n"
        },
        silent=("gdr_off",),
    ),
    Case(
        "sockets know no GPUDirect: the missing word is no finding about it",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] NCCL INFO Using network Socket\n"
            + "gpu-a:410:433 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n"
        },
        silent=("gdr_off",),
    ),
    # C. NVLink, NVSwitch, fabric manager
    Case(
        "multicast memory cannot be bound",
        {
            "log.txt": _HEAD
            + "[2026-03-02 10:11:12] gpu-a:410:433 [0] transport/nvls.cc:254 NCCL WARN Cuda failure 401"
            " 'the operation cannot be performed in the present state'\n"
        },
        fires="fabric_manager",
    ),
    Case(
        "no multicast where there is no switch is how such cards are",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] NCCL INFO NVLS multicast support is not available on dev 0"
            " (NVLS_NCHANNELS 0)\n"
        },
        silent=("fabric_manager", "nvls_off"),
    ),
    Case("a GPU off the switch", {"topo.txt": _SWITCHED.format(w="SYS")}, fires="nvlink_down"),
    Case("all on the switch", {"topo.txt": _SWITCHED.format(w="NV18")}, silent=("nvlink_down",)),
    Case(
        "a link of one GPU is inactive",
        {
            "nvlink.txt": "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-aaaa)\n"
            + _NVLINK_UP
            + "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-bbbb)\n"
            + _NVLINK_UP.replace("Link 17: 26.562 GB/s", "Link 17: <inactive>")
        },
        fires="nvlink_down",
    ),
    Case(
        "H100 NVL has twelve active links of eighteen by design",
        {
            "nvlink.txt": "".join(
                f"GPU {k}: NVIDIA H100 NVL (UUID: GPU-aaa{k})\n"
                + "".join(
                    f"\t Link {n}: " + ("26.562 GB/s\n" if n < 12 else "<inactive>\n")
                    for n in range(18)
                )
                for k in range(2)
            )
        },
        silent=("nvlink_down",),
    ),
    Case(
        "bridges join pairs: words differ between rows of equal kind",
        {
            "topo.txt": "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
            "GPU0\t X \tNV12\tSYS\tSYS\t0-23\t0\t\tN/A\n"
            "GPU1\tNV12\t X \tSYS\tSYS\t0-23\t0\t\tN/A\n"
            "GPU2\tSYS\tSYS\t X \tNV12\t24-47\t1\t\tN/A\n"
            "GPU3\tSYS\tSYS\tNV12\t X \t24-47\t1\t\tN/A\n"
        },
        silent=("nvlink_down",),
    ),
    Case(
        "two cliques in one rack",
        {
            "log.txt": "tray-1:10:20 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\n"
            "tray-1:10:20 [0] NCCL INFO MNNVL busId 0x901000 fabric UUID 1d2f.8a cliqueId 0x1"
            " state 3 healthMask 0x0\n"
            "tray-2:11:21 [0] NCCL INFO MNNVL busId 0x901000 fabric UUID 1d2f.8a cliqueId 0x2"
            " state 3 healthMask 0x0\n"
        },
        fires="fabric_clique_mismatch",
    ),
    Case(
        "eight H100 have a fabric without a cluster: UUID zero is no mismatch",
        {
            "log.txt": "gpu-a:10:20 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\n"
            "gpu-a:10:20 [0] NCCL INFO MNNVL busId 0x18000 fabric UUID 0.0 cliqueId 0x0"
            " state 3 healthMask 0x0\n"
            "gpu-b:11:21 [0] NCCL INFO MNNVL busId 0x18000 fabric UUID 0.0 cliqueId 0x0"
            " state 3 healthMask 0x0\n"
        },
        silent=("fabric_clique_mismatch",),
    ),
    # D. A topology that a hypervisor hides
    Case(
        "emulated bridges with no speed",
        {"topo.xml": _EMULATED.format(speed="2.5 GT/s PCIe", width="1")},
        fires="vm_topology",
    ),
    Case(
        "a root port of a real processor at full speed",
        {"topo.xml": _REAL_BRIDGE.format(speed="32.0 GT/s PCIe", width="16")},
        silent=("vm_topology",),
    ),
    # E. The wrong interface for start-up
    Case(
        "ranks that meet over the container bridge and never finish",
        {
            "log.txt": "gpu-a:410:410 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n"
            "gpu-a:410:410 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
            "gpu-b:512:512 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>\n"
            "gpu-b:512:540 [0] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to"
            " 172.17.0.1<41211> failed : Connection refused\n"
        },
        fires="wrong_interface",
    ),
    Case(
        "one machine may well meet itself over loopback",
        {
            "log.txt": "gpu-a:410:410 [0] NCCL INFO Bootstrap : Using lo:127.0.0.1<0>\n"
            "gpu-a:410:410 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
            "gpu-a:410:433 [0] NCCL INFO comm 0x5581 rank 0 nRanks 2 nNodes 1 localRanks 2"
            " localRank 0 MNNVL 0\n"
            "gpu-a:410:433 [0] NCCL INFO comm 0x5581 rank 0 nranks 2 cudaDev 0 busId 21000"
            " - Init COMPLETE\n"
        },
        silent=("wrong_interface",),
    ),
    # F. A fast network that is there and not used
    Case(
        "the device cannot be opened and sockets carry the data",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] misc/ibvwrap.cc:212 NCCL WARN Call to ibv_open_device failed\n"
            + "gpu-a:410:433 [0] transport/net_ib.cc:148 NCCL WARN NET/IB : Unable to open device mlx5_0\n"
            + "gpu-a:410:433 [0] NCCL INFO NET/IB : No device found.\n"
            + "gpu-a:410:433 [0] NCCL INFO Using network Socket\n"
        },
        fires="fabric_not_driven",
    ),
    Case(
        "a plugin that is not installed is no fault where verbs work",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so. Using"
            " internal net plugin.\n" + _TWO_NODES + _edges("/GDRDMA")
        },
        silent=("fabric_not_driven",),
    ),
    Case(
        "one node that uses no network has none to miss",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] NCCL INFO NET/IB : No device found.\n"
            + "gpu-a:410:433 [0] NCCL INFO Using network Socket\n"
            + "gpu-a:410:433 [0] NCCL INFO comm 0x5581 rank 0 nRanks 8 nNodes 1 localRanks 8"
            " localRank 0 MNNVL 0\n"
            + "gpu-a:410:433 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
        },
        silent=("fabric_not_driven",),
    ),
    # G. The path between NICs
    Case(
        "retries exceeded",
        {
            "log.txt": _HEAD
            + "[2026-03-02 10:11:12] gpu-a:410:470 [0] transport/net_ib.cc:1345 NCCL WARN NET/IB :"
            " Got completion from peer 192.168.8.12<40111> with status=12 opcode=0 len=0 vendor"
            " err 129 (Send)\n"
        },
        fires="rdma_path_error",
    ),
    Case(
        "a peer that has gone (status 5) is a consequence, not a path",
        {
            "log.txt": _HEAD
            + "gpu-a:410:470 [0] transport/net_ib.cc:1345 NCCL WARN NET/IB : Got completion from"
            " peer 192.168.8.12<40111> with status=5 opcode=0 len=0 vendor err 249 (Recv)\n"
        },
        silent=("rdma_path_error",),
    ),
    # H. NICs
    Case(
        "hosts that list other devices",
        {
            "log.txt": _HEAD
            + _TWO_NODES.replace(
                "gpu-b:512:533 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB",
                "gpu-b:512:533 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB",
            )
        },
        fires="wrong_or_few_nics",
    ),
    Case(
        "InfiniBand and Ethernet ports in one list",
        {"log.txt": _HEAD + _TWO_NODES.replace("[1]mlx5_1:1/IB", "[1]mlx5_1:1/RoCE")},
        fires="wrong_or_few_nics",
    ),
    Case(
        "hosts of one job that list other devices, a log each",
        {
            "a.txt": _HEAD + "gpu-a:410:433 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO];\n",
            "b.txt": _HEAD.replace("gpu-a", "gpu-b")
            + "gpu-b:512:533 [0] NCCL INFO NET/IB : Using [0]mlx5_1:1/IB [RO];\n",
        },
        fires="wrong_or_few_nics",
    ),
    Case(
        "logs of two jobs, of another release each",
        {
            "a.txt": _HEAD + "gpu-a:410:433 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO];\n",
            "b.txt": _HEAD.replace("2.21.5+cuda12.4", "2.26.2+cuda12.8")
            + "gpu-z:512:533 [0] NCCL INFO NET/IB : Using [0]mlx5_bond_1:1/RoCE [RO];\n",
        },
        silent=("wrong_or_few_nics",),
    ),
    Case("the same two on both", {"log.txt": _HEAD + _TWO_NODES}, silent=("wrong_or_few_nics",)),
    Case(
        "a port that trains and gets no link",
        {"ibstat.txt": _IBSTAT.format(state="Down", physical="Polling", rate=10, lid=65535)},
        fires="port_down",
    ),
    Case(
        "both ports up at the same rate",
        {"ibstat.txt": _IBSTAT.format(state="Active", physical="LinkUp", rate=400, lid=13)},
        silent=("port_down",),
    ),
    # J. PCIe boxes without peer-to-peer
    Case(
        "cards that refuse peer access go through host memory",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] NCCL INFO Could not enable P2P between dev 0(=21000) and"
            " dev 1(=41000)\n" + "gpu-a:410:433 [0] NCCL INFO Channel 00 : 0[21000] -> 1[41000] via"
            " SHM/direct/direct\n"
        },
        fires="p2p_unavailable",
    ),
    Case(
        "switched off by the variable: the user's own wish, under another name",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\n"
            + "gpu-a:410:433 [0] NCCL INFO Channel 00 : 0[21000] -> 1[41000] via"
            " SHM/direct/direct\n"
        },
        fires="p2p_disabled_env",
        silent=("p2p_unavailable",),
    ),
    Case(
        "the variable set to zero disables nothing",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 0\n"
            + "gpu-a:410:433 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
        },
        silent=("p2p_disabled_env", "p2p_unavailable"),
    ),
    # K. Limits of containers
    Case(
        "shared memory too small",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] misc/shmutils.cc:88 NCCL WARN Error: failed to extend"
            " /dev/shm/nccl-Ab12Cd to 9637892 bytes, error: No space left on device (28)\n"
        },
        fires="shm_too_small",
    ),
    Case(
        "a disk that is full is not shared memory",
        {
            "log.txt": _HEAD
            + "checkpoint.py: OSError: [Errno 28] No space left on device: '/scratch/c'\n"
        },
        silent=("shm_too_small",),
    ),
    Case(
        "memory cannot be locked",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] misc/ibvwrap.cc:190 NCCL WARN Call to ibv_reg_mr failed with error"
            " Cannot allocate memory\n"
        },
        fires="memlock",
    ),
    Case(
        "the GPU's memory is full, which no limit mends",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] NCCL INFO init.cc:1340 -> 1\n"
            + "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
        },
        silent=("memlock",),
    ),
    Case(
        "two GPUs of one host that meet over the network",
        {
            "log.txt": "box-1:7:20 [0] NCCL INFO NCCL version 2.21.5+cuda12.4\n"
            "box-1:7:20 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0"
            " MNNVL 0\n"
            "box-1:9:21 [0] NCCL INFO comm 0x2 rank 1 nRanks 2 nNodes 2 localRanks 1 localRank 0"
            " MNNVL 0\n"
            "box-1:7:20 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n"
            "box-1:9:21 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA\n"
        },
        fires="container_isolation",
    ),
    Case(
        "two hosts that meet over the network",
        {"log.txt": _HEAD + _TWO_NODES + _edges("/GDRDMA")},
        silent=("container_isolation",),
    ),
    # L. A slow PCIe link
    Case(
        "half the lanes",
        {"lspci.txt": _LINK.format(speed="32GT/s (ok)", width="x8 (downgraded)")},
        fires="pcie_link_degraded",
    ),
    Case(
        "an idle card lowers its speed to save power",
        {"lspci.txt": _LINK.format(speed="2.5GT/s (downgraded)", width="x16 (ok)")},
        silent=("pcie_link_degraded",),
    ),
    Case(
        "the kernel names the port that limits",
        {
            "dmesg.txt": "[    9.120000] pci 0000:18:00.0: 252.048 Gb/s available PCIe bandwidth,"
            " limited by 16.0 GT/s PCIe x16 link at 0000:15:01.0 (capable of 504.112 Gb/s with"
            " 32.0 GT/s PCIe x16 link)\n"
        },
        fires="pcie_link_degraded",
    ),
    # N. Settings that force a choice
    Case(
        "a protocol for small messages forced on all",
        {"log.txt": _HEAD + "gpu-a:410:433 [0] NCCL INFO NCCL_PROTO set by environment to LL\n"},
        fires="forced_protocol",
    ),
    Case(
        "naming all three protocols forces none",
        {
            "log.txt": _HEAD
            + "gpu-a:410:433 [0] NCCL INFO NCCL_PROTO set by environment to LL,LL128,Simple\n"
        },
        silent=("forced_protocol",),
    ),
    # I. A number that is right
    Case(
        "eight H100 at 478 GB/s: above a ring's limit, as multicast gives",
        {
            "run.txt": _RESULTS.format(
                size=8589934592,
                row="  8589934592    2147483648     float     sum      -1    31450  273.13  477.98"
                "      0    31460  273.04  477.83      0",
            )
        },
        fires="nothing_wrong",
        silent=("nvls_off",),
    ),
    Case(
        "eight H100 without multicast",
        {
            "run.txt": _RESULTS.format(
                size=8589934592,
                row="  8589934592    2147483648     float     sum      -1    40930  209.87  367.27"
                "      0    40940  209.82  367.18      0",
            )
        },
        fires="nvls_off",
        silent=("nothing_wrong",),
    ),
    Case(
        "256 MiB is too small to show what the wires give",
        {
            "run.txt": _RESULTS.format(
                size=268435456,
                row="   268435456      67108864     float     sum      -1   1065.0  252.05  441.09"
                "      0   1066.0  251.82  440.68      0",
            )
        },
        silent=("nvls_off", "nvlink_down"),
    ),
)
