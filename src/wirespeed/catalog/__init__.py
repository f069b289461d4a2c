"""Hardware as data: GPUs, links, switches, adapters, each row with its source and confidence.

Each function reads its own file, once.
"""

from wirespeed.catalog._cloud_networks import (
    EfaGeneration,
    EfaInstance,
    GcpNetwork,
    Slingshot,
    efa,
    efa_generations,
    gcp_network,
    gcp_networks,
    slingshot,
    slingshots,
)
from wirespeed.catalog._clouds import Cloud, cloud, clouds
from wirespeed.catalog._corrections import Correction, corrections
from wirespeed.catalog._cpu_links import CpuLink, cpu_link, cpu_links
from wirespeed.catalog._ethernet import (
    EthernetSpeed,
    RocePackets,
    ethernet,
    ethernet_speeds,
    roce_packets,
    roce_payload_share,
)
from wirespeed.catalog._fabrics import Fabric, FabricSize, Torus, fabric, fabrics, tori, torus
from wirespeed.catalog._gpus import Dtype, Gpu, gpu, gpus, nvlink_of
from wirespeed.catalog._infiniband import InfinibandGeneration, infiniband, infiniband_generations
from wirespeed.catalog._latency import (
    Hop,
    Launch,
    RdmaLatency,
    SwitchLatency,
    hop_latencies,
    hop_latency,
    launch_latencies,
    launch_latency,
    rdma_latencies,
    rdma_latency,
    switch_latencies,
    switch_latency,
)
from wirespeed.catalog._nics import Nic, nic, nics
from wirespeed.catalog._nvlink import (
    Board,
    C2c,
    NvlinkGeneration,
    WithoutNvlink,
    c2c,
    c2c_links,
    nvlink,
    nvlink_generations,
    without_nvlink,
)
from wirespeed.catalog._nvswitch import NvswitchGeneration, nvswitch, nvswitch_generations
from wirespeed.catalog._parameter_sets import parameter_set
from wirespeed.catalog._parameters import Parameter, Parameters, generation_of, parameters
from wirespeed.catalog._pcie import (
    PcieGeneration,
    PcieP2p,
    pcie,
    pcie_generations,
    pcie_p2p,
    pcie_payload_share,
)
from wirespeed.catalog._platforms import Platform, platform, platforms
from wirespeed.catalog._table import Row
from wirespeed.catalog._tables import TABLES
from wirespeed.catalog._xgmi import Xgmi, xgmi, xgmi_generations

__all__ = [
    "TABLES",
    "Board",
    "C2c",
    "Cloud",
    "Correction",
    "CpuLink",
    "Dtype",
    "EfaGeneration",
    "EfaInstance",
    "EthernetSpeed",
    "Fabric",
    "FabricSize",
    "GcpNetwork",
    "Gpu",
    "Hop",
    "InfinibandGeneration",
    "Launch",
    "Nic",
    "NvlinkGeneration",
    "NvswitchGeneration",
    "Parameter",
    "Parameters",
    "PcieGeneration",
    "PcieP2p",
    "Platform",
    "RdmaLatency",
    "RocePackets",
    "Row",
    "Slingshot",
    "SwitchLatency",
    "Torus",
    "WithoutNvlink",
    "Xgmi",
    "c2c",
    "c2c_links",
    "cloud",
    "clouds",
    "corrections",
    "cpu_link",
    "cpu_links",
    "efa",
    "efa_generations",
    "ethernet",
    "ethernet_speeds",
    "fabric",
    "fabrics",
    "gcp_network",
    "gcp_networks",
    "generation_of",
    "gpu",
    "gpus",
    "hop_latencies",
    "hop_latency",
    "infiniband",
    "infiniband_generations",
    "launch_latencies",
    "launch_latency",
    "nic",
    "nics",
    "nvlink",
    "nvlink_generations",
    "nvlink_of",
    "nvswitch",
    "nvswitch_generations",
    "parameter_set",
    "parameters",
    "pcie",
    "pcie_generations",
    "pcie_p2p",
    "pcie_payload_share",
    "platform",
    "platforms",
    "rdma_latencies",
    "rdma_latency",
    "roce_packets",
    "roce_payload_share",
    "slingshot",
    "slingshots",
    "switch_latencies",
    "switch_latency",
    "tori",
    "torus",
    "without_nvlink",
    "xgmi",
    "xgmi_generations",
]
