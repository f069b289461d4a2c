"""Ways: how bytes get from one device of a unit to another, peer to peer or by the CPU."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.unit_routes import Route, UnitRoutes


class Way(Enum):
    """How bytes get from one device of a unit to another."""

    DIRECT = "direct"
    """Peer to peer: NVLink where there is one, else PCIe."""
    PCIE = "pcie"
    """Peer to peer over PCIe, NVLink or not."""
    HOST = "host"
    """Through CPU memory: written there, then read."""
    ROOT = "root"
    """Peer to peer, but up to the CPU and down again even where a PCIe switch is nearer."""
    UPLOAD = "upload"
    """To or from the memory of a CPU."""


def find_route(way: Way, routes: UnitRoutes, source: int, target: int) -> Route | None:
    """The route between two devices of a unit; None where links are missing or down."""
    return _WAYS[way](routes, source, target)


def memory_of(routes: UnitRoutes, device: int) -> int | None:
    """The CPU whose memory is nearest to a device."""
    cpus = [int(c) for c in routes.unit.of_kind(ComponentKind.CPU)]
    ways = [(cpu, routes.pcie_links(cpu, device)) for cpu in cpus]
    found = [(len(links), cpu) for cpu, links in ways if links is not None]
    return min(found)[1] if found else None


def _direct(routes: UnitRoutes, source: int, target: int) -> Route | None:
    kinds = routes.unit.kind
    if kinds[source] == kinds[target] == ComponentKind.GPU:
        route = routes.nvlink(source, target)
        if route is not None:
            return route
    return routes.pcie(source, target)


def _through_host(routes: UnitRoutes, source: int, target: int) -> Route | None:
    """Down to the memory next to the target, and from there to it; the memory is used twice."""
    memory, route = memory_of(routes, target), _through_root(routes, source, target)
    if memory is None or route is None:
        return None
    return Route((*route.resource, routes.unit.links + memory), (*route.share, 2.0))


def _through_root(routes: UnitRoutes, source: int, target: int) -> Route | None:
    """Up to the CPU next to the target, and down to it, without a stop in memory."""
    top = memory_of(routes, target)
    if top is None:
        return None
    there, back = routes.pcie(source, top), routes.pcie(top, target)
    if there is None or back is None:
        return None
    return Route((*there.resource, *back.resource), (*there.share, *back.share))


def _upload(routes: UnitRoutes, source: int, target: int) -> Route | None:
    route = routes.pcie(source, target)
    if route is None:
        return None
    end = source if routes.unit.kind[source] == ComponentKind.CPU else target
    return Route((*route.resource, routes.unit.links + end), (*route.share, 1.0))


_WAYS: dict[Way, Callable[[UnitRoutes, int, int], Route | None]] = {
    Way.DIRECT: _direct,
    Way.PCIE: lambda routes, a, b: routes.pcie(a, b),
    Way.HOST: _through_host,
    Way.ROOT: _through_root,
    Way.UPLOAD: _upload,
}
