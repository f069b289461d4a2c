"""LogNode: one node of a job as the library's log tells it, with the lines that say so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from wirespeed.evidence import Evidence, Fact
from wirespeed.readers import nccl_graph, nccl_log

FORMATS = frozenset({nccl_log.NAME, nccl_graph.NAME})

_MOST_GPUS = 1024
_MOST_RANKS = 10**6
_USUAL_GPUS = 8
_READING_CC = 80
"""The one compute capability on which the library reads from its peer over NVLink ("/read")."""
_HOST = re.compile(r"host\d+")
_NUMBERED = re.compile(r"host\d+ dev(\d{1,2})(?:>dev(\d{1,2}))?")
_OURS = re.compile(r"(?:NCCL|RCCL)_\w+")


@dataclass(slots=True)
class LogGpu:
    """A GPU in use: its number, and its PCI address and model where the log has them."""

    index: int
    line: int
    bus_id: str = ""
    model: str = ""


@dataclass(slots=True)
class LogNic:
    """A NIC that the library uses, by its own number of it."""

    index: int
    line: int
    name: str = ""
    layer: str = ""
    rate_Gbps: float = 0.0


@dataclass(slots=True)
class LogNode:
    """The first host of a log, and how many there are.

    Attributes:
        file: what the log is called.
        gpus, nics: in order of their numbers.
        hosts: names of all hosts that speak.
        nodes: how many the job has; None where the log does not say.
        library, version: nccl or rccl; numbers of the release, empty where unknown.
        env: the library's variables that were set.
        paths: (GPU, GPU) or (GPU, NIC), by numbers, to the path's word and GB/s as the library
            credits it; NICs count from -1 down.
        nvlink: whether GPUs are joined by NVLink; None where nothing tells.
        nvlink_GBps: what the library credits each GPU's links to the switches with; 0: unknown.
        nvls: whether NVLink SHARP is there; efa, socket, mnnvl: what the data goes over.
    """

    file: str
    gpus: list[LogGpu] = field(default_factory=list)
    nics: list[LogNic] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    nodes: int | None = None
    library: str = "nccl"
    version: tuple[int, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    paths: dict[tuple[int, int], tuple[str, float, int]] = field(default_factory=dict)
    nvlink: bool | None = None
    nvlink_GBps: float = 0.0
    cc: int = 0
    """Compute capability, where the way between GPUs shows it; 80 is 8.0."""
    gpus_assumed: bool = False
    """Whether their number is only the usual one."""
    nvls: bool | None = None
    efa: bool = False
    socket: bool = False
    mnnvl: bool = False
    gdr_off: list[str] = field(default_factory=list)
    """NICs whose GPUDirect the log says is disabled."""
    uses: dict[str, bool] = field(default_factory=dict)
    """GDR, PXN, NVLS: whether the log says that they are used."""


def is_log(evidence: Evidence) -> bool:
    """Whether the library itself speaks in it: a log, or its graph file."""
    return not FORMATS.isdisjoint(evidence.format.split("+"))


def log_node(evidence: Sequence[Evidence]) -> LogNode | None:
    """The node that logs and graph files tell of; None where they do not tell how many GPUs."""
    parts = [part for part in evidence if is_log(part)]
    if not parts:
        return None
    facts = _together(parts)
    node = LogNode(parts[0].file)
    node.hosts = [
        str(f.value) for f in facts if f.attribute == "name" and _HOST.fullmatch(f.subject)
    ]
    _library(node, facts)
    _gpus(node, facts)
    if not node.gpus or not _tells(node, facts):
        return None
    _nics(node, facts)
    _nodes(node, facts)
    _paths(node, facts)
    _hints(node, facts)
    return node


def _together(parts: Sequence[Evidence]) -> list[Fact]:
    """Facts of all logs of a job, in which one name is one host and each host has one number."""
    if len(parts) == 1:
        return list(parts[0].facts)
    numbers: dict[str, int] = {}
    facts: list[Fact] = []
    for at, part in enumerate(parts):
        names = {
            f.subject: str(f.value)
            for f in part.facts
            if f.attribute == "name" and _HOST.fullmatch(f.subject)
        }

        def numbered(host: str, at: int = at, names: dict[str, str] = names) -> str:
            name = names.get(host, f"{host} of {at}")
            return f"host{numbers.setdefault(name, len(numbers))}"

        for fact in part.facts:
            host, blank, rest = fact.subject.partition(" ")
            if _HOST.fullmatch(host):
                fact = msgspec.structs.replace(fact, subject=f"{numbered(host)}{blank}{rest}")
            elif fact.attribute == "host" and _HOST.fullmatch(str(fact.value)):
                fact = msgspec.structs.replace(fact, value=numbered(str(fact.value)))
            facts.append(fact)
    return facts


def _tells(node: LogNode, facts: Iterable[Fact]) -> bool:
    """Whether it is more than a line or two of one process."""
    told = any(gpu.bus_id or gpu.model for gpu in node.gpus) or len(node.gpus) > 1
    return told or any(
        f.subject == "log" and f.attribute in ("ranks", "local_ranks", "nodes") for f in facts
    )


def _library(node: LogNode, facts: Iterable[Fact]) -> None:
    for fact in facts:
        if fact.subject == "log" and fact.attribute == "library":
            node.library = str(fact.value)
        elif fact.subject == "log" and fact.attribute == "version" and not node.version:
            found = re.match(r"(\d{1,3})\.(\d{1,3})(?:\.(\d{1,3}))?", str(fact.value))
            node.version = tuple(int(part or 0) for part in found.groups()) if found else ()
        elif fact.attribute in ("graph_xgmi", "missing_setting"):
            # Only RCCL knows such links, and asks for such settings.
            node.library = "rccl"
        elif fact.subject == "env" and _OURS.fullmatch(fact.attribute):
            node.env.setdefault(fact.attribute, str(fact.value))


def _gpus(node: LogNode, facts: Sequence[Fact]) -> None:
    """GPUs by number: of ranks on the first host, of its list of devices, of its picture."""
    ranks = _ranks_of(facts)
    models = {f.subject: str(f.value) for f in facts if f.attribute == "gpu_model"}
    for subject, told in ranks.items():
        device = told.get("device")
        index = device if isinstance(device, int) and device < _MOST_GPUS else len(node.gpus)
        bus, line = address(str(told.get("bus_id", ""))), int(str(told["line"]))
        taken = {gpu.index for gpu in node.gpus}
        if index in taken:
            # Each process sees its own GPU as number 0; addresses tell them apart.
            if not bus or bus in {gpu.bus_id for gpu in node.gpus}:
                continue
            index = next(n for n in range(_MOST_GPUS) if n not in taken)
        node.gpus.append(LogGpu(index, line, bus, models.get(subject, "")))
    counts = [(f, v) for f in facts for v in _count(f)]
    if counts:
        fact, count = max(counts, key=lambda pair: pair[1])
        for index in range(min(count, _MOST_GPUS)):
            if len(node.gpus) < count and index not in {gpu.index for gpu in node.gpus}:
                node.gpus.append(LogGpu(index, fact.line))
    node.gpus.sort(key=lambda gpu: gpu.index)
    _addresses(node, facts)
    if models and node.gpus and not any(gpu.model for gpu in node.gpus):
        node.gpus[0].model = next(iter(models.values()))


def _ranks_of(facts: Sequence[Fact]) -> dict[str, dict[str, object]]:
    """What is known of each rank on the host that has the most."""
    hosts: dict[str, list[Fact]] = {}
    for fact in facts:
        if fact.attribute == "host" and _HOST.fullmatch(str(fact.value)):
            hosts.setdefault(str(fact.value), []).append(fact)
    most: list[Fact] = max(hosts.values(), key=len, default=[])
    ranks: dict[str, dict[str, object]] = {fact.subject: {"line": fact.line} for fact in most}
    for fact in facts:
        if fact.subject in ranks and fact.attribute in ("device", "bus_id"):
            ranks[fact.subject].setdefault(fact.attribute, fact.value)
    return ranks


def _count(fact: Fact) -> Iterator[int]:
    """How many GPUs of one node a fact shows."""
    value = fact.value
    if fact.subject == "log" and fact.attribute == "local_ranks" and isinstance(value, int):
        yield value
    elif found := _NUMBERED.fullmatch(fact.subject):
        yield 1 + max(int(number) for number in found.groups() if number)
    elif " " in fact.subject or not isinstance(value, tuple):
        # Of each channel the same is told again.
        return
    elif fact.attribute == "gpus":
        yield len(value)
    elif fact.attribute == "devices" and len(value) > 1:
        # Numbers begin at 0, and an excerpt lacks some.
        yield 1 << min(max(value), _MOST_GPUS).bit_length()


def _addresses(node: LogNode, facts: Sequence[Fact]) -> None:
    """Addresses of GPUs in the library's picture, for GPUs of which no rank says its own."""
    drawn = {
        address(fact.subject.rpartition("gpu ")[2]): fact.line
        for fact in facts
        if fact.attribute == "in_graph" and fact.subject.startswith("host0 gpu ")
    }
    for fact in facts:
        if fact.attribute == "distance" and fact.subject.startswith("host0 gpu "):
            bus = fact.subject.removeprefix("host0 gpu ").partition(">")[0]
            drawn.setdefault(address(bus), fact.line)
    known = {gpu.bus_id for gpu in node.gpus if gpu.bus_id}
    rest = [bus for bus in sorted(drawn) if bus and bus not in known]
    for gpu in node.gpus:
        if not gpu.bus_id and rest:
            gpu.bus_id = rest.pop(0)
    for bus in rest:
        node.gpus.append(LogGpu(len(node.gpus), drawn[bus], bus))


def address(bus: str) -> str:
    """0000:1b:00.0 of the library's 1b000; an address stays itself, anything else is nothing."""
    if ":" in bus:
        return bus if bus.count(".") else f"{bus}.0" if bus.count(":") == 2 else f"{bus}:00.0"
    try:
        number = int(bus, 16) if 0 < len(bus) <= 12 else -1
    except ValueError:
        return ""
    if number < 0:
        return ""
    return f"{number >> 20:04x}:{number >> 12 & 255:02x}:{number >> 4 & 255:02x}.{number & 15:x}"


def _nics(node: LogNode, facts: Iterable[Fact]) -> None:
    """NICs of the first host, in the library's order of them."""
    found: dict[int, LogNic] = {}
    for fact in facts:
        host, _, device = fact.subject.partition(" ")
        if fact.attribute == "nets" and isinstance(fact.value, tuple):
            for net in fact.value:
                found.setdefault(net & 0xFFFF, LogNic(net & 0xFFFF, fact.line))
        if host != "host0" or not re.fullmatch(r"net\d{1,4}", device):
            continue
        if fact.attribute not in ("name", "layer", "graph_GBps"):
            continue
        nic = found.setdefault(int(device[3:]), LogNic(int(device[3:]), fact.line))
        if fact.attribute == "name":
            nic.name = str(fact.value)
        elif fact.attribute == "layer":
            nic.layer = str(fact.value)
        elif isinstance(fact.value, float):
            nic.rate_Gbps = round(8 * fact.value, 3)
    node.nics = [found[index] for index in sorted(found)]


def _nodes(node: LogNode, facts: Sequence[Fact]) -> None:
    told = {name: _most(facts, name) for name in ("nodes", "ranks", "local_ranks", "mnnvl")}
    ranks = told["ranks"] or max(
        (len(f.value) for f in facts if f.attribute == "order" and isinstance(f.value, tuple)),
        default=0,
    )
    node.mnnvl = told["mnnvl"] > 0
    per_node = len(node.gpus)
    if told["nodes"] and ranks:
        per_node = max(per_node, -(-ranks // told["nodes"]))
    elif not told["local_ranks"] and len(node.gpus) == 1 and ranks and ranks % _USUAL_GPUS == 0:
        per_node, node.gpus_assumed = _USUAL_GPUS, True
    first = node.gpus[0].line
    node.gpus += [LogGpu(at, first) for at in range(len(node.gpus), min(per_node, _MOST_GPUS))]
    by_ranks = -(-ranks // len(node.gpus))
    node.nodes = told["nodes"] or max(len(set(node.hosts)), by_ranks) or None


def _most(facts: Iterable[Fact], name: str) -> int:
    """The largest number that the log states of a job."""
    stated = (f.value for f in facts if (f.subject, f.attribute) == ("log", name))
    sound = (value for value in stated if isinstance(value, int) and value <= _MOST_RANKS)
    return max(sound, default=0)


def _paths(node: LogNode, facts: Iterable[Fact]) -> None:
    """The table of paths of the first host, by numbers of GPUs and NICs."""
    places = {gpu.bus_id: gpu.index for gpu in node.gpus}
    words: dict[str, tuple[str, int]] = {}
    rates: dict[str, float] = {}
    for fact in facts:
        if fact.attribute == "path":
            words.setdefault(fact.subject, (str(fact.value), fact.line))
        elif fact.attribute in ("path_GBps", "nvlink_GBps") and isinstance(fact.value, float):
            rates.setdefault(fact.subject, fact.value)
            if fact.attribute == "nvlink_GBps":
                words.setdefault(fact.subject, ("NVL", fact.line))
    for subject, (word, line) in words.items():
        if not subject.startswith("host0 gpu "):
            continue
        one, _, other = subject.removeprefix("host0 gpu ").partition(">")
        here = places.get(address(one))
        net = re.fullmatch(r"net(\d{1,4})", other)
        there = -1 - int(net[1]) if net else places.get(address(other.removeprefix("gpu ")))
        if here is not None and there is not None and here != there:
            node.paths[here, there] = (word, rates.get(subject, 0.0), line)


def _hints(node: LogNode, facts: Iterable[Fact]) -> None:
    """What else tells which machine it is."""
    told: set[bool] = set()
    peers = not node.env.keys() & {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"}
    for fact in facts:
        value = fact.value
        match fact.attribute:
            case "nvswitch_GBps" if isinstance(value, float):
                node.nvlink_GBps = max(node.nvlink_GBps, value)
                told.add(True)
            case "path" if ">gpu " in fact.subject:
                told.add(value in ("NVL", "NVB"))
            case "types":
                told.add(str(value).startswith(("NVL", "NVB")))
            case "intra_type" if fact.subject == "search0":
                told.add(value in ("NVL", "NVB"))
            case "nvls" if isinstance(value, bool):
                node.nvls = value if node.nvls is None else node.nvls or value
            case "transport" if str(value).endswith("/read") and "P2P/" in str(value):
                node.cc = _READING_CC
                told.add(True)
            case "transport" if "SHM" in str(value) or "shared memory" in str(value):
                told |= {False} if peers else set()
            case "p2p_refused":
                told.add(False)
            case "provider":
                node.efa |= value == "efa"
            case "network":
                node.socket |= "Socket" in str(value)
            case "gdr" if value is False and re.fullmatch(r"host\d+ net\d+", fact.subject):
                node.gdr_off.append(fact.subject.partition(" ")[2])
            case "uses_gdr" | "uses_pxn":
                node.uses[fact.attribute[5:].upper()] = bool(value)
    if True in told or node.nvls:
        node.nvlink = True
    elif told:
        node.nvlink = False
    if node.nvls is not None:
        node.uses["NVLS"] = node.nvls
