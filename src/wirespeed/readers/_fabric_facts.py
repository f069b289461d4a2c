"""Facts on an InfiniBand fabric, in the same words whichever tool printed them.

| subject | attributes |
|---|---|
| `switch 0x…`, `ca 0x…`, `router 0x…` | name, ports, lid, aggregation (a switch's own SHARP node, |
| | which is listed like a host) |
| `switch 0x…/1>ca 0x…/1` | link (4xHDR), width, rate_Gbps; stated from each side that is read |
| `switch 0x…/37` | state (down; unknown where ??? is printed), physical, could_be (what both |
| | ends could do, as iblinkinfo says) |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wirespeed.readers._gathered import Gathered

LANE_GBPS = {
    "SDR": 2.5,
    "DDR": 5.0,
    "QDR": 10.0,
    "FDR10": 10.0,
    "FDR": 14.0,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
"""Nominal rate of a lane [Gb/s]. Source: InfiniBand Trade Association, roadmap."""
KINDS: Mapping[str, str] = {
    "S": "switch",
    "H": "ca",
    "R": "router",
    "SW": "switch",
    "CA": "ca",
    "RT": "router",
    "SWITCH": "switch",
    "ROUTER": "router",
}
_AGGREGATION = "aggregation node"


@dataclass(frozen=True, slots=True)
class End:
    """One end of a cable: the node's subject and the port."""

    node: str
    port: int

    def __str__(self) -> str:
        return f"{self.node}/{self.port}"


def node_subject(kind: str, guid: str) -> str:
    """`switch 0x…` of the tool's word for the kind and a GUID in any spelling."""
    return f"{KINDS[kind.upper()]} 0x{int(guid, 16):016x}"


def state_node(
    node: str,
    name: str | None,
    line: int,
    found: Gathered,
    *,
    ports: int | None = None,
    lid: int | None = None,
) -> None:
    """What is said of a node; blanks around names are the tool's padding."""
    if name is not None:
        found.add(node, "name", name.strip(), line)
        if _AGGREGATION in name.lower():
            found.add(node, "aggregation", True, line)
    found.add(node, "ports", ports, line)
    if lid:
        found.add(node, "lid", lid, line)


def state_link(a: End, b: End, width: int, speed: str, line: int, found: Gathered) -> None:
    """A cable seen from `a`; a speed that the tool does not know leaves the rate open."""
    pair = f"{a}>{b}"
    found.add(pair, "link", f"{width}x{speed}", line)
    found.add(pair, "width", width, line)
    if speed in LANE_GBPS:
        found.add(pair, "rate_Gbps", width * LANE_GBPS[speed], line)


def speed_of_lane(Gbps: float) -> str:
    """The name of the speed that signals at so many Gb/s a lane: 25.78125 is EDR; else ???."""
    # Lines code 64 bits as 66 or 256 as 257 (514 as 544 with the error correction of HDR on).
    for name, nominal in LANE_GBPS.items():
        if name != "FDR10" and nominal <= Gbps * 1.005 and Gbps <= nominal * 1.07:
            return "FDR10" if name == "QDR" and Gbps > nominal * 1.02 else name
    return "???"
