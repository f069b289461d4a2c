"""FabricGraph: switches, adapters and cables, as ibnetdiscover or iblinkinfo show them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from wirespeed.evidence import Evidence, Fact
from wirespeed.readers import iblinkinfo, ibnetdiscover

_CABLE = re.compile(r"(\S+ \S+)/(\d+)>(\S+ \S+)/(\d+)")
_PORT = re.compile(r"(\S+ \S+)/(\d+)")
_DEVICE = re.compile(r"(.+?)[ _/]+([A-Za-z][\w.-]*\d[\w.-]*)")
_STRAY = 0.15
"""Share of the fullest switch's hosts, below which a switch with hosts is no leaf for that."""
_FORMATS = (ibnetdiscover.NAME, iblinkinfo.NAME)


@dataclass(frozen=True, slots=True)
class Cable:
    """One cable; `a` is the end that comes first in the file. `rate` [Gb/s], None if not known."""

    a: str
    a_port: int
    b: str
    b_port: int
    link: str
    width: int
    rate: float | None
    file: str
    line: int

    def other(self, node: str) -> str:
        """The node at the far end."""
        return self.b if node == self.a else self.a

    def port_of(self, node: str) -> int:
        """The port at this end."""
        return self.a_port if node == self.a else self.b_port


@dataclass(frozen=True, slots=True)
class PortState:
    """A port that is not connected, or that could do more than it does."""

    node: str
    port: int
    attribute: str
    value: str
    file: str
    line: int


@dataclass(frozen=True)
class FabricGraph:
    """Nodes by subject (`switch 0x…`, `ca 0x…`), each cable once.

    Attributes:
        names: what the tool calls each node.
        aggregation: switches' own SHARP nodes, which are listed as adapters.
    """

    names: dict[str, str] = field(default_factory=dict)
    aggregation: frozenset[str] = frozenset()
    cables: tuple[Cable, ...] = ()
    states: tuple[PortState, ...] = ()

    @cached_property
    def at(self) -> dict[str, list[Cable]]:
        """The cables of each node."""
        found: defaultdict[str, list[Cable]] = defaultdict(list)
        for cable in self.cables:
            found[cable.a].append(cable)
            found[cable.b].append(cable)
        return dict(found)

    @cached_property
    def adapters(self) -> tuple[str, ...]:
        """Adapters of hosts that have a cable."""
        return tuple(node for node in self.at if self.is_adapter(node))

    def is_adapter(self, node: str) -> bool:
        """Whether it is a host's adapter and not a switch or a part of one."""
        return node.startswith("ca ") and node not in self.aggregation

    @cached_property
    def level(self) -> dict[str, int]:
        """Switches by distance from hosts: 0 leaves, 1 what is above them, and so on.

        A lone host on a switch that is full of switches does not make it a leaf.
        """
        counts = {
            node: sum(self.is_adapter(cable.other(node)) for cable in cables)
            for node, cables in self.at.items()
            if node.startswith("switch ")
        }
        most = max(counts.values(), default=0)
        levels = {node: 0 for node, count in counts.items() if count and count >= _STRAY * most}
        queue = deque(levels)
        while queue:
            node = queue.popleft()
            for cable in self.at[node]:
                other = cable.other(node)
                if other in counts and other not in levels:
                    levels[other] = levels[node] + 1
                    queue.append(other)
        return levels

    def host(self, node: str) -> tuple[str, str]:
        """(host, device) of an adapter by its name; ("node-1", "mlx5_0") of "node-1 mlx5_0"."""
        name = self.names.get(node, node)
        found = _DEVICE.fullmatch(name)
        return (found[1], found[2]) if found else (name, "")

    def name(self, node: str) -> str:
        """What to call a node in a sentence."""
        return self.names.get(node) or node

    def hops(self, a: str, b: str) -> int | None:
        """Cables on the shortest way between two nodes; None where there is none."""
        distance = {a: 0}
        queue = deque([a])
        while queue:
            node = queue.popleft()
            if node == b:
                return distance[node]
            for cable in self.at.get(node, ()):
                other = cable.other(node)
                # Adapters forward nothing.
                if other not in distance and (other == b or other.startswith("switch ")):
                    distance[other] = distance[node] + 1
                    queue.append(other)
        return None


def fabric_graph(evidence: Iterable[Evidence]) -> FabricGraph:
    """The fabric that the evidence shows; empty where no file is of such a tool.

    A port has one cable: where two files name its far end differently, the first holds.
    """
    names: dict[str, str] = {}
    aggregation: set[str] = set()
    states: dict[tuple[str, int, str], PortState] = {}
    facts: defaultdict[str, dict[str, tuple[Fact, str]]] = defaultdict(dict)
    for part in evidence:
        if not set(part.format.split("+")) & set(_FORMATS):
            continue
        for fact in part.facts:
            if fact.attribute == "name":
                names.setdefault(fact.subject, str(fact.value))
            elif fact.attribute == "aggregation":
                aggregation.add(fact.subject)
            elif fact.attribute in ("link", "width", "rate_Gbps"):
                facts[fact.subject].setdefault(fact.attribute, (fact, part.file))
            elif fact.attribute in ("state", "physical", "could_be"):
                _add_state(fact, part.file, states)
    return FabricGraph(names, frozenset(aggregation), _cables(facts), tuple(states.values()))


def _add_state(fact: Fact, file: str, states: dict[tuple[str, int, str], PortState]) -> None:
    if port := _PORT.fullmatch(fact.subject):
        key = port[1], int(port[2]), fact.attribute
        states.setdefault(key, PortState(*key, str(fact.value), file, fact.line))


def _cables(facts: dict[str, dict[str, tuple[Fact, str]]]) -> tuple[Cable, ...]:
    cables: list[Cable] = []
    used: set[tuple[str, int]] = set()
    for subject, about in facts.items():
        ends = _CABLE.fullmatch(subject)
        if not ends or "link" not in about:
            continue
        a, b = (ends[1], int(ends[2])), (ends[3], int(ends[4]))
        if a in used or b in used or a == b:
            continue
        used |= {a, b}
        link, file = about["link"]
        width = about["width"][0].value if "width" in about else 0
        rate = about["rate_Gbps"][0].value if "rate_Gbps" in about else None
        cables.append(
            Cable(
                *a,
                *b,
                str(link.value),
                width if isinstance(width, int) else 0,
                float(rate) if isinstance(rate, int | float) else None,
                file,
                link.line,
            )
        )
    return tuple(cables)


def usual(values: Iterable[float]) -> float | None:
    """The most frequent value, of equally frequent ones the largest; None of nothing."""
    counts = Counter(values)
    return max(counts, key=lambda value: (counts[value], value), default=None)
