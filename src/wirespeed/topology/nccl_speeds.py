"""What NCCL credits links and paths with when it plans: its constants, not the hardware's rates.

They decide which NIC, path and channel the library takes, and its own cost model; how long a
transfer lasts is another matter. Source: the constants of NCCL's and RCCL's topology code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from wirespeed.catalog import Gpu, gpu, pcie_generations, xgmi
from wirespeed.errors import UnknownName
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.unit import Unit
from wirespeed.topology.unit_routes import UnitRoutes
from wirespeed.units import GB

LOCAL = 5000 * GB
"""Where nothing is in the way, or the CPU is not known."""
_NVLINK_GBPS = ((100, 40.1), (90, 20.6), (87, 20.0), (86, 12.0), (80, 20.0), (70, 20.0), (60, 18.0))
_NVLINK_OTHERWISE_GBPS = 20.0
_XGMI_OF_OLDER = 24 * GB
"""MI50 to MI100, which the catalog does not have."""
_XGMI_OTHERWISE_GBPS = 48.0
"""MI300 and later."""
_PCIE_80THS = {1: 15, 2: 30, 3: 60, 4: 120, 5: 240, 6: 480}
_INTEL_P2P_OVERHEAD = 6 / 5

_INTEL_GBPS = ((0xCF, 40.0), (0x8F, 22.0), (0x55, 10.0), (0, 6.0))
# Words of a CPU's name, then generations of Intel's four-digit numbers (8480: the fourth).
_BY_WORD = (
    (("power",), 32.0),
    (("grace", "vera", "arm", "graviton", "ampere", "axion"), 6.0),
    (("emerald", "granite"), 40.0),
    (("sapphire",), 22.0),
    (("ice lake", "skylake", "cascade"), 10.0),
    (("broadwell", "haswell", "e5-"), 6.0),
    (("epyc", "ryzen", "threadripper"), 16.0),
    (("zhaoxin", "kaisheng"), 6.0),
)
_XEON = re.compile(r"(?:platinum|gold|silver|xeon)\D*([3-9])(\d)\d\d", re.IGNORECASE)
_XEON_GBPS = {"1": 10.0, "2": 10.0, "3": 10.0, "4": 22.0, "5": 40.0}


def nvlink_planning(cc: int) -> float:
    """Bandwidth [B/s] of one NVLink for a compute capability (90 is 9.0), one direction."""
    rate = next((rate for least, rate in _NVLINK_GBPS if cc >= least), _NVLINK_OTHERWISE_GBPS)
    return rate * GB


def pcie_planning(generation: int, lanes: int) -> float:
    """Bandwidth [B/s] of a PCIe link: lanes x 15, 30, 60, 120, 240 or 480 / 80 GB/s by generation.

    Gen3 x16 is 12, Gen4 24, Gen5 48 GB/s; a generation that NCCL does not know counts as Gen3.
    """
    return lanes * _PCIE_80THS.get(generation, _PCIE_80THS[3]) / 80 * GB


def cpu_planning(arch: str, vendor: str, family: int = 0, model: int = 0) -> float:
    """Bandwidth [B/s] between two CPUs, by the attributes of a topology file's `cpu`.

    POWER 32, Arm 6, AMD 16, Zhaoxin 6, Intel 6 to 40 GB/s by family 6's model; else 5000.
    """
    if arch.startswith("ppc"):
        return 32 * GB
    if arch.startswith(("arm", "aarch")):
        return 6 * GB
    match vendor:
        case "GenuineIntel":
            newest = model if family == 6 else 0
            return next(rate for least, rate in _INTEL_GBPS if newest >= least) * GB
        case "AuthenticAMD":
            return 16 * GB
        case "CentaurHauls" | "  Shanghai  ":
            return 6 * GB
    return LOCAL


def cpu_planning_of(model: str) -> float:
    """The same by a CPU's name, such as "Xeon Platinum 8480C" or "EPYC 7742"."""
    text = model.lower()
    for words, rate in _BY_WORD:
        if any(word in text for word in words):
            return rate * GB
    match = _XEON.search(text)
    if match:
        return _XEON_GBPS.get("5" if match[1] == "6" and match[2] >= "7" else match[2], 10.0) * GB
    return LOCAL


def link_planning(unit: Unit, link: int) -> float:
    """What NCCL credits a link of a unit with [B/s], by its kind, lanes and ends."""
    match LinkKind(unit.link_kind[link]):
        case LinkKind.PCIE:
            return _pcie_by_wire(float(unit.bandwidth[link]), int(unit.lanes[link]))
        case LinkKind.NVLINK | LinkKind.XGMI:
            return int(unit.lanes[link]) * _gpu_link(_gpu_at(unit, link), unit.link_kind[link])
        case LinkKind.CPU:
            at = int(unit.model[unit.source[link]])
            return cpu_planning_of(unit.models[at] if at >= 0 else "")
        case LinkKind.C2C | LinkKind.NETWORK:
            return float(unit.bandwidth[link])
        case LinkKind.ROOT:
            return LOCAL


def nccl_bandwidth(routes: UnitRoutes, source: int, target: int) -> float:
    """What NCCL credits the path between two devices with [B/s]: the least over its links.

    A NIC's port counts with its rate. NVLink through switches counts with all links of the GPU that
    has fewer. 0 where there is no path.
    """
    key = source, target
    if key not in routes.speeds:
        routes.speeds[key] = _find_bandwidth(routes, source, target)
    return routes.speeds[key]


def _find_bandwidth(routes: UnitRoutes, source: int, target: int) -> float:
    unit = routes.unit
    ports = [float(unit.rate[c]) for c in (source, target) if unit.kind[c] == ComponentKind.NIC]
    if unit.kind[source] == unit.kind[target] == ComponentKind.GPU:
        route = routes.nvlink(source, target)
        if route is not None:
            links = [r for r in route.resource if r < unit.links]
            return _nvlink_path(unit, links)
    way = routes.pcie_links(source, target)
    if way is None:
        return 0.0
    return min([LOCAL, *ports, *(link_planning(unit, link) for link in way)])


def intel_overhead(routes: UnitRoutes, source: int, target: int) -> float:
    """Share of PCIe that GPU-to-GPU traffic takes more: 6/5 through an Intel CPU, else 1."""
    unit = routes.unit
    if not unit.kind[source] == unit.kind[target] == ComponentKind.GPU:
        return 1.0
    if routes.nvlink(source, target) is not None:
        return 1.0
    crossed = {int(unit.source[link]) for link in routes.pcie_links(source, target) or ()}
    cpus = [c for c in crossed if unit.kind[c] == ComponentKind.CPU and unit.model[c] >= 0]
    models = [unit.models[unit.model[c]] for c in cpus]
    return _INTEL_P2P_OVERHEAD if any("xeon" in model.lower() for model in models) else 1.0


def _nvlink_path(unit: Unit, links: Iterable[int]) -> float:
    """The least, over the components on the way, of what leaves or enters them together."""
    leaving: dict[tuple[int, bool], float] = {}
    for link in links:
        rate = link_planning(unit, link)
        for end, out in ((int(unit.source[link]), True), (int(unit.target[link]), False)):
            if unit.kind[end] == ComponentKind.GPU:
                leaving[end, out] = leaving.get((end, out), 0.0) + rate
    return min(leaving.values())


@cache
def _pcie_by_wire(bandwidth: float, lanes: int) -> float:
    """By the generation whose wire rate is nearest; what is no PCIe rate keeps PCIe's share."""
    lane = bandwidth / max(lanes, 1)
    nearest = min(pcie_generations(), key=lambda row: abs(row.bandwidth(1) - lane))
    return bandwidth * pcie_planning(nearest.generation, lanes) / nearest.bandwidth(lanes)


def _gpu_at(unit: Unit, link: int) -> Gpu | None:
    for end in (int(unit.source[link]), int(unit.target[link])):
        if unit.kind[end] == ComponentKind.GPU and unit.model[end] >= 0:
            try:
                return gpu(unit.models[unit.model[end]])
            except UnknownName:
                return None
    return None


def _gpu_link(row: Gpu | None, kind: int) -> float:
    """One NVLink or xGMI link of a GPU [B/s]."""
    if kind == LinkKind.NVLINK:
        return nvlink_planning(row.cc or 0 if row else 0)
    if row is None or not row.xgmi:
        return _XGMI_OF_OLDER
    return (xgmi(row.xgmi).planning_GBps_dir or _XGMI_OTHERWISE_GBPS) * GB
