"""What lines of a library's log say, one pattern a kind of line.

Each entry makes facts of a match. Subjects: `log`, `env`, `host0` (in order of appearance),
`host0 net2`, `rank3`, `rank0>rank1`, `ring0`, `graph4`, `warn`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from wirespeed.evidence import Fact
from wirespeed.readers._nccl_log_lines import Said

Facts = Iterator[Fact]


@dataclass(frozen=True, slots=True)
class Word:
    """A kind of line: what to look for, before the pattern is tried; the facts of a match."""

    hint: str
    pattern: re.Pattern[str]
    facts: Callable[[re.Match[str], Said, str], Facts]
    subsystem: str = "INIT"


def _environment(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact("env", match[1], match[2].strip().rstrip("."), line.number)


def _bootstrap(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact(host, "bootstrap", match[1], line.number)


def _network(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact(host, "network", match[1].strip(), line.number)


def _devices(match: re.Match[str], line: Said, host: str) -> Facts:
    found = re.findall(r"\[(\d+)\]\s*(\{[^}]*\}|[^\s:\[]+):(\d+)/(\w+)", match[1])
    for number, name, port, layer in found:
        subject = f"{host} net{number}"
        yield Fact(subject, "name", name, line.number)
        yield Fact(subject, "port", int(port), line.number)
        yield Fact(subject, "layer", layer, line.number)
    if not found:
        return
    listed = ",".join(f"{name}:{port}/{layer}" for _, name, port, layer in found)
    yield Fact(host, "net_devices", listed, line.number)


def _no_device(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact(host, "ib_devices", 0, line.number)


def _plugin(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact(host, "plugin", match[1].strip().rstrip("."), line.number)


def _provider(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact(host, "provider", match[1], line.number)
    if match[2]:
        yield Fact(host, "provider_nics", int(match[2]), line.number)


def _gdr_of_nic(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact(f"{host} net{match[2]}", "gdr", match[1] == "Enabled", line.number)


def _gdr_of_pair(match: re.Match[str], line: Said, host: str) -> Facts:
    subject = f"{host} gpu {match[2].lower()}>net{match[3]}"
    yield Fact(subject, "gdr", match[1] == "Enabled", line.number)
    yield Fact(subject, "distance", int(match[4]), line.number)
    yield Fact(subject, "limit", int(match[5]), line.number)


def _dma_buf(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact(f"{host} dev{match[1]}", "dma_buf", True, line.number)


def _communicator(match: re.Match[str], line: Said, host: str) -> Facts:
    subject = f"rank{match[1]}"
    yield Fact(subject, "host", host, line.number)
    yield Fact("log", "ranks", int(match[2]), line.number)
    for name, word in (
        ("nodes", r"nNodes (\d+)"),
        ("local_ranks", r"localRanks (\d+)"),
        ("mnnvl", r"MNNVL (\d)"),
    ):
        if found := re.search(word, line.text):
            yield Fact("log", name, int(found[1]), line.number)
    if found := re.search(r"busId (\w+)", line.text):
        yield Fact(subject, "bus_id", found[1].lower(), line.number)
    if found := re.search(r"(?:cudaDev|nvmlDev) (\d+)", line.text):
        yield Fact(subject, "device", int(found[1]), line.number)
    if found := re.search(r"Init (START|COMPLETE)", line.text):
        yield Fact(subject, "init", found[1], line.number)


def _edge(match: re.Match[str], line: Said, host: str) -> Facts:
    subject = f"rank{match[1]}>rank{match[2]}"
    transport = match[4].strip()
    yield Fact(subject, "transport", transport, line.number)
    if match[3]:
        side = "receive_by" if match[3] == "receive" else "send_by"
        yield Fact(subject, side, f"{host} {transport}", line.number)


def _ring(match: re.Match[str], line: Said, host: str) -> Facts:
    order = tuple(int(rank) for rank in match[3].split())
    yield Fact(f"ring{int(match[1])}", "order", order, line.number)
    if match[2]:
        yield Fact("log", "rings", int(match[2]), line.number)


def _channels(match: re.Match[str], line: Said, host: str) -> Facts:
    for count, name in re.findall(r"(\d+) (coll|collnet|nvls|p2p) channels", line.text):
        # The last of the line is the one for each peer.
        yield Fact("log", f"{name}_channels", int(count), line.number)
    if found := re.search(r"(\d+) p2p channels per peer", line.text):
        yield Fact("log", "channels_per_peer", int(found[1]), line.number)


def _pattern(match: re.Match[str], line: Said, host: str) -> Facts:
    subject = f"graph{match[1]}"
    yield Fact(subject, "cross_nic", int(match[2]), line.number)
    yield Fact(subject, "channels", int(match[3]), line.number)
    yield Fact(subject, "intra_GBps", float(match[4]), line.number)
    yield Fact(subject, "inter_GBps", float(match[5]), line.number)
    yield Fact(subject, "types", f"{match[6]}/{match[7]}", line.number)


def _system(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact(host, "graph_max_GBps", float(match[1]), line.number)
    yield Fact(host, "graph_total_GBps", float(match[2]), line.number)


def _node(match: re.Match[str], line: Said, host: str) -> Facts:
    """A branch of the library's own picture of the machine."""
    kind = match[1]
    yield Fact(host, f"graph_{kind.lower()}", f"{match[3]} {match[2]}", line.number)


def _nvls(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact(f"{host} dev{match[2]}", "nvls", match[1] != "not ", line.number)


def _mnnvl(match: re.Match[str], line: Said, host: str) -> Facts:
    subject = f"{host} gpu {match[1].lower()}"
    yield Fact(subject, "fabric_uuid", match[2], line.number)
    yield Fact(subject, "clique", match[3], line.number)
    yield Fact(subject, "fabric_state", int(match[4]), line.number)
    if match[5]:
        yield Fact(subject, "fabric_health", match[5], line.number)


def _refused(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact(f"{host} dev{match[1]}>dev{match[2]}", "p2p_refused", True, line.number)


def _connected(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact("log", "connected", match[1], line.number)
    for name in ("PXN", "GDR"):
        if found := re.search(rf"\b{name} (\d)", line.text):
            yield Fact("log", f"uses_{name.lower()}", int(found[1]), line.number)


def _affinity(match: re.Match[str], line: Said, host: str) -> Facts:
    yield Fact(f"{host} dev{match[1]}", "cpu_affinity", match[2], line.number)


WORDS = (
    Word("set by", re.compile(r"([NR]CCL_\w+) set (?:by environment )?to (.*)$"), _environment, ""),
    Word("Bootstrap", re.compile(r"Bootstrap ?: Using (?:\[0\])?([^\s:\[]+):"), _bootstrap),
    Word(
        "Using interface",
        re.compile(r"NET : Using interface ([^\s:]+):"),
        _bootstrap,
    ),
    Word("Using network", re.compile(r"Using network (.+)$"), _network, "NET"),
    Word("Using [", re.compile(r"NET/\w+ ?: Using (\[0\].*?)(?:; OOB.*)?$"), _devices, "NET"),
    Word("No device found", re.compile(r"NET/IB ?: No device found"), _no_device, "NET"),
    Word("Assigned NET", re.compile(r"Assigned NET plugin (\S+)"), _plugin, "NET"),
    Word("Loaded net plugin", re.compile(r"Loaded net plugin (\S+)"), _plugin, "NET"),
    Word("NET/OFI Initializing", re.compile(r"NET/OFI Initializing (.+)$"), _plugin, "NET"),
    Word(
        "Selected Provider",
        re.compile(r"Selected [Pp]rovider is (\S+?)(?:,.*)?(?: ?\(found (\d+) nics\))?$"),
        _provider,
        "NET",
    ),
    Word(
        "for HCA",
        re.compile(r"GPU Direct RDMA (Enabled|Disabled) for HCA (\d+)"),
        _gdr_of_nic,
        "NET",
    ),
    Word(
        "GPU Direct RDMA",
        re.compile(
            r"GPU Direct RDMA (Enabled|Disabled) for GPU (\w+) / HCA (\d+) "
            r"\(distance (\d+) (?:<=|>) (\d+)\)"
        ),
        _gdr_of_pair,
        "NET",
    ),
    Word("DMA-BUF", re.compile(r"DMA-BUF is available on GPU device (\d+)"), _dma_buf, "NET"),
    Word("rank", re.compile(r"comm \S+ rank (\d+) n[rR]anks (\d+)"), _communicator),
    Word(
        " via ",
        re.compile(
            r"(?:Channel|Ring) \d+(?:/\w+)? : (\d+)(?:\[\w+\])? -> (\d+)(?:\[\w+\])? "
            r"(?:\[(send|receive)\] )?via (.+)$"
        ),
        _edge,
    ),
    Word(" : ", re.compile(r"(?:Channel|Ring) (\d+)(?:/(\d+))? :((?:\s+\d+)+)\s*$"), _ring),
    Word(" channels", re.compile(r"\d+ coll channels"), _channels),
    Word(
        "Pattern",
        re.compile(
            r"Pattern (\d+), crossNic (\d), nChannels (\d+), (?:bw|speed) ([\d.]+)/([\d.]+), "
            r"type (\w+)/(\w+)"
        ),
        _pattern,
        "GRAPH",
    ),
    Word(
        "=== System",
        re.compile(r"=== System : max(?:Bw|Width) ([\d.]+) total(?:Bw|Width) ([\d.]+)"),
        _system,
        "GRAPH",
    ),
    Word(
        "] - ",
        re.compile(r"\+ (PCI|NVL|XGMI|C2C|SYS|NET)\[([\d.]+)\] - (\w+/\S+)"),
        _node,
        "GRAPH",
    ),
    Word(
        "NVLS multicast",
        re.compile(r"NVLS multicast support is (not )?available on dev (\d+)"),
        _nvls,
        "NVLS",
    ),
    Word(
        "MNNVL busId",
        re.compile(
            r"MNNVL busId (\w+) fabric UUID (\S+) cliqueId (\w+) state (\d+)"
            r"(?: healthMask (\w+))?"
        ),
        _mnnvl,
    ),
    Word(
        "Could not enable P2P",
        re.compile(r"Could not enable P2P between dev (\d+)\(=\w+\) and dev (\d+)"),
        _refused,
        "P2P",
    ),
    Word("Connected all", re.compile(r"Connected all (\w+)"), _connected),
    Word(
        "affinity",
        re.compile(r"Setting affinity for GPU (\d+) to (\S+)"),
        _affinity,
    ),
)

WARNINGS = (
    ("nvls_cuda_failure", re.compile(r"Cuda failure\b.*", re.IGNORECASE), re.compile("nvls")),
    ("nvls_bind", re.compile(r"Failed to bind NVLink SHARP"), None),
    ("shm_full", re.compile(r"/dev/shm/|posix_fallocate failed"), None),
    ("memlock", re.compile(r"ibv_reg_mr\w* failed.*(?:Cannot allocate memory|12)"), None),
    ("ib_open", re.compile(r"ibv_open_device failed|Unable to open device"), None),
    ("rdma_completion", re.compile(r"Got completion .*?(?:error|status=?) ?(\d+)"), None),
    ("modify_qp", re.compile(r"ibv_modify_qp failed"), None),
    (
        "connect",
        re.compile(r"[Cc]onnect.*(?:refused|timeout|timed out|No route to host|failed)"),
        None,
    ),
    ("no_interface", re.compile(r"no socket interface found|No socket interface"), None),
    ("version_mismatch", re.compile(r"Mismatched NCCL version"), None),
    ("net_mismatch", re.compile(r"mixed local Net device counts|NET mismatch"), None),
    ("topo_attribute", re.compile(r"Attribute \w+ of node \w+ not found|KV Convert to int"), None),
    ("missing_setting", re.compile(r'Missing "?([\w=]+)'), None),
    ("cuda_failure", re.compile(r"Cuda failure|HIP failure", re.IGNORECASE), None),
    ("p2p_disabled", re.compile(r"P2P is disabled between"), None),
)
"""Kinds of warnings: what the text holds, and, where it matters, the source file that warned."""


def warning_kind(line: Said) -> str:
    """The kind of a warning; `other` for one that is not known."""
    for kind, pattern, place in WARNINGS:
        if pattern.search(line.text) and (place is None or place.search(line.place)):
            return kind
    return "other"
