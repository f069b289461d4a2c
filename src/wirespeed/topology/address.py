"""Addresses: how people name components and links, and back.

node3/gpu5      a component of a node; on one node the prefix may be left out
rack0/nvswitch4 a component of a rack
leaf0, spine2   a switch of the fabric
*/nic3          that component of every node
a>b, a-b        the links from a to b; in both directions
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from wirespeed.errors import UnknownName, UsageError
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.model import Topology
from wirespeed.topology.unit import Ints

Mask = npt.NDArray[np.bool_]

_COMPONENT = re.compile(r"(?:(?P<where>\*|node\d+|rack\d+)/)?(?P<kind>[a-z]+)(?P<index>\d+)")
_WORDS = {kind.word: kind for kind in ComponentKind}
_OF_FABRIC = (ComponentKind.LEAF, ComponentKind.SPINE, ComponentKind.CORE)


def name_of(topology: Topology, component: int) -> str:
    """The address of a component."""
    kind = ComponentKind(topology.kind[component])
    word = f"{kind.word}{topology.index[component]}"
    if topology.node[component] >= 0:
        return f"node{topology.node[component]}/{word}"
    unit = int(topology.unit_of(component))
    return f"rack{unit}/{word}" if unit < len(topology.unit_class) else word


def resource_name(topology: Topology, resource: int) -> str:
    """The address of a resource: `a>b` for a link, the component's for a component."""
    if resource >= topology.links:
        return name_of(topology, resource - topology.links)
    source, target = topology.source[resource], topology.target[resource]
    return f"{name_of(topology, int(source))}>{name_of(topology, int(target))}"


def find(topology: Topology, address: str) -> Ints:
    """Ids of the components at an address; more than one for `*/…`.

    Raises UsageError for what is no address, UnknownName where nothing is there.
    """
    match = _COMPONENT.fullmatch(address.strip())
    if not match or match["kind"] not in _WORDS:
        raise UsageError(
            f"{address!r} is not an address",
            why=f"an address is like node3/gpu5, */nic3 or leaf0; kinds: {', '.join(_WORDS)}",
            remedy="`wirespeed topo SOURCE` lists the components",
        )
    kind, index, where = _WORDS[match["kind"]], int(match["index"]), match["where"]
    found = (topology.kind == kind) & (topology.index == index)
    if where is None and kind not in _OF_FABRIC:
        found = _only_unit(topology, address, found)
    elif where is not None and where.startswith("node"):
        found &= topology.node == int(where[4:])
    elif where is not None and where.startswith("rack"):
        unit = topology.unit_of(np.arange(topology.components))
        found &= (unit == int(where[4:])) & (topology.node < 0)
    ids = np.flatnonzero(found).astype(np.int32)
    if not len(ids):
        raise UnknownName("component", address, _names(topology))
    return ids


def find_links(topology: Topology, address: str) -> Ints:
    """Ids of the links `a>b` or, both ways, `a-b`; wildcards stand for the same node on both ends.

    Raises UnknownName where the two are not joined directly.
    """
    mark = ">" if ">" in address else "-"
    a, _, b = address.partition(mark)
    sources, targets = find(topology, a), find(topology, b)
    ids = np.flatnonzero(
        np.isin(topology.source, sources) & np.isin(topology.target, targets)
    ).astype(np.int32)
    if not len(ids):
        neighbours = topology.target[np.isin(topology.source, sources)]
        known = {f"{a}{mark}{name_of(topology, int(n))}" for n in neighbours[:64]}
        raise UnknownName("link", address, known)
    return ids if mark == ">" else np.concatenate([ids, ids ^ 1])


def _only_unit(topology: Topology, address: str, found: Mask) -> Mask:
    """What of `found` an address without prefix means: of the only node, or of the only rack."""
    if topology.nodes == 1:
        return found
    of_rack = found & (topology.node < 0)
    if len(topology.unit_class) == 1 and of_rack.any():
        return of_rack
    raise UsageError(
        f"{address!r} does not say which node",
        why=f"there are {topology.nodes} nodes",
        remedy=f"write node0/{address}, or */{address} for all of them",
    )


def _names(topology: Topology) -> list[str]:
    return [name_of(topology, c) for c in range(min(topology.components, 200))]
