"""unit_of: from a node's design to its graph.

GPU - PCIe switch - host bridge - CPU - CPU, and from GPU to GPU what NVLink or xGMI there is.
A path's latency is the sum over its links. Each end of a link adds its part: half of a crossing
where the end is a switch or a bridge, half of an end-to-end hop where it is a device.
"""

from __future__ import annotations

from itertools import combinations

from wirespeed.catalog import Gpu, c2c, cpu_link, gpu, hop_latency, xgmi
from wirespeed.topology.gpu_links import join_gpus
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.node_design import Cpu, NodeDesign
from wirespeed.topology.pcie_tree import PcieTree
from wirespeed.topology.unit import Unit, UnitBuilder
from wirespeed.units import GB, gbps


def unit_of(design: NodeDesign) -> Unit:
    """The unit (node or rack) that a design describes.

    The design is sound (`node_checks`). Raises UnknownName for a GPU that the catalog lacks.
    """
    builder, model = UnitBuilder(design.name, nodes=design.nodes_per_unit), gpu(design.gpu)
    by_node = [_add_node(builder, design, model, node) for node in range(design.nodes_per_unit)]
    join_gpus(builder, design, model, by_node)
    return builder.build()


def _add_node(builder: UnitBuilder, design: NodeDesign, model: Gpu, node: int) -> list[int]:
    """The GPUs of a new node with its host and PCIe tree."""
    cpus = _add_cpus(builder, design.cpu, node)
    gpus = _add_gpus(builder, design, model, node)
    nics = _add_nics(builder, design, node)
    PcieTree(builder, design, model, node, cpus, gpus, nics).add()
    _add_host_links(builder, design, model, cpus, gpus)
    return gpus


def _add_cpus(builder: UnitBuilder, cpu: Cpu, node: int) -> list[int]:
    memory = cpu.memory_GBps * GB * cpu.sockets / cpu.numa_nodes
    ids = [
        builder.add(
            ComponentKind.CPU,
            node=node,
            numa=numa,
            model=cpu.model,
            throughput=memory or float("inf"),
        )
        for numa in range(cpu.numa_nodes)
    ]
    share = max(1, cpu.numa_nodes // cpu.sockets)
    between = socket_bandwidth(cpu)
    crossing = hop_latency("socket").latency
    for a, b in combinations(range(cpu.numa_nodes), 2):
        if a // share == b // share:
            # On the die: as much as the socket's memory moves, so that it never is the narrowest.
            width = max(cpu.memory_GBps * GB, between)
        elif a % share == b % share:
            # A socket's links are shared out among its NUMA nodes, each to its counterpart.
            width = between / share
        else:
            continue
        lanes = max(1, cpu.link.links // share)
        builder.connect(
            ids[a], ids[b], LinkKind.CPU, bandwidth=width, lanes=lanes, latency=crossing
        )
    return ids


def socket_bandwidth(cpu: Cpu) -> float:
    """Wire rate of all links between two sockets [B/s], one direction; 0 where it is not known."""
    if cpu.link.GBps:
        return cpu.link.GBps * GB
    if not cpu.link.kind:
        return 0.0
    return cpu_link(cpu.link.kind).bandwidth(cpu.link.links or None) or 0.0


def _add_gpus(builder: UnitBuilder, design: NodeDesign, model: Gpu, node: int) -> list[int]:
    homes = dict(enumerate(design.host_link.numa))
    homes.update({g: group.numa for group in design.pcie for g in group.gpus})
    return [
        builder.add(ComponentKind.GPU, node=node, numa=homes.get(g, -1), model=model.name)
        for g in range(design.gpus)
    ]


def _add_nics(builder: UnitBuilder, design: NodeDesign, node: int) -> list[int]:
    homes = {n: group.numa for group in design.pcie for n in group.nics}
    ids, rail = [], 0
    for index in range(design.nic_count):
        nic = design.nic(index)
        compute = nic.role == "compute"
        ids.append(
            builder.add(
                ComponentKind.NIC,
                node=node,
                numa=homes.get(index, -1),
                model=nic.model,
                rail=rail if compute else -1,
                rate=gbps(nic.rate_Gbps),
            )
        )
        rail += compute
    return ids


def _add_host_links(
    builder: UnitBuilder, design: NodeDesign, model: Gpu, cpus: list[int], gpus: list[int]
) -> None:
    link = design.host_link
    if link.kind == "none":
        return
    width = link.GBps * GB or _host_link_of_catalog(model)
    # Across a package or a board: no figure of its own is published, so a direct NVLink hop's.
    latency = hop_latency("nvlink").latency
    for g, numa in enumerate(link.numa):
        builder.connect(gpus[g], cpus[numa], LinkKind.C2C, bandwidth=width, latency=latency)


def _host_link_of_catalog(model: Gpu) -> float:
    if model.c2c:
        return c2c(model.c2c).bandwidth
    return (xgmi(model.xgmi).host_GBps_dir or 0.0) * GB if model.xgmi else 0.0
