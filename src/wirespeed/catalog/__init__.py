"""Hardware as data: GPUs, links, switches, adapters, each row with its source and confidence.

Each function reads its own file, once.
"""

from wirespeed.catalog._cpu_links import CpuLink, cpu_link, cpu_links
from wirespeed.catalog._gpus import Dtype, Gpu, gpu, gpus, nvlink_of
from wirespeed.catalog._infiniband import (
    InfinibandGeneration,
    infiniband,
    infiniband_generations,
)
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
from wirespeed.catalog._pcie import (
    PcieGeneration,
    PcieP2p,
    pcie,
    pcie_generations,
    pcie_p2p,
    pcie_payload_share,
)
from wirespeed.catalog._table import Row
from wirespeed.catalog._xgmi import Xgmi, xgmi, xgmi_generations

__all__ = [
    "C2c",
    "CpuLink",
    "Dtype",
    "Gpu",
    "Hop",
    "InfinibandGeneration",
    "Launch",
    "Nic",
    "NvlinkGeneration",
    "NvswitchGeneration",
    "PcieGeneration",
    "PcieP2p",
    "RdmaLatency",
    "Row",
    "SwitchLatency",
    "WithoutNvlink",
    "Xgmi",
    "c2c",
    "c2c_links",
    "cpu_link",
    "cpu_links",
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
    "pcie",
    "pcie_generations",
    "pcie_p2p",
    "pcie_payload_share",
    "rdma_latencies",
    "rdma_latency",
    "switch_latencies",
    "switch_latency",
    "without_nvlink",
    "xgmi",
    "xgmi_generations",
]
