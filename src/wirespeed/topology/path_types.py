"""What nvidia-smi and NCCL call the way between two devices, read off the graph."""

from __future__ import annotations

from wirespeed.topology.kinds import ComponentKind, LinkKind, PathType, SmiWord
from wirespeed.topology.unit_routes import UnitRoutes


def nccl_path(routes: UnitRoutes, source: int, target: int) -> PathType:
    """NCCL's path type of two devices of one unit (component ids in the unit).

    Source: NCCL's topology search as described in its public source; two host bridges of one NUMA
    node are one CPU to it, so nvidia-smi's NODE is PHB here.
    """
    unit = routes.unit
    if source == target:
        return PathType.LOC
    both_gpus = unit.kind[source] == unit.kind[target] == ComponentKind.GPU
    if both_gpus and routes.nvlink(source, target):
        return PathType.NVB if routes.is_indirect(source, target) else PathType.NVL
    links = routes.pcie_links(source, target)
    if links is None:
        return PathType.DIS
    kinds = {LinkKind(unit.link_kind[link]) for link in links}
    inner = [int(unit.kind[unit.source[link]]) for link in links[1:]]
    if LinkKind.CPU in kinds:
        return PathType.SYS
    if LinkKind.C2C in kinds:
        return PathType.C2C if len(links) == 1 else PathType.P2C
    if ComponentKind.ROOT in inner or ComponentKind.CPU in inner:
        return PathType.PHB
    return PathType.PIX if inner.count(ComponentKind.PCIE) <= 1 else PathType.PXB


def smi_word(routes: UnitRoutes, source: int, target: int) -> str:
    """nvidia-smi's word for two devices of one unit: X, NV#, PIX, PXB, PHB, NODE or SYS.

    NV# counts the links bonded between the pair: the smaller side's where a switch stands between.
    It is shown only where the GPUs are joined directly or by switches. Empty where no way exists.
    """
    if source == target:
        return "X"
    unit = routes.unit
    both_gpus = unit.kind[source] == unit.kind[target] == ComponentKind.GPU
    if both_gpus and (links := bonded_links(routes, source, target)):
        return f"NV{links}"
    way = routes.pcie_links(source, target)
    if way is None:
        return ""
    kinds = [LinkKind(unit.link_kind[link]) for link in way]
    inner = [int(unit.kind[unit.source[link]]) for link in way[1:]]
    if LinkKind.CPU in kinds or LinkKind.C2C in kinds:
        return SmiWord.SYS.name
    if inner.count(ComponentKind.ROOT) > 1:
        return SmiWord.NODE.name
    if ComponentKind.ROOT in inner or ComponentKind.CPU in inner:
        return SmiWord.PHB.name
    return SmiWord.PIX.name if inner.count(ComponentKind.PCIE) <= 1 else SmiWord.PXB.name


def bonded_links(routes: UnitRoutes, source: int, target: int) -> int:
    """NVLinks bonded between two GPUs, directly or through switches; 0 for none."""
    unit = routes.unit
    route = routes.nvlink(source, target)
    if route is None or routes.is_indirect(source, target):
        return 0
    if not any(unit.link_kind[r] == LinkKind.NVLINK for r in route.resource if r < unit.links):
        return 0
    out = sum(
        int(unit.lanes[r]) for r in route.resource if r < unit.links and unit.source[r] == source
    )
    back = sum(
        int(unit.lanes[r]) for r in route.resource if r < unit.links and unit.target[r] == target
    )
    return min(out, back)
