"""The library's graph XML (NCCL_GRAPH_DUMP_FILE, NCCL_GRAPH_FILE): the channels that it searched.

Facts, in the order of the file:

- `graphs`: version, searched (how many)
- `search0` … by the graph's id: kind (ring, tree, collnet chain, nvls, collnet direct), pattern,
  channels, intra_GBps and inter_GBps (of one channel), latency_us, intra_type and inter_type (path
  words), cross_nic, same_channels, gpus and nets (numbers of the devices, as a list)
- `search0 channel1`: gpus (in the channel's order), net_in, net_out (numbers of the NICs)

Devices are numbered as on the node, not by rank. `inter_type` and `inter_GBps` stand in a file of
one node too, where they say nothing: then `nets` is not stated.

Remarks: what `nccl_xml_text` mended; `unknown-element`, `value-unclear` (left out); `no-graph-id`;
`pattern-unknown`; `path-number` (old files number path types, by release); `channels-differ` (what
is listed is not what is announced).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from wirespeed.evidence import Evidence
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered
from wirespeed.readers.nccl_xml_text import Dialect, Element, parse
from wirespeed.readers.nccl_xml_values import decimal, number

NAME = "nccl-graph"

PATTERNS = {
    1: "balanced tree",
    2: "split tree",
    3: "tree",
    4: "ring",
    5: "nvls",
    6: "collnet direct",
}
KINDS = {0: "ring", 1: "tree", 2: "collnet chain", 3: "nvls", 4: "collnet direct"}
"""What the library searches under each id and pattern. Source: formats of its graph files."""

_DIALECT = Dialect(
    frozenset(("graphs", "graph", "channel", "gpu", "net")),
    {"graphs": ("graph",), "graph": ("channel",), "channel": ("gpu", "net")},
    "NCCL_GRAPH_DUMP_FILE",
    100_000,
)
_SIGN = re.compile(r"<graph\s[^<>]*\b(?:pattern|nchannels|speedintra)\s*=|<graphs\s[^<>]*version")
_PATHS = frozenset(
    ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS")
)
_LARGEST_NUMBER = 2**63


def sniff(text: str) -> float:
    """1 where a graph of the format begins."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of a graph file; raises InputError where it holds no graph."""
    root, remarks = parse(text, file, _DIALECT)
    gathered = Gathered(remarks=list(remarks))
    graphs = _graphs(root)
    if graphs:
        _version(gathered, root)
        gathered.add("graphs", "searched", len(graphs), graphs[0].line)
    free = count()
    taken: set[int] = set()
    for graph in graphs:
        _read_graph(gathered, graph, _name(gathered, graph, taken, free))
    return gathered.evidence(
        NAME,
        file,
        nothing="no <graph> with its attributes could be read",
        remedy="set NCCL_GRAPH_DUMP_FILE=graph.xml and run any NCCL program",
    )


def _graphs(root: Element) -> list[Element]:
    """All `graph` elements; channels outside of any are no graph."""
    if root.name == "graph":
        return [root]
    found = []
    pending = list(reversed(root.children))
    while pending:
        element = pending.pop()
        if element.name == "graph":
            found.append(element)
        else:
            pending += reversed(element.children)
    return found


def _version(gathered: Gathered, root: Element) -> None:
    for element in (root, *root.children):
        if element.name == "graphs":
            version = number(element.attributes.get("version", ""))
            gathered.add("graphs", "version", version, element.line)


def _name(gathered: Gathered, graph: Element, taken: set[int], free: Iterator[int]) -> str:
    """`search0` by the graph's id, or by the next free number."""
    wanted = number(graph.attributes.get("id", ""))
    index = wanted if wanted is not None and 0 <= wanted < 256 and wanted not in taken else None
    if index is None:
        index = next(n for n in free if n not in taken)
        text = f"this graph has no id of its own and is taken as number {index}"
        gathered.note("no-graph-id", text, graph.line)
    taken.add(index)
    if wanted == index and index in KINDS:
        gathered.add(f"search{index}", "kind", KINDS[index], graph.line)
    return f"search{index}"


def _read_graph(gathered: Gathered, graph: Element, name: str) -> None:
    line = graph.line
    _pattern(gathered, graph, name)
    for ours, attribute, value in _VALUES:
        written = graph.attributes.get(attribute, "").strip()
        if not written:
            continue
        if (meant := value(written)) is None:
            text = f"{attribute}={written[:32]!r} cannot be read"
            gathered.note("value-unclear", text, line)
        gathered.add(name, ours, meant, line)
    for ours, attribute in (("intra_type", "typeintra"), ("inter_type", "typeinter")):
        _path(gathered, graph, name, ours, graph.attributes.get(attribute, "").strip().upper())
    _channels(gathered, graph, name)


def _pattern(gathered: Gathered, graph: Element, name: str) -> None:
    code = number(graph.attributes.get("pattern", ""))
    if code in PATTERNS:
        gathered.add(name, "pattern", PATTERNS[code], graph.line)
    elif code is not None:
        gathered.note("pattern-unknown", f"pattern {code} is not known", graph.line)


def _path(gathered: Gathered, graph: Element, name: str, ours: str, word: str) -> None:
    if word in _PATHS:
        gathered.add(name, ours, word, graph.line)
    elif number(word) is not None:
        text = f"{ours} is number {number(word)}, whose meaning differs by release"
        gathered.note("path-number", text, graph.line)
    elif word:
        gathered.note("value-unclear", f"{ours} {word[:32]!r} is no path type", graph.line)


def _channels(gathered: Gathered, graph: Element, name: str) -> None:
    gpus: dict[int, None] = {}
    nets: dict[int, None] = {}
    listed = [child for child in graph.children if child.name == "channel"]
    for other in graph.children:
        if other.name != "channel":
            gathered.note("unknown-element", f"<{other.name[:32]}> is left out", other.line)
    for index, channel in enumerate(listed):
        order, doors = _channel(gathered, channel)
        subject = f"{name} channel{index}"
        gathered.add(subject, "gpus", tuple(order) or None, channel.line)
        for end, door in zip(("net_in", "net_out"), doors, strict=True):
            gathered.add(subject, end, door, channel.line)
        gpus |= dict.fromkeys(order)
        nets |= dict.fromkeys(door for door in doors if door is not None)
    gathered.add(name, "gpus", tuple(sorted(gpus)) or None, graph.line)
    gathered.add(name, "nets", tuple(sorted(nets)) or None, graph.line)
    announced = number(graph.attributes.get("nchannels", ""))
    if announced is not None and announced != len(listed):
        text = f"{announced} channels are announced, {len(listed)} are listed"
        gathered.note("channels-differ", text, graph.line)


def _channel(
    gathered: Gathered, channel: Element
) -> tuple[list[int], tuple[int | None, int | None]]:
    """GPUs in order; the NIC before the first of them, and the one after the last."""
    order: list[int] = []
    before: int | None = None
    after: int | None = None
    for device in channel.children:
        dev = _device(device.attributes.get("dev", ""))
        if device.name not in ("gpu", "net") or dev is None:
            what = device.name[:32] if device.name not in ("gpu", "net") else f"{device.name} dev"
            gathered.note("unknown-element", f"<{what}> cannot be read", device.line)
        elif device.name == "gpu":
            order.append(dev)
        elif order:
            after = dev
        else:
            before = dev
    return order, (before, after)


def _device(written: str) -> int | None:
    """The number of a device; newer files write those of NICs in hexadecimal, hosts included."""
    try:
        value = int(written.strip(), 0) if len(written) <= 20 else -1
    except ValueError:
        value = -1
    return value if 0 <= value < _LARGEST_NUMBER else None


def _flag(written: str) -> bool | None:
    value = number(written)
    return None if value is None else value != 0


_VALUES: tuple[tuple[str, str, Callable[[str], Any]], ...] = (
    ("channels", "nchannels", number),
    ("intra_GBps", "speedintra", decimal),
    ("inter_GBps", "speedinter", decimal),
    ("latency_us", "latencyinter", decimal),
    ("cross_nic", "crossnic", number),
    ("same_channels", "samechannels", _flag),
)

FORMAT = Format(NAME, "a graph XML of NCCL or RCCL (NCCL_GRAPH_DUMP_FILE)", sniff, read)
