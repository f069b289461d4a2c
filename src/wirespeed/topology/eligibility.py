"""Peer to peer and GPUDirect: how far NCCL goes with each, by distance and environment."""

from __future__ import annotations

import re
from collections.abc import Mapping

from wirespeed.topology.kinds import ComponentKind, PathType
from wirespeed.topology.path_types import nccl_path, pxn_relay
from wirespeed.topology.unit_routes import UnitRoutes

_OLD_LEVELS = (
    PathType.LOC,
    PathType.PIX,
    PathType.PXB,
    PathType.PHB,
    PathType.SYS,
    PathType.SYS,
)
"""What the digits 0 to 5 of early versions mean; more counts as 5."""
_WORDS = {kind.name: kind for kind in PathType if kind <= PathType.SYS}
_DIGITS = re.compile(r"(?:0[xX][0-9a-fA-F]+|\d+)")


def level_of(text: str) -> PathType | None:
    """The level that NCCL reads in NCCL_P2P_LEVEL or NCCL_NET_GDR_LEVEL.

    A word of its own in capitals, or an old digit. None for anything else, lower case and
    nvidia-smi's NODE included: NCCL then keeps its default.
    """
    if text in _WORDS:
        return _WORDS[text]
    digits = _DIGITS.match(text)
    if not digits:
        return None
    number = int(digits[0], 16 if digits[0][:2].lower() == "0x" else 10)
    return _OLD_LEVELS[min(number, len(_OLD_LEVELS) - 1)]


def p2p_level(env: Mapping[str, str], cpu_vendor: str, gpus: int) -> PathType:
    """The farthest distance at which GPUs of one node use peer to peer; LOC switches it off.

    PXB, or SYS for at most two GPUs beside AMD processors; NCCL_P2P_DISABLE=1 and NCCL_P2P_LEVEL
    come first. `cpu_vendor` is AMD, Intel …; `gpus` counts those that take part.
    """
    if env.get("NCCL_P2P_DISABLE", "").strip() == "1":
        return PathType.LOC
    stated = level_of(env.get("NCCL_P2P_LEVEL", ""))
    if stated is not None:
        return stated
    return PathType.SYS if cpu_vendor == "AMD" and gpus <= 2 else PathType.PXB


def gdr_level(env: Mapping[str, str]) -> PathType:
    """The farthest distance at which a GPU and a NIC use GPUDirect RDMA.

    P2C (PXB with NCCL_NET_GDR_C2C=0), or NCCL_NET_GDR_LEVEL.
    """
    stated = level_of(env.get("NCCL_NET_GDR_LEVEL", ""))
    if stated is not None:
        return stated
    return PathType.PXB if env.get("NCCL_NET_GDR_C2C", "1").strip() == "0" else PathType.P2C


def p2p_eligible(routes: UnitRoutes, source: int, target: int, level: PathType) -> bool:
    """Whether the distance of two GPUs lets them use peer to peer.

    Driver and NVML may still refuse it, which is no matter of distance.
    """
    return nccl_path(routes, source, target) <= level


def gdr_eligible(
    routes: UnitRoutes,
    gpu: int,
    nic: int,
    env: Mapping[str, str],
    *,
    cc: int = 90,
    sending: bool = False,
) -> bool:
    """Whether the distance of a GPU and a NIC lets them use GPUDirect RDMA.

    By PXN, the distance of the GPU beside the NIC counts. A GPU older than compute capability 8.0
    sends so only with NVLink to another GPU, or alone, or with NCCL_NET_GDR_READ=1. That both ends
    support it at all is no matter of distance.
    """
    if sending and not _may_read(routes, gpu, env, cc):
        return False
    by_pxn = env.get("NCCL_PXN_DISABLE", "0").strip() != "1"
    relay = pxn_relay(routes, gpu, nic) if by_pxn else None
    near = gpu if relay is None else relay
    return nccl_path(routes, near, nic, pxn=False) <= gdr_level(env)


def _may_read(routes: UnitRoutes, gpu: int, env: Mapping[str, str], cc: int) -> bool:
    """Whether the NIC may read the GPU's memory at all."""
    stated = env.get("NCCL_NET_GDR_READ", "").strip()
    if stated in ("0", "1"):
        return stated == "1"
    unit = routes.unit
    others = [g for g in unit.of_kind(ComponentKind.GPU).tolist() if g != gpu]
    mates = [g for g in others if unit.node[g] == unit.node[gpu]]
    return cc >= 80 or not mates or any(nccl_path(routes, gpu, g) == PathType.NVL for g in mates)
