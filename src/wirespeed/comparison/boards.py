"""Boards: the preset that fits what a record says of its machines, changed to what it says."""

from __future__ import annotations

import re
from functools import cache

import msgspec

from wirespeed.catalog import Gpu, gpu
from wirespeed.errors import Infeasible
from wirespeed.topology.node_design import NicGroup, NodeDesign, PcieGroup
from wirespeed.topology.presets import preset, preset_names
from wirespeed.topology.software import Notice

_CLOUDS = ("aws-", "azure-", "gcp-", "oci-")
_HALF_BOARDS = ("hgx-h100-4",)
"""Boards of four that are rare beside halves of eight."""


class BoardFacts(msgspec.Struct, frozen=True):
    """What is known of the nodes of a run."""

    gpu: str
    gpus_per_node: int
    nodes: int = 1
    nvlink_domain: int | None = None
    path: str = ""
    network: str | None = None
    nics: int | None = None
    nic_gbps: float | None = None


class Board(msgspec.Struct, frozen=True):
    """A design, and what was assumed to get at it."""

    design: NodeDesign
    notes: tuple[Notice, ...] = ()


@cache
def board_of(facts: BoardFacts) -> Board:
    """The board that fits best; UnknownName for a GPU that the catalog lacks.

    Raises Infeasible where no preset carries such GPUs, or not that many.
    """
    model = gpu(facts.gpu)
    fitting = [design for design in _designs() if _carries(design, model, facts)]
    if not fitting:
        # Sources say SXM2 of a DGX-2 too, whose V100s are SXM3.
        fitting = [d for d in _designs() if _carries(d, model, facts, any_socket=True)]
    notes: list[Notice] = []
    if fitting:
        design = min(fitting, key=lambda d: _distance(d, model, facts))
    else:
        design = _stand_in(model, facts)
        text = f"no preset has {model.name}: a PCIe node like {design.name} is taken"
        notes.append(Notice("machine-assumed", text))
    if design.gpu != model.key:
        design = msgspec.structs.replace(design, gpu=model.key)
    return Board(_adapted(design, facts), tuple(notes))


@cache
def _designs() -> tuple[NodeDesign, ...]:
    return tuple(preset(name) for name in preset_names())


def _family(model: Gpu) -> str:
    """What parts that differ in memory only share: v100-sxm2, a100-pcie."""
    return re.sub(r"-\d+gb$", "", model.key)


def _carries(
    design: NodeDesign, model: Gpu, facts: BoardFacts, *, any_socket: bool = False
) -> bool:
    own, wanted = _family(gpu(design.gpu)), _family(model)
    if any_socket:
        own, wanted = (re.sub(r"-sxm\d$", "-sxm", name) for name in (own, wanted))
    return own == wanted and design.gpus >= facts.gpus_per_node


def _distance(design: NodeDesign, model: Gpu, facts: BoardFacts) -> tuple[float, ...]:
    """How badly a design fits, the weightiest difference first."""
    compute = [group for group in design.nics if group.role == "compute"]
    nics = sum(group.count for group in compute)
    rate = compute[0].rate_Gbps if compute else 0.0
    racks = facts.nvlink_domain is not None and facts.nvlink_domain > facts.gpus_per_node
    bridged = facts.path.upper().startswith("NV")
    whole = facts.nodes > 1 and facts.gpus_per_node > 2 and design.name not in _HALF_BOARDS
    usual = 8 if design.nodes_per_unit == 1 else design.gpus
    return (
        racks and design.nodes_per_unit == 1,
        design.nodes_per_unit > 1 and not racks and facts.gpus_per_node < 2,
        bridged != (gpu(design.gpu).nvlink_bridge != () and design.nvlink.style != "none"),
        design.gpus > 8 and facts.gpus_per_node <= 8,
        design.gpus != facts.gpus_per_node if whole else design.gpus != usual,
        facts.network is not None and design.network.kind != facts.network,
        facts.network is None and design.network.kind in ("efa", "tcpx"),
        not design.network.rdma,
        facts.nics is not None and nics != facts.nics,
        facts.nic_gbps is not None and rate != facts.nic_gbps,
        design.name.startswith(_CLOUDS),
        gpu(design.gpu).key != model.key,
        nics < design.gpus,
    )


def _stand_in(model: Gpu, facts: BoardFacts) -> NodeDesign:
    """A PCIe node for a card that no preset carries."""
    plain = [
        design
        for design in _designs()
        if design.nvlink.style == "none"
        and design.gpus >= max(2, facts.gpus_per_node)
        and not design.name.startswith(_CLOUDS)
    ]
    if model.xgmi or model.c2c or (model.nvlink_links and not model.nvlink_bridge):
        plain = []
    if not plain:
        raise Infeasible(
            f"no preset has {facts.gpus_per_node} {model.name} in a node",
            remedy="give a cluster TOML, or the machine's own topology file",
        )
    return min(
        plain,
        key=lambda d: (
            abs(gpu(d.gpu).pcie_generation - model.pcie_generation),
            gpu(d.gpu).vendor != model.vendor,
            d.name,
        ),
    )


def _adapted(design: NodeDesign, facts: BoardFacts) -> NodeDesign:
    domain = facts.nvlink_domain or facts.gpus_per_node
    if design.nodes_per_unit > 1 and domain <= facts.gpus_per_node:
        design = msgspec.structs.replace(design, nodes_per_unit=1)
    kind = facts.network
    if kind is not None and kind != design.network.kind:
        network = msgspec.structs.replace(design.network, kind=kind, generation="", rdma=True)
        # Under another name: the reference fabric of the platform is not this machine's.
        design = msgspec.structs.replace(design, network=network, name=f"{design.name} on {kind}")
    compute = [group for group in design.nics if group.role == "compute"]
    count = sum(group.count for group in compute)
    rate = compute[0].rate_Gbps if compute else 0.0
    wanted, speed = facts.nics or count, facts.nic_gbps or rate
    if facts.nodes > 1 and wanted and (wanted, speed) != (count, rate):
        design = _with_nics(design, wanted, speed or 100.0, facts.gpus_per_node)
        name = f"{design.name} with {wanted} x {speed:g}G"
        design = msgspec.structs.replace(design, name=name)
    return design


def _with_nics(design: NodeDesign, count: int, rate: float, gpus: int) -> NodeDesign:
    """The design with other compute NICs, spread over the places of those that it has.

    Where they are fewer, places beside GPUs that take part come first.
    """
    old = [i for i in range(design.nic_count) if design.nic(i).role == "compute"]
    places = [k for i in old for k, group in enumerate(design.pcie) if i in group.nics]
    near = [k for k in places if any(g < gpus for g in design.pcie[k].gpus)]
    if count <= len(near):
        places = near
    elif not places:
        places = [k for k, group in enumerate(design.pcie) if group.gpus][:1]
    chosen = [places[k * len(places) // count] for k in range(count)]
    others = [design.nic(i) for i in range(design.nic_count) if i not in old]
    kept = [i for i in range(design.nic_count) if i not in old]
    model = design.nic(old[0]).model if old else "NIC"
    groups: list[PcieGroup] = []
    for k, group in enumerate(design.pcie):
        own = [n for n, place in enumerate(chosen) if place == k]
        rest = [count + kept.index(i) for i in group.nics if i in kept]
        groups.append(msgspec.structs.replace(group, nics=(*own, *rest)))
    groups = [group for group in groups if group.gpus or group.nics]
    lanes = design.nic(old[0]).pcie_lanes if old else 16
    fresh = NicGroup(model=model, count=count, rate_Gbps=rate, pcie_lanes=lanes)
    singles = tuple(msgspec.structs.replace(group, count=1) for group in others)
    return msgspec.structs.replace(design, pcie=tuple(groups), nics=(fresh, *singles))
