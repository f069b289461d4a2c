"""A fabric of hosts, leaves and spines as ibnetdiscover and iblinkinfo print it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

LANE_GBPS = {"EDR": "25.78125", "HDR": "53.125", "NDR": "106.25"}

End = tuple[str, int]


@dataclass(frozen=True)
class Fabric:
    """Names of nodes; cables by their lower end: (node, port) to (node, port, link)."""

    switches: tuple[str, ...]
    adapters: tuple[str, ...]
    cables: dict[End, tuple[str, int, str]] = field(default_factory=dict)
    ports: int = 64

    def guid(self, node: str) -> int:
        """A number of its own for each node."""
        first = 0x0200_0000_0000_1000
        return first + [*self.switches, *self.adapters].index(node)

    def without(self, end: End) -> Fabric:
        """The fabric without the cable at that lower end."""
        return replace(self, cables={k: v for k, v in self.cables.items() if k != end})

    def slower(self, end: End, link: str) -> Fabric:
        """The fabric where one cable runs at another link's width and speed."""
        node, port, _ = self.cables[end]
        return replace(self, cables={**self.cables, end: (node, port, link)})

    def swapped(self, one: End, other: End) -> Fabric:
        """The fabric where the far ends of two cables are exchanged."""
        a, b = self.cables[one], self.cables[other]
        return replace(self, cables={**self.cables, one: b, other: a})


def rails(
    *, pods: int, hosts: int, rails: int, spines: int, trunk: int, link: str = "4xNDR"
) -> Fabric:
    """Pods of so many hosts; adapter k of each host on leaf k of its pod, `trunk` cables a pair."""
    leaves = [f"leaf-{pod}-{rail}" for pod in range(pods) for rail in range(rails)]
    tops = [f"spine-{spine}" for spine in range(spines)]
    cables: dict[End, tuple[str, int, str]] = {}
    adapters = []
    for pod in range(pods):
        for host in range(hosts):
            for rail in range(rails):
                adapter = f"node-{pod * hosts + host:03d} mlx5_{rail}"
                adapters.append(adapter)
                cables[adapter, 1] = (f"leaf-{pod}-{rail}", host + 1, link)
    for at, leaf in enumerate(leaves):
        for spine, top in enumerate(tops):
            for k in range(trunk):
                own = hosts + spine * trunk + k + 1
                cables[leaf, own] = (top, at * trunk + k + 1, link)
    return Fabric((*leaves, *tops), tuple(adapters), cables)


def ibnetdiscover(fabric: Fabric) -> str:
    """The usual form: a block for each node, a cable in the block of either end."""
    blocks = ["#\n# Topology file: generated on Tue Mar  4 10:12:01 2025\n#\n"]
    ends: dict[str, dict[int, tuple[str, int, str]]] = {}
    for (low, port), (high, other, link) in fabric.cables.items():
        ends.setdefault(low, {})[port] = (high, other, link)
        ends.setdefault(high, {})[other] = (low, port, link)
    for lid, node in enumerate([*fabric.switches, *fabric.adapters], 1):
        guid = fabric.guid(node)
        is_switch = node in fabric.switches
        key = "switchguid" if is_switch else "caguid"
        lines = ["vendid=0x2c9", f"sysimgguid={guid:#x}", f"{key}={guid:#x}({guid:x})"]
        if is_switch:
            head = f'Switch\t{fabric.ports} "S-{guid:016x}"\t\t# "MF0;{node}:MQM9700/U1"'
            lines.append(f"{head} enhanced port 0 lid {lid} lmc 0")
        else:
            lines.append(f'Ca\t1 "H-{guid:016x}"\t\t# "{node}"')
        for port, (far, other, link) in sorted(ends.get(node, {}).items()):
            kind = "S" if far in fabric.switches else "H"
            far_guid = fabric.guid(far)
            own = "" if is_switch else f"({guid:x})"
            there = "" if kind == "S" else f"({far_guid:x})"
            name = f"MF0;{far}:MQM9700/U1" if kind == "S" else far
            lines.append(
                f'[{port}]{own}\t"{kind}-{far_guid:016x}"[{other}]{there}\t\t# "{name}" '
                f"lid {far_guid & 0xFFF} {link}"
            )
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def iblinkinfo(fabric: Fabric, *, could_be: dict[End, str] | None = None) -> str:
    """The usual form of iblinkinfo: far ends by LID, hosts first; unused ports are left out."""
    nodes = [*fabric.adapters, *fabric.switches]
    lid = {node: at for at, node in enumerate(nodes, 1)}
    ends: dict[str, dict[int, tuple[str, int, str]]] = {}
    for (low, port), (high, other, link) in fabric.cables.items():
        ends.setdefault(low, {})[port] = (high, other, link)
        ends.setdefault(high, {})[other] = (low, port, link)
    text = []
    for node in nodes:
        is_switch = node in fabric.switches
        guid = f"0x{fabric.guid(node):016x}"
        text.append(f"Switch: {guid} {node}:" if is_switch else f"CA: {node}:")
        own = ends.get(node, {})
        for port in range(1, (fabric.ports if is_switch else 1) + 1):
            lead = f"      {'' if is_switch else guid + ' '}{lid[node]:5d} {port:4d}[  ] "
            if port not in own:
                text.append(f'{lead}==(                Down/ Polling)==>             [  ] "" ( )')
                continue
            far, other, link = own[port]
            width, speed = link.split("x")
            hint = (could_be or {}).get((node, port), "")
            text.append(
                f"{lead}==( {width}X {LANE_GBPS[speed]:>17} Gbps Active/  LinkUp)==> "
                f'{lid[far]:5d} {other:4d}[  ] "{far}" ( {"Could be " + hint if hint else ""})'
            )
    return "\n".join(text) + "\n"
