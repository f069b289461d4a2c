"""What the hardware page shows: its tables, in order, and their columns."""

from __future__ import annotations

from typing import NamedTuple


class Section(NamedTuple):
    """One table of the page: its name in the catalog, a heading, an introduction, its columns."""

    table: str
    title: str
    text: str
    columns: dict[str, str]


SECTIONS = (
    Section(
        "gpu",
        "GPUs and other accelerators",
        "Dense rates in TFLOP/s (int8: TOP/s): no 2:4 sparsity. FP32 is the vector rate, the "
        "others are the tensor or matrix units'. An MI250X row is the package of two GPUs. Best "
        "BF16 is the best matrix multiplication that was measured.",
        {
            "Memory GB": "memory_GB",
            "GB/s": "memory_GBps",
            "FP32": "fp32_TFLOPS",
            "TF32": "tf32_TFLOPS",
            "FP16": "fp16_TFLOPS",
            "BF16": "bf16_TFLOPS",
            "FP8": "fp8_TFLOPS",
            "FP4": "fp4_TFLOPS",
            "INT8": "int8_TOPS",
            "best BF16": "measured_bf16_TFLOPS",
            "SMs": "sm_count",
            "cc": "cc",
            "NVLink": "nvlink_generation",
            "links": "nvlink_links",
            "PCIe": "pcie_generation",
            "lanes": "pcie_lanes",
            "P2P": "pcie_p2p",
            "TDP W": "tdp_W",
            "Status": "status",
        },
    ),
    Section(
        "nvlink",
        "NVLink",
        "One link, one direction. The headline of a GPU is all its links with both directions "
        "summed. `nvidia-smi nvlink -s` prints the raw rate before coding.",
        {
            "lanes": "lanes_per_link",
            "Gb/s a lane": "lane_rate_Gbps",
            "GB/s a link": "bandwidth_GBps_dir",
            "nvidia-smi GB/s": "smi_GBps_dir",
            "NCCL plans GB/s": "planning_GBps_dir",
            "pair copy GB/s": "pair_copy_GBps_dir",
            "8-GPU ring busbw": "ring_busbw_GBps",
            "8-GPU NVLS busbw": "nvls_busbw_GBps",
            "Status": "status",
        },
    ),
    Section("without_nvlink", "GPUs without NVLink", "", {"GPUs": "gpus"}),
    Section(
        "c2c",
        "NVLink-C2C: GPU to CPU",
        "GB/s in one direction.",
        {
            "GB/s": "bandwidth_GBps_dir",
            "host to device": "measured_host_copy_GBps_dir",
            "device to host": "measured_device_copy_GBps_dir",
            "each way, both running": "measured_both_ways_GBps_dir",
            "Status": "status",
        },
    ),
    Section(
        "nvswitch",
        "NVSwitch",
        "One chip. The largest domain is the published limit, not always a product.",
        {
            "NVLink": "nvlink_generation",
            "ports": "ports",
            "GB/s a port, one direction": "port_GBps_dir",
            "chip GB/s, bidirectional": "chip_bidirectional_GBps",
            "largest domain": "largest_domain",
            "reduces (NVLS)": "in_network_reduction",
            "In a box": "per_box",
            "Status": "status",
        },
    ),
    Section(
        "xgmi",
        "AMD xGMI between GPUs",
        "GB/s in one direction. On a full mesh a pair of GPUs has one link.",
        {
            "GB/s a link": "bandwidth_GBps_dir",
            "links": "links",
            "links a pair": "links_per_pair",
            "sum GB/s": "total_GBps_dir",
            "RCCL plans GB/s": "planning_GBps_dir",
            "measured pair GB/s": "measured_pair_GBps_dir",
            "8-GPU all-reduce busbw": "measured_allreduce_busbw_GBps",
            "Status": "status",
        },
    ),
    Section(
        "pcie",
        "PCI Express",
        "GB/s in one direction after line coding: lanes x GT/s / 8 x payload / coded. Copies are "
        "between host and device on x16.",
        {
            "GT/s": "lane_rate_GTps",
            "Encoding": "encoding",
            "payload": "payload_units",
            "coded": "coded_units",
            "x16 GB/s": "@x16",
            "host to device": "host_copy_GBps_dir",
            "device to host": "device_copy_GBps_dir",
            "each way, both running": "both_ways_copy_GBps_dir",
            "to root us": "root_latency_us",
            "Status": "status",
        },
    ),
    Section(
        "p2p",
        "Copies between GPUs over PCIe, as measured",
        "",
        {
            "GB/s, one direction": "bandwidth_GBps_dir",
            "GB/s, bidirectional": "bidirectional_GBps",
            "all-reduce busbw by GPUs": "busbw_GBps",
            "traffic factor": "traffic_factor",
        },
    ),
    Section(
        "cpu_link",
        "Links between CPU sockets",
        "GB/s in one direction.",
        {
            "GB/s a link": "link_GBps_dir",
            "links": "links",
            "NCCL plans GB/s": "planning_GBps_dir",
        },
    ),
    Section(
        "infiniband",
        "InfiniBand",
        "Four lanes (4x), one direction, after line coding.",
        {
            "Gb/s": "rate_Gbps",
            "GB/s": "bandwidth_GBps_dir",
            "achieved GB/s": "achieved_GBps_dir",
            "Encoding": "encoding",
            "Switch": "switch",
            "ports": "switch_ports",
            "hop ns": "hop_latency_ns",
            "Adapter": "adapter",
            "Status": "status",
        },
    ),
    Section(
        "ethernet",
        "Ethernet",
        "One port, one direction; achieved is large RDMA writes.",
        {
            "GB/s": "bandwidth_GBps_dir",
            "achieved GB/s": "achieved_GBps_dir",
            "Lanes": "lanes",
            "Switches": "switch",
        },
    ),
    Section(
        "roce",
        "RoCE packets",
        "Share of the port's rate that is payload = MTU / (MTU + overhead): 92.6 % at 1024 B, "
        "96.1 % at 2048 B, 98.0 % at 4096 B.",
        {"overhead B": "overhead_B"},
    ),
    Section(
        "slingshot",
        "HPE Slingshot",
        "One port, one direction.",
        {
            "Gb/s": "rate_Gbps",
            "ports": "switch_ports",
            "hop ns": "hop_latency_ns",
            "most hops": "max_hops",
        },
    ),
    Section(
        "efa",
        "AWS EFA",
        "The version follows the Nitro card, not the GPU and not the bandwidth.",
        {"Instances": "@instances"},
    ),
    Section(
        "gcp",
        "Google Cloud GPU networks",
        "Gb/s in one direction. The headline counts front-end NICs that GPU traffic does not use.",
        {
            "Technology": "technology",
            "GPU NICs": "gpu_nics",
            "Gb/s a NIC": "nic_rate_Gbps",
            "GPU Gb/s": "rate_Gbps",
            "headline Gb/s": "headline_rate_Gbps",
            "all-gather busbw": "measured_allgather_busbw_GBps",
        },
    ),
    Section(
        "nic",
        "Network adapters",
        "The rate is the most that the card sends over all its ports, in one direction.",
        {
            "Gb/s": "rate_Gbps",
            "Protocols": "protocols",
            "Ports": "ports",
            "Host interface": "pcie",
            "Status": "status",
        },
    ),
    Section(
        "hop",
        "Latency inside a node",
        "One way. Software rows contain the calls and copies that a program waits for.",
        {"ns": "latency_ns", "range": "range_ns", "of": "includes"},
    ),
    Section("launch", "Launching work", "", {"us": "latency_us", "range": "range_us"}),
    Section("switch", "Latency of network switches", "", {"ns": "latency_ns", "range": "range_ns"}),
    Section(
        "rdma",
        "Small messages between hosts",
        "One way.",
        {"us": "latency_us", "range": "range_us"},
    ),
    Section(
        "platform",
        "Node and rack designs",
        "NVLink is the sum of one GPU's links in one direction; NICs are of one node; busbw is of "
        "a large all-reduce over all GPUs, as measured.",
        {
            "GPU": "gpu",
            "or": "other_gpus",
            "GPUs": "gpus",
            "a node": "gpus_per_node",
            "NVSwitches": "nvswitches",
            "NVLink GB/s": "nvlink_GBps_dir",
            "PCIe": "pcie_generation",
            "CPU": "cpu",
            "NICs": "nics",
            "Gb/s a NIC": "nic_rate_Gbps",
            "busbw": "measured_allreduce_busbw_GBps",
            "ring busbw": "measured_ring_busbw_GBps",
            "Status": "status",
        },
    ),
    Section(
        "cloud",
        "Cloud instance types",
        "Gb/s is what GPU traffic gets, in one direction. Alarms are thresholds of the provider's "
        "own health checks: less is a fault.",
        {
            "Provider": "provider",
            "GPU": "gpu",
            "GPUs": "gpus",
            "PCIe": "pcie_generation",
            "NICs": "nics",
            "Gb/s a NIC": "nic_rate_Gbps",
            "Gb/s": "rate_Gbps",
            "headline": "headline_rate_Gbps",
            "Transport": "transport",
            "host copy alarm GB/s": "host_copy_alarm_GBps_dir",
            "pair alarm GB/s": "pair_alarm_GBps_dir",
            "all-reduce alarm busbw": "allreduce_alarm_busbw_GBps",
            "GPUDirect alarm Gb/s": "gpudirect_alarm_Gbps",
        },
    ),
    Section(
        "fabric",
        "Cluster networks",
        "Oversubscription is down over up, tier by tier from the leaves: 1 is non-blocking, 0.5 "
        "has twice the uplinks.",
        {
            "Topology": "topology",
            "GPU": "gpu",
            "GPUs": "gpus",
            "nodes": "nodes",
            "nodes a unit": "unit_nodes",
            "tiers": "tiers",
            "oversubscription": "oversubscription",
            "Switch": "switch",
            "NICs a node": "nics_per_node",
            "Gb/s a NIC": "nic_rate_Gbps",
        },
    ),
    Section(
        "torus",
        "Tori of other accelerators",
        "GB/s in one direction.",
        {
            "Topology": "topology",
            "chips": "pod_chips",
            "links": "links_per_chip",
            "GB/s a link": "link_GBps_dir",
            "GB/s a chip": "chip_GBps_dir",
        },
    ),
)
