"""Small outputs of host and fabric tools, written for these tests in the tools' own formats."""

from __future__ import annotations

import fabric_text as ft

_LINKS = "".join(f"\t Link {k}: 26.562 GB/s\n" for k in range(18))
NVLINK = (
    "$ nvidia-smi nvlink -s\n"
    f"GPU 0: NVIDIA H200 (UUID: GPU-11)\n{_LINKS}"
    f"GPU 1: NVIDIA H200 (UUID: GPU-12)\n{_LINKS.replace('Link 7: 26.562 GB/s', 'Link 7: <inactive>')}"
)
NVLINK_ERRORS = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)
\t Link 0: Replay Errors: 0
\t Link 0: Recovery Errors: 0
\t Link 0: CRC Errors: 0

\t Link 1: Replay Errors: 142
\t Link 1: Recovery Errors: 3
\t Link 1: CRC Errors: 891
"""

ROCM = """\
========================= ROCm System Management Interface =========================
=============================== Weight between two GPUs ============================
       GPU0         GPU1         GPU2         GPU3
GPU0   0            15           30           15
GPU1   15           0            15           30
GPU2   30           15           0            15
GPU3   15           30           15           0

================================ Hops between two GPUs =============================
       GPU0         GPU1         GPU2         GPU3
GPU0   0            1            1            1
GPU1   1            0            1            1
GPU2   1            1            0            1
GPU3   1            1            1            0

============================= Link Type between two GPUs ===========================
       GPU0         GPU1         GPU2         GPU3
GPU0   0            XGMI         XGMI         XGMI
GPU1   XGMI         0            XGMI         XGMI
GPU2   XGMI         XGMI         0            XGMI
GPU3   XGMI         XGMI         XGMI         0

==================================== Numa Nodes ====================================
GPU 0          : Numa Node: 0
GPU 1          : Numa Node: 0
GPU 2          : Numa Node: 1
GPU 3          : Numa Node: 1
=============================== End of ROCm SMI Log ================================
"""

NVBANDWIDTH = """\
nvbandwidth Version: v0.8
CUDA Runtime Version: 12080
Driver Version: 570.86.15

Device 0: NVIDIA H100 80GB HBM3 (00000000:18:00)
Device 1: NVIDIA H100 80GB HBM3 (00000000:2a:00)

Running device_to_device_memcpy_read_ce.
memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A    392.11
 1    391.87       N/A

SUM device_to_device_memcpy_read_ce 783.98

Running device_to_device_bidirectional_memcpy_read_ce.
memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)
           0         1
 0       N/A    388.20
 1    388.21       N/A

SUM device_to_device_bidirectional_memcpy_read_ce_read1 776.41

memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)
           0         1
 0       N/A    776.30
 1    776.28       N/A

SUM device_to_device_bidirectional_memcpy_read_ce_total 1552.58

Running device_to_host_memcpy_ce.
memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)
           0         1
 0     55.26     55.31

SUM device_to_host_memcpy_ce 110.57

Running device_to_device_latency_sm.
memory latency SM GPU(row) <-> GPU(column) (ns)
           0         1
 0       N/A    701.20
 1    702.10       N/A

Waived: multinode_device_to_device_memcpy_read_ce
"""

P2P = """\
[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA L40S, pciBusID: 1a, pciDeviceID: 0, pciDomainID:0
Device: 1, NVIDIA L40S, pciBusID: 4f, pciDeviceID: 0, pciDomainID:0
Device=0 CAN Access Peer Device=1
Device=1 CAN Access Peer Device=0

P2P Connectivity Matrix
     D\\D     0     1
     0\t     1     1
     1\t     1     1
Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 671.40  19.02
     1  19.11 672.66
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 671.12  25.70
     1  25.71 673.01
Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)
   D\\D     0      1
     0 676.02  50.90
     1  50.93 676.88
P2P=Enabled Latency (P2P Writes) Matrix (us)
   GPU     0      1
     0   1.51   1.21
     1   1.23   1.50

   CPU     0      1
     0   2.11   1.62
     1   1.64   2.15
"""

LSPCI = """\
17:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0) (prog-if 00 [Normal decode])
\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B-
\tNUMA node: 0
\tCapabilities: [68] Express (v2) Upstream Port, MSI 00
\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0
\t\t\tExtTag+ AttnBtn- AttnInd- PwrInd- RBE+ SlotPowerLimit 75.000W
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 16GT/s (downgraded), Width x16 (ok)
\t\t\tTrErr- Train- SlotClk- DLActive- BWMgmt- ABWMgmt-
\tCapabilities: [170 v1] Access Control Services
\t\tACSCap:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
\tKernel driver in use: pcieport

18:00.0 3D controller: NVIDIA Corporation GH100 [H100 SXM5 80GB] (rev a1)
\tNUMA node: 0
\tIOMMU group: 41
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 32GT/s (ok), Width x8 (downgraded)
\tKernel driver in use: nvidia

1b:00.0 Infiniband controller [0207]: Mellanox Technologies MT2910 Family [ConnectX-7]
\t\tLnkCap: Port #0, Speed 32GT/s, Width x16
\t\tLnkSta: Speed 32GT/s, Width x16
"""

LSPCI_TREE = """\
-+-[0000:15]-+-00.0  Intel Corporation Ice Lake Memory Map/VT-d
 |           \\-01.0-[16-1b]----00.0-[17-1b]--+-00.0-[18]----00.0  NVIDIA Corporation GH100
 |                                           \\-01.0-[1b]--+-00.0  Mellanox Technologies MT2910
 |                                                        \\-00.1  Mellanox Technologies MT2910
 \\-[0000:00]-+-00.0  Intel Corporation Device 09a2
             \\-1f.0  Intel Corporation C620 Series
"""

DMESG = """\
[    2.118311] iommu: Default domain type: Translated
[    9.402181] pci 0000:5d:00.0: 126.024 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8 link at 0000:5c:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)
[ 4411.003911] NVRM: Xid (PCI:0000:5d:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 4
[ 4412.118822] nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error
[ 5000.000001] pcieport 0000:5c:00.0: AER: Corrected error received: 0000:5c:00.0
[ 6000.100000] NVRM: Xid (PCI:0000:5e:00): 79, pid=1234, GPU has fallen off the bus.
[ 7000.100000] mlx5_core 0000:1b:00.0 ibs0: Link down
[ 8000.000000] usb 1-1: new high-speed USB device number 2
"""

IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tFirmware version: 28.42.1000
\tNode GUID: 0xe89e490300aa0001
\tSystem image GUID: 0xe89e490300aa0001
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 33
\t\tSM lid: 1
\t\tPort GUID: 0xe89e490300aa0001
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4129
\tPort 1:
\t\tState: Initializing
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tBase lid: 65535
\t\tLink layer: InfiniBand
"""

IBDEV2NETDEV = """\
mlx5_0 port 1 ==> ibp26s0 (Up)
mlx5_1 port 1 ==> ibp60s0 (Down)
roceP2p1s0f0 port 1 ==> enP2p1s0f0np0 (Up)
0000:9a:00.0 mlx5_4 (MT4129 - MCX75310AAS-NEAT) ConnectX-7 VPI port 1 (ACTIVE) ==> ibs3 (Up)
"""

PERFQUERY = """\
# Port counters: Lid 12 port 3 (CapMask: 0x1400)
PortSelect:......................3
SymbolErrorCounter:..............65535
LinkErrorRecoveryCounter:........2
LinkDownedCounter:...............255
PortRcvErrors:...................17
LocalLinkIntegrityErrors:........0
PortXmitData:....................4294967295
PortXmitWait:....................77
"""

IBSWINFO = """\
=================================================
Quantum Mellanox Technologies
=================================================
part number        | MQM8790-HS2F
product name       | Jaguar Unmng IB 200
ports              | 80
GUID               | 0xb83fd20300112233
firmware version   | 27.2012.1010
-------------------------------------------------
PSU0 status        | OK
     fan status    | ERROR
     power (W)     | 151
-------------------------------------------------
temperature (C)    | 61
fan status         | OK
fan#1 (rpm)        | 6411
"""

PERFTEST_LATENCY = """\
---------------------------------------------------------------------------------------
                    RDMA_Write Latency Test
 Dual-port       : OFF\t\tDevice         : mlx5_2
 Number of qps   : 1\t\tTransport type : IB
 Link type       : Ethernet
 GID index       : 3
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]
 2       1000          1.02           5.21         1.05                1.06             0.08            1.22                    5.21
 8       1000          1.03           4.10         1.06                1.07             0.05            1.20                    4.10
---------------------------------------------------------------------------------------
"""
PERFTEST = """\
                    Send Bidirectional BW Test
 Link type       : IB
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             741.20             740.95               1.413250
 1048576    5000             780.10             512.40               0.061083
---------------------------------------------------------------------------------------
"""

SLURM_TREE = """\
SwitchName=core Switches=s[1-2]
SwitchName=s1 Nodes=gpu[01-04],login1 LinkSpeed=100
SwitchName=s2 Nodes=gpu[05-08]
"""
SLURM_BLOCKS = """\
BlockName=b1 Nodes=gb[001-018]
BlockName=b2 Nodes=gb[019-036]
BlockSizes=16,32
"""
SLURM_YAML = """\
---
- topology: fabric
  cluster_default: true
  tree:
    switches:
      - switch: core
        children: s[1-2]
      - switch: s1
        nodes: gpu[01-04]
      - switch: s2
        nodes: gpu[05-08]
- topology: racks
  cluster_default: false
  block:
    block_sizes:
      - 16
      - 32
    blocks:
      - block: b1
        nodes: gb[001-018]
"""

ASTRA = """\
topology: [ FullyConnected, Switch ]
npus_count: [ 4, 32 ]
bandwidth: [ 450.0, 50.0 ]
latency: [ 500.0, 2000.0 ]
"""

LSTOPO = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x00ff" nodeset="0x00000003" gp_index="1">
    <info name="Architecture" value="x86_64"/>
    <object type="Package" os_index="0" cpuset="0x000f" nodeset="0x00000001" gp_index="2">
      <info name="CPUVendor" value="GenuineIntel"/>
      <info name="CPUFamilyNumber" value="6"/>
      <info name="CPUModelNumber" value="143"/>
      <object type="NUMANode" os_index="0" cpuset="0x000f" nodeset="0x00000001" gp_index="3"/>
      <object type="Bridge" gp_index="10" bridge_type="0-1" bridge_pci="0000:[15-1b]">
        <object type="Bridge" gp_index="11" bridge_type="1-1" bridge_pci="0000:[16-1b]" pci_busid="0000:15:01.0" pci_type="0604 [8086:352a] [8086:0000] 04 00" pci_link_speed="63.015385">
          <object type="PCIDev" gp_index="12" pci_busid="0000:18:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1 00" pci_link_speed="63.015385">
            <object type="OSDev" gp_index="13" name="nvml0" osdev_type="1"><info name="GPUModel" value="NVIDIA H100 80GB HBM3"/></object>
          </object>
          <object type="PCIDev" gp_index="14" pci_busid="0000:1b:00.0" pci_type="0207 [15b3:1021] [15b3:0051] 00 00" pci_link_speed="63.015385">
            <object type="OSDev" gp_index="15" name="mlx5_0" osdev_type="3"/>
          </object>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x00f0" nodeset="0x00000002" gp_index="4">
      <object type="NUMANode" os_index="1" cpuset="0x00f0" nodeset="0x00000002" gp_index="5"/>
      <object type="Bridge" gp_index="20" bridge_type="0-1" bridge_pci="0000:[97-98]">
        <object type="PCIDev" gp_index="22" pci_busid="0000:98:00.0" pci_type="0302 [10de:2330] [10de:16c1] a1 00" pci_link_speed="31.507692">
          <object type="OSDev" gp_index="23" name="nvml1" osdev_type="1"><info name="GPUModel" value="NVIDIA H100 80GB HBM3"/></object>
        </object>
      </object>
    </object>
  </object>
  <distances2hetero nbobjs="2" kind="25" name="NVLinkBandwidth">
    <indexes length="20">OSDev:13 OSDev:23 </indexes>
    <u64values length="30">1000000 150000 150000 1000000 </u64values>
  </distances2hetero>
</topology>
"""

FABRIC = ft.rails(pods=1, hosts=3, rails=2, spines=2, trunk=1)
FLAT = """\
CA    11  1 0xe89e490300aa0001 4x NDR - SW     3  7 0xb83fd20300112233 ( 'node-1 mlx5_0' - 'leaf 1 ' )
SW     3  7 0xb83fd20300112233 4x NDR - CA    11  1 0xe89e490300aa0001 ( 'leaf 1 ' - 'node-1 mlx5_0' )
SW     3  9 0xb83fd20300112233 4x SDR                                    'leaf 1 '
"""
LISTED = """\
Ca\t: 0xe89e490300aa0001 ports 1 "node-1 mlx5_0"
Switch\t: 0xb83fd20300112233 ports 64 "MF0;leaf-1:MQM9700/U1" enhanced port 0 lid 3 lmc 0
"""

TEXTS = {
    "nvlink -s": (NVLINK, "nvlink"),
    "nvlink -e": (NVLINK_ERRORS, "nvlink"),
    "rocm-smi": (ROCM, "rocm-topo"),
    "nvbandwidth": (NVBANDWIDTH, "nvbandwidth"),
    "p2pBandwidthLatencyTest": (P2P, "p2p-bandwidth"),
    "lspci -vv": (LSPCI, "lspci"),
    "lspci -tv": (LSPCI_TREE, "lspci-tree"),
    "dmesg": (DMESG, "dmesg"),
    "ibstat": (IBSTAT, "ibstat"),
    "ibdev2netdev": (IBDEV2NETDEV, "ibdev2netdev"),
    "perfquery": (PERFQUERY, "perfquery"),
    "ibswinfo": (IBSWINFO, "ibswinfo"),
    "ib_write_lat": (PERFTEST_LATENCY, "perftest"),
    "ib_send_bw": (PERFTEST, "perftest"),
    "topology.conf": (SLURM_TREE, "slurm-topology"),
    "topology.conf of blocks": (SLURM_BLOCKS, "slurm-topology"),
    "topology.yaml": (SLURM_YAML, "slurm-topology"),
    "astra-sim": (ASTRA, "astra-sim"),
    "lstopo": (LSTOPO, "lstopo"),
    "ibnetdiscover": (ft.ibnetdiscover(FABRIC), "ibnetdiscover"),
    "ibnetdiscover -p": (FLAT, "ibnetdiscover"),
    "ibnetdiscover -l": (LISTED, "ibnetdiscover"),
    "iblinkinfo": (ft.iblinkinfo(FABRIC), "iblinkinfo"),
}
"""Text and the format that it is read as."""
