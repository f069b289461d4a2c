"""All tables of the catalog by name, for pages and checks that go through everything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from wirespeed.catalog._cloud_networks import efa_generations, gcp_networks, slingshots
from wirespeed.catalog._clouds import clouds
from wirespeed.catalog._corrections import corrections
from wirespeed.catalog._cpu_links import cpu_links
from wirespeed.catalog._ethernet import ethernet_speeds, roce_packets
from wirespeed.catalog._fabrics import fabrics, tori
from wirespeed.catalog._gpus import gpus
from wirespeed.catalog._infiniband import infiniband_generations
from wirespeed.catalog._latency import (
    hop_latencies,
    launch_latencies,
    rdma_latencies,
    switch_latencies,
)
from wirespeed.catalog._nics import nics
from wirespeed.catalog._nvlink import c2c_links, nvlink_generations, without_nvlink
from wirespeed.catalog._nvswitch import nvswitch_generations
from wirespeed.catalog._pcie import pcie_generations, pcie_p2p
from wirespeed.catalog._platforms import platforms
from wirespeed.catalog._table import Row
from wirespeed.catalog._xgmi import xgmi_generations

TABLES: Mapping[str, Callable[[], tuple[Row, ...]]] = MappingProxyType(
    {
        "gpu": gpus,
        "nvlink": nvlink_generations,
        "without_nvlink": without_nvlink,
        "c2c": c2c_links,
        "nvswitch": nvswitch_generations,
        "xgmi": xgmi_generations,
        "pcie": pcie_generations,
        "p2p": pcie_p2p,
        "cpu_link": cpu_links,
        "infiniband": infiniband_generations,
        "ethernet": ethernet_speeds,
        "roce": roce_packets,
        "slingshot": slingshots,
        "efa": efa_generations,
        "gcp": gcp_networks,
        "nic": nics,
        "hop": hop_latencies,
        "launch": launch_latencies,
        "switch": switch_latencies,
        "rdma": rdma_latencies,
        "platform": platforms,
        "cloud": clouds,
        "fabric": fabrics,
        "torus": tori,
        "correction": corrections,
    }
)
"""Name of the `[[table]]` in its data file, and the function that reads it."""
