"""Rails: where the adapters of one name end on most hosts, and which do not."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from wirespeed.inventory.fabric_graph import Cable, FabricGraph

Style = Literal["rails", "leaf", "single", "mixed"]

_AGREE = 0.6
"""Share of a leaf's adapters, or of hosts, that make a rule."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """How hosts are plugged in.

    `rails`: every adapter of a host on a leaf of its own; `leaf`: all of a host on one leaf;
    `single`: one adapter a host; `mixed`: neither.
    """

    style: Style
    rail_of_leaf: dict[str, str]
    """The device whose adapters a leaf mostly serves."""

    @property
    def words(self) -> str:
        """In a sentence."""
        rails = len(set(self.rail_of_leaf.values()))
        return {
            "rails": f"{rails} rails, each on leaves of its own",
            "leaf": "all adapters of a host on one leaf",
            "single": "",
            "mixed": "no rails",
        }[self.style]


@dataclass(frozen=True, slots=True)
class Stray:
    """An adapter on another leaf than its siblings; `expected` is empty where that is not clear."""

    host: str
    device: str
    leaf: str
    expected: str
    why: str
    cable: Cable


def wiring_of(graph: FabricGraph) -> Wiring:
    """The plan that most hosts follow."""
    hosts = _leaves_by_host(graph)
    several = {host: found for host, found in hosts.items() if len(found) > 1}
    if len(several) * 2 < len(hosts) or not several:
        return Wiring("single", {})
    distinct = Counter(
        "rails"
        if len({leaf for leaf, _ in found.values()}) == len(found)
        else "leaf"
        if len({leaf for leaf, _ in found.values()}) == 1
        else "mixed"
        for found in several.values()
    )
    style, count = distinct.most_common(1)[0]
    if style == "mixed" or count < _AGREE * len(several):
        return Wiring("mixed", {})
    if style == "leaf":
        return Wiring("leaf", {})
    served: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for found in several.values():
        for device, (leaf, _) in found.items():
            served[leaf][device] += 1
    rails = {
        leaf: counts.most_common(1)[0][0]
        for leaf, counts in served.items()
        if counts.most_common(1)[0][1] >= _AGREE * counts.total() and counts.total() > 1
    }
    # A leaf for each rail of a group of hosts; where leaves serve anything, there are no rails.
    if len(rails) * 2 < len(served):
        return Wiring("mixed", {})
    return Wiring("rails", rails)


def strays_of(graph: FabricGraph, wiring: Wiring) -> list[Stray]:
    """Adapters that do not follow the plan, in the order of hosts."""
    if wiring.style not in ("rails", "leaf"):
        return []
    found: list[Stray] = []
    hosts = _leaves_by_host(graph)
    on: defaultdict[str, set[str]] = defaultdict(set)
    for host, devices in hosts.items():
        for leaf, _ in devices.values():
            on[leaf].add(host)
    for host, devices in hosts.items():
        if wiring.style == "leaf":
            found += _off_leaf(host, devices)
        else:
            found += _off_rail(host, devices, wiring, on)
    return found


def _off_leaf(host: str, devices: dict[str, tuple[str, Cable]]) -> list[Stray]:
    counts = Counter(leaf for leaf, _ in devices.values())
    home, most = counts.most_common(1)[0]
    # Of two against two nobody can say which are wrong.
    expected = home if most * 2 > len(devices) else ""
    why = "the host's other adapters are"
    return [
        Stray(host, device, leaf, expected, why, cable)
        for device, (leaf, cable) in devices.items()
        if leaf != home
    ]


def _off_rail(
    host: str, devices: dict[str, tuple[str, Cable]], wiring: Wiring, on: Mapping[str, set[str]]
) -> list[Stray]:
    strays = []
    for device, (leaf, cable) in devices.items():
        rail = wiring.rail_of_leaf.get(leaf)
        if rail is None or rail == device:
            continue
        beside = [other for other, _ in devices.values() if other != leaf]
        expected = _home(device, beside, wiring, on)
        why = "other hosts have it" if expected else "other hosts have this adapter"
        strays.append(Stray(host, device, leaf, expected, why, cable))
    return strays


def _home(device: str, beside: list[str], wiring: Wiring, on: Mapping[str, set[str]]) -> str:
    """The leaf of a rail that serves the hosts of these other leaves; empty where not clear."""
    homes = {
        leaf: sum(len(on[leaf] & on[other]) for other in beside)
        for leaf, rail in wiring.rail_of_leaf.items()
        if rail == device
    }
    most = max(homes.values(), default=0)
    near = [leaf for leaf, shared in homes.items() if shared == most]
    return near[0] if len(near) == 1 else ""


def _leaves_by_host(graph: FabricGraph) -> dict[str, dict[str, tuple[str, Cable]]]:
    """Leaf and cable of each device of each host; a second port of a card is `device/2`."""
    hosts: dict[str, dict[str, tuple[str, Cable]]] = {}
    for node in graph.adapters:
        host, device = graph.host(node)
        for cable in graph.at[node]:
            leaf = cable.other(node)
            port = cable.port_of(node)
            name = device if port == 1 else f"{device}/{port}"
            if leaf.startswith("switch "):
                hosts.setdefault(host, {}).setdefault(name, (leaf, cable))
    return {host: dict(sorted(hosts[host].items())) for host in sorted(hosts)}
