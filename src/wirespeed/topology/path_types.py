"""What nvidia-smi and NCCL call the way between two devices, read off the graph."""

from __future__ import annotations

import numpy as np

from wirespeed.topology.kinds import ComponentKind, LinkKind, PathType, SmiWord
from wirespeed.topology.nccl_speeds import nccl_bandwidth
from wirespeed.topology.unit_routes import UnitRoutes


def nccl_path(routes: UnitRoutes, source: int, target: int, *, pxn: bool = True) -> PathType:
    """NCCL's path type of two devices of one unit (component ids in the unit).

    Two host bridges of one NUMA node are one CPU to NCCL, so nvidia-smi's NODE is PHB here. With
    `pxn`, a GPU that would reach a NIC through a CPU goes through the GPU beside that NIC where
    NVLink joins the two: PXN, in that direction only. Source: NCCL's path search.
    """
    ends = int(routes.unit.kind[source]), int(routes.unit.kind[target])
    if ends == (ComponentKind.GPU, ComponentKind.NIC):
        if pxn and pxn_relay(routes, source, target) is not None:
            return PathType.PXN
        return _to_nic(routes, source, target)
    if ends == (ComponentKind.NIC, ComponentKind.GPU):
        return _to_nic(routes, target, source)
    return _direct(routes, source, target)


def pxn_relay(routes: UnitRoutes, gpu: int, nic: int) -> int | None:
    """The GPU through which NCCL reaches a NIC (PXN), or None where it goes there by itself.

    That GPU is the NIC's own; it is one NVLink (or NVSwitch) away on the same node, no CPU lies
    between it and the NIC, and its path is wider, or the other GPU's crosses a CPU.
    """
    relay = local_gpu(routes, nic)
    if relay is None or relay == gpu or routes.unit.node[relay] != routes.unit.node[gpu]:
        return None
    own = _to_nic(routes, gpu, nic)
    if _direct(routes, relay, gpu) > PathType.NVL or _to_nic(routes, relay, nic) > PathType.P2C:
        return None
    wider = nccl_bandwidth(routes, relay, nic) > nccl_bandwidth(routes, gpu, nic)
    return relay if wider or own > PathType.PXN else None


def local_gpu(routes: UnitRoutes, nic: int) -> int | None:
    """The GPU whose own NIC this is to NCCL, by widest and then shortest path; None without one.

    Where several GPUs and NICs are equally near, GPU k takes the NIC at the mirrored bits of k.
    """
    if nic not in routes.local_gpus:
        routes.local_gpus[nic] = _find_local_gpu(routes, nic)
    return routes.local_gpus[nic]


def _find_local_gpu(routes: UnitRoutes, nic: int) -> int | None:
    near = _local(routes, nic, ComponentKind.GPU)
    for channel in range(len(routes.unit.of_kind(ComponentKind.NIC))):
        for gpu in near:
            if _local_nic(routes, gpu, channel) == nic:
                return gpu
    return None


def _local_nic(routes: UnitRoutes, gpu: int, channel: int) -> int | None:
    """The NIC that a GPU uses on a channel."""
    nics = _local(routes, gpu, ComponentKind.NIC)
    if not nics:
        return None
    number = int(routes.unit.index[gpu])
    if len(nics) & (len(nics) - 1) == 0:
        number = _mirrored(number, len(nics))
    sharing = max(1, len(_local(routes, nics[0], ComponentKind.GPU)))
    return nics[(number + channel % -(-len(nics) // sharing)) % len(nics)]


def _mirrored(number: int, power: int) -> int:
    """The lowest bits of a number, as many as count to a power of two, in reverse order."""
    bits = power.bit_length() - 1
    return sum(((number >> bit) & 1) << (bits - 1 - bit) for bit in range(bits))


def _local(routes: UnitRoutes, device: int, kind: ComponentKind) -> list[int]:
    """GPUs, or NICs that the library uses, with the widest and then shortest path to a device."""
    key = device, int(kind)
    if key not in routes.locals:
        routes.locals[key] = _find_local(routes, device, kind)
    return routes.locals[key]


def _find_local(routes: UnitRoutes, device: int, kind: ComponentKind) -> list[int]:
    unit = routes.unit
    found: list[tuple[float, PathType, int]] = []
    for other in unit.of_kind(kind).tolist():
        is_used = kind != ComponentKind.NIC or unit.rail[other] >= 0
        if unit.node[other] != unit.node[device] or not is_used:
            continue
        way = _direct(routes, device, other)
        if way != PathType.DIS and routes.capacity[unit.links + other] > 0:
            found.append((-nccl_bandwidth(routes, device, other), way, other))
    nearest = min((entry[:2] for entry in found), default=None)
    return [entry[2] for entry in found if entry[:2] == nearest]


def _to_nic(routes: UnitRoutes, gpu: int, nic: int) -> PathType:
    """Between GPU and NIC without PXN: over C2C, a NIC of that CPU which is nearest is P2C."""
    way = _direct(routes, gpu, nic)
    if way != PathType.PHB:
        return way
    links = routes.pcie_links(gpu, nic) or []
    over_c2c = LinkKind.C2C in routes.unit.link_kind[links].tolist()
    if over_c2c and nic in _local(routes, gpu, ComponentKind.NIC):
        return PathType.P2C
    return way


def _direct(routes: UnitRoutes, source: int, target: int) -> PathType:
    """The type of the shortest way itself: the farthest of what it crosses."""
    key = source, target
    if key not in routes.types:
        routes.types[key] = _find_direct(routes, source, target)
    return routes.types[key]


def _find_direct(routes: UnitRoutes, source: int, target: int) -> PathType:
    if source == target:
        return PathType.LOC
    unit = routes.unit
    ends = int(unit.kind[source]), int(unit.kind[target])
    both_gpus = ends == (ComponentKind.GPU, ComponentKind.GPU)
    if both_gpus and routes.nvlink(source, target):
        return PathType.NVB if routes.is_indirect(source, target) else PathType.NVL
    links = routes.pcie_links(source, target)
    if links is None:
        return PathType.DIS
    kinds = set(unit.link_kind[links].tolist())
    if LinkKind.CPU in kinds:
        return PathType.SYS
    if kinds == {LinkKind.C2C}:
        return PathType.C2C
    # NCCL has no host bridges: a device right below one hangs from the CPU.
    crossed = unit.kind[unit.source[links[1:]]].tolist()
    if ComponentKind.CPU in (*crossed, *ends):
        return PathType.PHB
    if ComponentKind.ROOT in crossed:
        return PathType.PHB
    return PathType.PIX if crossed.count(ComponentKind.PCIE) <= 1 else PathType.PXB


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
        # Each host bridge of Grace is a PCIe domain of its own, and the driver calls that SYS.
        return (SmiWord.SYS if LinkKind.C2C in unit.link_kind else SmiWord.NODE).name
    if ComponentKind.ROOT in inner or ComponentKind.CPU in inner:
        return SmiWord.PHB.name
    return SmiWord.PIX.name if inner.count(ComponentKind.PCIE) <= 1 else SmiWord.PXB.name


def bonded_links(routes: UnitRoutes, source: int, target: int) -> int:
    """NVLinks bonded between two GPUs, directly or through switches; 0 for none."""
    unit = routes.unit
    route = routes.nvlink(source, target)
    if route is None or routes.is_indirect(source, target):
        return 0
    links = unit.links
    link = np.array([r for r in route.resource if r < links], np.int64)
    if not (unit.link_kind[link] == LinkKind.NVLINK).any():
        return 0
    lanes = unit.lanes[link]
    out, back = lanes[unit.source[link] == source].sum(), lanes[unit.target[link] == target].sum()
    return int(min(out, back))
