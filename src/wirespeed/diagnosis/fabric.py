"""fabric_findings: is an InfiniBand fabric wired as it was meant to be, by its own cables.

Nothing says what was meant: what most of a kind do is taken for it. Leaves and spines follow from
the distance to hosts, rails from where the adapters of one name end on most hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from wirespeed.diagnosis._fabric_rails import Stray, strays_of, wiring_of
from wirespeed.diagnosis._fabric_trunks import Trunks, trunks_of
from wirespeed.evidence import Evidence, EvidenceLine, Finding, Severity
from wirespeed.inventory.fabric_graph import Cable, FabricGraph, PortState, fabric_graph, usual

_MOST_LINES = 8
_COMPARABLE = 3
"""Hosts below which there is no rule that one could break."""
_RARE = 0.2
"""Share of a kind up to which cables that lag behind the others are faults; more are a design."""
_LOOK = "reseat the cable at both ends, then look at `mlxlink -d DEVICE -p PORT -c -e`"
_IBDIAGNET = "https://docs.nvidia.com/networking/display/ibdiagnet"
_IBLINKINFO = (
    "https://github.com/linux-rdma/rdma-core/blob/master/infiniband-diags/man/iblinkinfo.8.in.rst"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """The fabric, and the lines of the files for findings to quote."""

    graph: FabricGraph
    texts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def cable(self, cable: Cable) -> EvidenceLine:
        """The line that shows a cable; in our own words where the text is not at hand."""
        own = f"{self.end(cable, cable.a)} to {self.end(cable, cable.b)}, {cable.link}"
        return self._line(cable.file, cable.line, own)

    def state(self, state: PortState) -> EvidenceLine:
        """The line that shows a port's state."""
        own = f"{self.graph.name(state.node)}[{state.port}] {state.attribute} {state.value}"
        return self._line(state.file, state.line, own)

    def end(self, cable: Cable, node: str) -> str:
        """`leaf-1[21]`: one end of a cable."""
        return f"{self.graph.name(node)}[{cable.port_of(node)}]"

    def _line(self, file: str, line: int, own: str) -> EvidenceLine:
        lines = self.texts.get(file, ())
        text = lines[line - 1].strip() if 0 < line <= len(lines) else own
        return EvidenceLine(file, line, text[:200])


def fabric_findings(
    evidence: Iterable[Evidence], texts: Mapping[str, Sequence[str]] | None = None
) -> tuple[Finding, ...]:
    """What is wrong with the fabric that files show, worst first; `ok` where nothing is.

    Empty where no file shows a cable. `texts` are the lines of each file, to be quoted.
    """
    graph = fabric_graph(evidence)
    if not graph.cables:
        return ()
    seen = _Seen(graph, texts or {})
    found = [finding for rule in RULES for finding in rule(seen)]
    if not any(finding.severity in ("warning", "error") for finding in found):
        found.insert(0, _well(seen))
    order: tuple[Severity, ...] = ("error", "warning", "ok", "info")
    return tuple(sorted(found, key=lambda finding: order.index(finding.severity)))


def slow_cables(seen: _Seen) -> Iterator[Finding]:
    """Links below the width or rate of their siblings: cables of one kind between two levels."""
    hinted = {(s.node, s.port): s for s in seen.graph.states if s.attribute == "could_be"}
    told: set[Cable] = set()
    for cable in seen.graph.cables:
        ends = [(cable.a, cable.a_port), (cable.b, cable.b_port)]
        if hints := [hinted[end] for end in ends if end in hinted]:
            told.add(cable)
            yield _slow(seen, cable, f"both ends could do {hints[0].value}", "error", 0.95)
    for cables in _kinds(seen.graph).values():
        rate = usual(cable.rate for cable in cables if cable.rate is not None)
        if rate is None:
            continue
        below = [c for c in cables if c.rate is not None and c.rate < rate and c not in told]
        if not below:
            continue
        if len(below) > max(1, _RARE * len(cables)) or len(cables) < 3:
            rates = sorted({cable.rate for cable in cables if cable.rate is not None})
            listed = ", ".join(f"{value:g}" for value in rates)
            yield Finding(
                code="link_rates_mixed",
                severity="info",
                cause=f"Cables of one kind run at {listed} Gb/s: {len(below)} of {len(cables)} "
                f"below {rate:g}. So many are rather older parts than faults.",
                evidence=tuple(map(seen.cable, below[:_MOST_LINES])),
                remedy="compare with the list of parts: the slowest sets the pace of a collective",
                confidence=0.6,
                source_url=_IBLINKINFO,
            )
            continue
        for cable in below:
            text = f"{len(cables) - len(below)} others of its kind run at {rate:g} Gb/s"
            # An adapter of another make may do no more; a narrow link is damage.
            narrow = cable.width < (usual(c.width for c in cables) or 0)
            yield _slow(seen, cable, text, "error" if narrow else "warning", 0.85)


def _slow(seen: _Seen, cable: Cable, why: str, severity: Severity, sure: float) -> Finding:
    ends = f"{seen.end(cable, cable.a)} to {seen.end(cable, cable.b)}"
    speed = f" ({cable.rate:g} Gb/s)" if cable.rate is not None else ""
    return Finding(
        code="link_degraded",
        severity=severity,
        cause=f"The link {ends} runs at {cable.link}{speed}, while {why}.",
        evidence=(seen.cable(cable),),
        remedy=_LOOK,
        confidence=sure,
        source_url=_IBLINKINFO,
    )


def _kinds(graph: FabricGraph) -> dict[tuple[int, int], list[Cable]]:
    """Cables by the levels of their ends: -1 a host, 0 a leaf. What has no level is left out."""
    kinds: dict[tuple[int, int], list[Cable]] = {}
    for cable in graph.cables:
        ends = [
            -1 if graph.is_adapter(node) else graph.level.get(node, -2)
            for node in (cable.a, cable.b)
        ]
        if -2 not in ends:
            kinds.setdefault((min(ends), max(ends)), []).append(cable)
    return kinds


def stray_cables(seen: _Seen) -> Iterator[Finding]:
    """Adapters on another leaf than the same adapter of the other hosts: rails that cross."""
    wiring = wiring_of(seen.graph)
    strays = strays_of(seen.graph, wiring)
    if len(strays) > max(2, _RARE * len(seen.graph.adapters)):
        yield Finding(
            code="rails_unclear",
            severity="info",
            cause=f"{len(strays)} of {len(seen.graph.adapters)} adapters do not follow one plan of "
            "rails: none may be meant.",
            evidence=tuple(seen.cable(stray.cable) for stray in strays[:_MOST_LINES]),
            remedy="where rails are meant, recable; else let collectives cross rails "
            "(NCCL_CROSS_NIC=2)",
            confidence=0.4,
            source_url=_IBDIAGNET,
        )
        return
    done: set[Stray] = set()
    for stray in strays:
        if stray in done:
            continue
        partner = next((other for other in strays if _are_swapped(stray, other)), None)
        done |= {stray} | ({partner} if partner else set())
        yield _stray(seen, stray, partner)


def _are_swapped(a: Stray, b: Stray) -> bool:
    """Whether each ends where the other should."""
    return a is not b and a.expected == b.leaf and b.expected == a.leaf


def _stray(seen: _Seen, stray: Stray, partner: Stray | None) -> Finding:
    graph = seen.graph
    port = f"{stray.host} {stray.device}".strip()
    leaf = f"{graph.name(stray.leaf)}[{stray.cable.port_of(stray.leaf)}]"
    expected = graph.name(stray.expected) if stray.expected else "another leaf"
    cause = f"{port} is plugged into {leaf}; {stray.why} on {expected}."
    remedy = f"move the cable to {expected}" if stray.expected else "look at the cabling plan"
    lines = [seen.cable(stray.cable)]
    if partner:
        other = f"{partner.host} {partner.device}".strip()
        cause = (
            f"The cables of {port} and {other} are swapped: they end on "
            f"{graph.name(stray.leaf)} and {graph.name(partner.leaf)}."
        )
        remedy = "swap the two cables at one end"
        lines.append(seen.cable(partner.cable))
    return Finding(
        code="rail_miswired",
        severity="error",
        cause=cause,
        evidence=tuple(lines),
        remedy=remedy,
        confidence=0.9 if partner else 0.8,
        source_url=_IBDIAGNET,
    )


def missing_adapters(seen: _Seen) -> Iterator[Finding]:
    """Hosts with fewer connected adapters than most: a port is down or a cable is missing."""
    graph = seen.graph
    devices: dict[str, set[str]] = {}
    shown: dict[str, Cable] = {}
    for node in graph.adapters:
        host, device = graph.host(node)
        for cable in graph.at[node]:
            devices.setdefault(host, set()).add(f"{device}/{cable.port_of(node)}")
            shown.setdefault(host, cable)
    most = usual(len(names) for names in devices.values())
    short = [host for host, names in devices.items() if most and len(names) < most]
    if not most or most < 2 or len(short) > max(1, _RARE * len(devices)):
        return
    everywhere = {
        name
        for name in set().union(*devices.values())
        if sum(name in names for names in devices.values()) > len(devices) / 2
    }
    for host in short:
        gone = sorted(name.partition("/")[0] for name in everywhere - devices[host])
        which = f": {', '.join(gone)} is not there" if gone else ""
        yield Finding(
            code="cable_missing",
            severity="error",
            cause=f"{host} has {len(devices[host])} ports in this fabric, other hosts have "
            f"{most:g}{which}.",
            evidence=(seen.cable(shown[host]),),
            remedy=f"look at `ibstat` on {host}: a port that is Down has no cable or a bad one",
            confidence=0.85,
            source_url=_IBDIAGNET,
        )


def ports_down(seen: _Seen) -> Iterator[Finding]:
    """Adapter ports that are down, where the tool shows them."""
    for state in seen.graph.states:
        if state.attribute != "state" or not seen.graph.is_adapter(state.node):
            continue
        if state.value == "active":
            continue
        yield Finding(
            code="port_down",
            severity="error",
            cause=f"Port {state.port} of {seen.graph.name(state.node)} is {state.value}.",
            evidence=(seen.state(state),),
            remedy=_LOOK,
            confidence=0.8,
            source_url="https://github.com/Azure/azhpc-diagnostics/issues/76",
        )


def uplinks(seen: _Seen) -> Iterator[Finding]:
    """Leaves with fewer or slower ways up than their siblings."""
    trunks = trunks_of(seen.graph)
    for lack in trunks.lacking:
        leaf, spine = seen.graph.name(lack.leaf), seen.graph.name(lack.spine)
        shown = lack.cables or tuple(trunks.up.get(lack.leaf, ()))[:1]
        yield Finding(
            code="cable_missing",
            severity="error",
            cause=f"{leaf} has {len(lack.cables)} cables to {spine}; its siblings have "
            f"{lack.usual} each.",
            evidence=tuple(map(seen.cable, shown[:_MOST_LINES])),
            remedy=f"look for a port that is down on {leaf} or {spine}: `iblinkinfo --line`",
            confidence=0.85,
            source_url=_IBDIAGNET,
        )
    told = {lack.leaf for lack in trunks.lacking}
    if len(trunks.few) > max(1, _RARE * len(trunks.up)):
        return
    for leaf in (leaf for leaf in trunks.few if leaf not in told):
        yield Finding(
            code="uplinks_unequal",
            severity="warning",
            cause=f"{seen.graph.name(leaf)} has {len(trunks.up[leaf])} cables upwards "
            f"({trunks.capacity[leaf]:g} Gb/s), fewer than its siblings.",
            evidence=tuple(map(seen.cable, trunks.up[leaf][:_MOST_LINES])),
            remedy="count the uplinks of this leaf; a job that spans leaves runs at its pace",
            confidence=0.7,
            source_url=_IBDIAGNET,
        )


def oversubscription(seen: _Seen) -> Iterator[Finding]:
    """Leaves with more rate to hosts than upwards; meant or not, jobs that span leaves feel it."""
    trunks = trunks_of(seen.graph)
    factors = {leaf: trunks.down[leaf] / up for leaf, up in trunks.capacity.items() if up}
    worst = max(factors, key=lambda leaf: factors[leaf], default=None)
    if worst is None or factors[worst] <= 1.05:
        return
    same = sum(factor > 1.05 for factor in factors.values())
    yield Finding(
        code="oversubscribed",
        severity="info",
        cause=f"{same} of {len(factors)} leaves have more rate to hosts than upwards: "
        f"{seen.graph.name(worst)} has {trunks.down[worst]:g} Gb/s down and "
        f"{trunks.capacity[worst]:g} up, {factors[worst]:.2g}:1.",
        evidence=tuple(map(seen.cable, trunks.up[worst][:_MOST_LINES])),
        remedy="place a job below as few leaves as hold it; ports that are free may be meant for "
        "more uplinks",
        confidence=0.9,
        source_url=_IBDIAGNET,
    )


def _well(seen: _Seen) -> Finding:
    graph = seen.graph
    trunks: Trunks = trunks_of(graph)
    wiring = wiring_of(graph)
    hosts = {graph.host(node)[0] for node in graph.adapters}
    leaves = sum(level == 0 for level in graph.level.values())
    rate = usual(c.rate for c in graph.cables if c.rate is not None)
    parts = [
        f"{len(hosts)} hosts with {len(graph.adapters)} adapters",
        f"{leaves} leaves",
        f"{len(graph.level) - leaves} switches above them",
        f"{len(graph.cables)} cables" + (f", most at {rate:g} Gb/s" if rate else ""),
        wiring.words,
    ]
    if trunks.usual_capacity:
        parts.append(f"{trunks.usual_capacity:g} Gb/s up from a leaf")
    few = len(hosts) < _COMPARABLE
    said = "Too little is shown to compare" if few else "The fabric is wired alike everywhere"
    return Finding(
        code="fabric_too_small" if few else "fabric_as_expected",
        severity="info" if few else "ok",
        cause=f"{said}: {'; '.join(filter(None, parts))}.",
        evidence=(seen.cable(graph.cables[0]),),
        remedy="",
        confidence=0.8,
        source_url=_IBDIAGNET,
    )


RULES: tuple[Callable[[_Seen], Iterator[Finding]], ...] = (
    slow_cables,
    ports_down,
    missing_adapters,
    stray_cables,
    uplinks,
    oversubscription,
)
"""In the order in which they look."""
