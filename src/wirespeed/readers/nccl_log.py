"""Logs of NCCL and RCCL (`NCCL_DEBUG=INFO`, 2.3 to 2.30), ranks interleaved, wrapped by launchers.

Facts, with the line of their first mention:

- `log`: library, version, cuda, ranks, nodes, local_ranks, mnnvl, rings, coll_channels,
  nvls_channels, p2p_channels, channels_per_peer, connected, uses_pxn, uses_gdr, and `subsystems`
  (which parts of the library are heard: what is absent from others says nothing)
- `env`: NCCL_… as the log says it was set
- `host0` …: name, bootstrap, network, net_devices, ib_devices, plugin, provider, graph_…, devices
  (numbers of the GPUs that speak)
- `host0 net0`: name, port, layer, gdr, graph_GBps; `host0 dev0`: nvls, dma_buf, cpu_affinity
- `host0 gpu 86000>net0`: gdr, distance, limit; `host0 gpu 0x901000`: fabric_uuid, clique …
- of the library's own picture of the machine: `host0 gpu 86000`: in_graph, nvswitch_GBps;
  `host0 gpu 86000>gpu af000`, `host0 gpu 86000>net0`: path (its word), path_GBps, nvlink_GBps
- `rank0`: gpu_model, where a list of nccl-tests stands in the log
- `rank0`: host, device, bus_id, init; `rank0>rank1`: transport, send_by, receive_by
- `ring0`: order; `graph4`: channels, intra_GBps, inter_GBps, types, cross_nic
- `warn`: by kind (`shm_full`, `rdma_completion` …), the text of the first few of a kind

Remarks: `other-warnings` (of kinds that are not known), `lines-left-out` beyond what is kept.
"""

from __future__ import annotations

import re

from wirespeed.errors import InputError
from wirespeed.evidence import Evidence, Fact, Remark
from wirespeed.readers._format import Format
from wirespeed.readers._nccl_log_lines import Said, said
from wirespeed.readers._nccl_log_paths import Picture
from wirespeed.readers._nccl_log_words import WORDS, warning_kind
from wirespeed.readers._nccl_tests_rows import DEVICE
from wirespeed.readers._text import Line, clean_lines

NAME = "nccl-log"

_MOST_FACTS = 20_000
_LONGEST_VALUE = 300
_MOST_ALIKE = 8
_TELLS = re.compile(r"\b[NR]CCL (?:INFO|WARN)\b")
_VERSION = re.compile(r"\b(NCCL|RCCL) version (\d[\w.]*)(?:\+(?:cuda|hip)(\d[\d.]*))?")


def sniff(text: str) -> float:
    """1 where the library speaks, 0 elsewhere."""
    return 1.0 if _TELLS.search(text) else 0.0


def read(text: str, file: str) -> Evidence:
    """Evidence of a log. Raises InputError where no line of the library can be read."""
    lines = clean_lines(text)
    log = _Log()
    log.versions(lines)
    for line in said(lines):
        log.add(line)
    if not log.heard:
        raise InputError(
            "no line of the library can be read",
            where=file,
            why="lines look like `host:pid:tid [0] NCCL INFO …`",
            remedy="give the log as it was printed, with NCCL_DEBUG=INFO",
        )
    return log.evidence(file)


class _Log:
    def __init__(self) -> None:
        self.facts: dict[tuple[str, str, object], Fact] = {}
        self.hosts: dict[str, str] = {}
        self.subsystems: dict[str, int] = {}
        self.warned: dict[str, int] = {}
        self.others: list[Said] = []
        self.devices: dict[str, dict[int, int]] = {}
        self.picture = Picture()
        self.heard = False
        self.left_out = 0

    def versions(self, lines: list[Line]) -> None:
        """The version line, which some releases print without a prefix."""
        for line in lines:
            if "version" in line.text and (match := _VERSION.search(line.text)):
                self._keep(Fact("log", "library", match[1].lower(), line.number))
                self._keep(Fact("log", "version", match[2], line.number))
                if match[3]:
                    self._keep(Fact("log", "cuda", match[3], line.number))
            elif "Pid" in line.text and (match := DEVICE.match(line.text)):
                # A run that failed has such a list and no table, so that nothing else reads it.
                self._keep(Fact(f"rank{int(match[1])}", "gpu_model", match[5], line.number))

    def add(self, line: Said) -> None:
        """What one line says."""
        self.heard = True
        host = self._host(line)
        if line.level == "WARN":
            self._warn(line)
        for word in WORDS:
            if word.hint in line.text and (match := word.pattern.search(line.text)):
                if word.subsystem:
                    self.subsystems.setdefault(word.subsystem, line.number)
                for fact in word.facts(match, line, host):
                    self._keep(fact)
        for fact in self.picture.facts(line, host):
            self._keep(fact)
        if line.device is not None:
            self.devices.setdefault(host, {}).setdefault(line.device, line.number)

    def evidence(self, file: str) -> Evidence:
        """All that was kept."""
        facts = list(self.facts.values())
        for host, heard in self.devices.items():
            facts.append(Fact(host, "devices", tuple(sorted(heard)), min(heard.values())))
        if self.subsystems:
            first = min(self.subsystems.values())
            facts.append(Fact("log", "subsystems", ",".join(sorted(self.subsystems)), first))
        remarks = []
        if self.others:
            first_other = self.others[0]
            text = f"{len(self.others)} warnings of kinds that are not known: {first_other.text}"
            remarks.append(Remark("other-warnings", text[:_LONGEST_VALUE], first_other.number))
        if self.left_out:
            text = f"{self.left_out} more statements than are kept"
            remarks.append(Remark("lines-left-out", text))
        return Evidence(NAME, file, tuple(facts), tuple(remarks))

    def _host(self, line: Said) -> str:
        if line.host not in self.hosts:
            self.hosts[line.host] = f"host{len(self.hosts)}"
            if line.host:
                self._keep(Fact(self.hosts[line.host], "name", line.host, line.number))
        return self.hosts[line.host]

    def _warn(self, line: Said) -> None:
        kind = warning_kind(line)
        if kind == "other":
            self.others.append(line)
            return
        text = f"{line.place} {line.text}".strip()[:_LONGEST_VALUE]
        self.warned[kind] = self.warned.get(kind, 0) + 1
        if self.warned[kind] <= _MOST_ALIKE:
            self._keep(Fact("warn", kind, text, line.number))

    def _keep(self, fact: Fact) -> None:
        """A fact where it is first stated; the same again says nothing new."""
        key = (fact.subject, fact.attribute, fact.value)
        if key in self.facts:
            return
        if len(self.facts) >= _MOST_FACTS:
            self.left_out += 1
            return
        self.facts[key] = fact


FORMAT = Format(NAME, "a log of NCCL or RCCL", sniff, read)
