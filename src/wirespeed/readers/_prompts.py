"""pieces: where one output of a paste ends and the next begins, by what stands between them.

Shell prompts (`$ cmd`, `root@node:~# cmd`, `[me@node dir]$ cmd`, `bash-5.1$ cmd`, `+ cmd` of a
trace), Markdown fences, and the heads that parallel shells put above each host's output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from wirespeed.readers._text import clean_line

_HOST = r"[A-Za-z0-9](?:[\w.-]{0,120}\w)?"
_CLOCK = r"(?:\[?(?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d(?::\d\d(?:\.\d+)?)?\]?\s+)?"
_TOOLS = (
    r"(?:sudo\s+|[A-Z_][A-Z0-9_]*=\S*\s+)*(?:\S*/)?"
    r"(?:nvidia-smi|rocm-smi|amd-smi|ppu-smi|mx-smi|nvbandwidth|p2pBandwidthLatencyTest|lspci|"
    r"dmesg|journalctl|ibstat|ibstatus|ibv_devinfo|ibdev2netdev|ibnetdiscover|iblinkinfo|perfquery|"
    r"ibswinfo|ib_(?:write|read|send)_(?:bw|lat)|lstopo|hwloc-ls|mpirun|mpiexec|srun|torchrun|"
    r"docker|kubectl|cat|pdsh|clush|ansible|ssh|\w+_perf(?:_mpi)?)(?=\s|$)"
)
# user@host with a path, a bracket around both, and names of environments before them.
_USER_AT = re.compile(
    rf"\s{{0,8}}(?:\([\w./-]{{1,60}}\) ?)?{_CLOCK}\[?[A-Za-z_][\w.-]{{0,60}}@(?P<host>{_HOST})"
    r"(?:[: ][^$#%\n]{0,160}?)?\]?\s?[$#%](?:\s+(?P<command>.*))?$"
)
_HOST_PATH = re.compile(
    rf"\s{{0,8}}{_CLOCK}(?P<host>{_HOST}):[~/][^\s#$]{{0,160}} ?[#$] (?P<command>.*)$"
)
_HOST_TOOL = re.compile(rf"\s{{0,8}}(?P<host>{_HOST})(?:[#$%]|>) ?(?P<command>{_TOOLS}.*)$")
_BARE = re.compile(rf"\s{{0,8}}(?:\([\w./-]{{1,60}}\) ?)?{_CLOCK}(?:\$|❯|➜|λ) (?P<command>\S.*)$")
_SHELL = re.compile(r"\s{0,8}(?:ba|z|k|da)?sh-\d[\w.]*[$#](?:\s+(?P<command>.*))?$")
_TRACE = re.compile(rf"\s{{0,8}}(?:\++|#|!|%|In \[\d+\]: ?!) ?(?P<command>{_TOOLS}.*)$")
_PROMPTS = (_USER_AT, _HOST_PATH, _BARE, _SHELL, _TRACE, _HOST_TOOL)

_REMOTE = re.compile(r"(?:sudo )?(?:ssh|kubectl (?:-n \S+ )?exec|docker exec) (?P<rest>.{1,400})$")
_WITH_VALUE = frozenset(("-p", "-i", "-o", "-l", "-J", "-F", "-n", "-c", "-u", "-w", "-e"))
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)|\s*</?(?:pre|code|details|summary)\b[^<>]{0,80}>\s*$")
_RULE = re.compile(r"\s*-{4,}\s*$")
_NAMES = re.compile(rf"\s*(?P<host>{_HOST}(?:\[[\d,-]+\])?(?:,[\w.\[\],-]+)?)(?: \(\d+\))?\s*$")
_ANSIBLE = re.compile(rf"(?P<host>{_HOST}) \| (?:CHANGED|SUCCESS|FAILED)\b.*>>\s*$")
_FILE = re.compile(r"==> \S.{0,200} <==$")
_SIGNS = ("$", "#", "%", "+", "!", ">", "`", "~", "<", "-", "|", "❯", "➜", "λ")
MOST_PIECES = 400


@dataclass(slots=True)
class Piece:
    """Lines of one output. `numbers` are those of the whole text, from 1."""

    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    host: str = ""
    command: str = ""

    def add(self, line: str, number: int) -> None:
        """One more line."""
        self.lines.append(line)
        self.numbers.append(number)

    def drop_prompt(self) -> None:
        """Leaves the command away before a document, which begins with its first sign."""
        first = next((line.strip() for line in self.lines[1:] if line.strip()), "")
        if self.command and first.startswith(("<", "{", "[")):
            self.lines[0] = ""

    def text(self, last: int) -> str:
        """The piece as a text; only line `last`, where the whole text ends, may be unended."""
        end = "" if self.numbers and self.numbers[-1] == last else "\n"
        return "\n".join(self.lines) + end


@dataclass(frozen=True, slots=True)
class _Mark:
    """What begins a piece. A fence names no host and ends none."""

    host: str = ""
    command: str = ""
    keeps_host: bool = False


def pieces(whole: Piece) -> list[Piece]:
    """The pieces between marks, in order; the whole alone where nothing marks any, or far too many.

    A prompt stands at the head of its piece, since commands tell what was measured.
    """
    marks = dict(islice(_marks(whole.lines), MOST_PIECES + 1))
    if not marks or len(marks) > MOST_PIECES:
        return [whole]
    found = [Piece(host=whole.host)]
    for at, (line, number) in enumerate(zip(whole.lines, whole.numbers, strict=True)):
        mark = marks.get(at)
        if mark is not None:
            host = found[-1].host if mark.keeps_host else (mark.host or whole.host)
            found.append(Piece(host=host, command=mark.command))
            if not mark.command:
                continue
        found[-1].add(line, number)
    filled = [piece for piece in found if any(line.strip() for line in piece.lines)]
    for piece in filled:
        piece.drop_prompt()
    return filled


def marked_hosts(lines: Sequence[str]) -> set[str]:
    """The hosts that marks of a text name."""
    return {mark.host for _, mark in _marks(lines) if mark.host}


def _marks(lines: Sequence[str]) -> Iterator[tuple[int, _Mark]]:
    """(position, mark) of all lines that begin a piece."""
    for at, raw in enumerate(lines):
        if len(raw) > 1000 or not any(sign in raw for sign in _SIGNS):
            continue
        line = clean_line(raw)
        if prompt := _prompt(line):
            yield at, prompt
        elif _FENCE.match(line) or _FILE.match(line):
            yield at, _Mark(keeps_host=True)
        elif found := _ANSIBLE.match(line):
            yield at, _Mark(found["host"])
        elif _RULE.match(line) and (host := _between_rules(lines, at)):
            # The rule, the name and the second rule: all go, and what follows is the host's.
            yield at, _Mark(host)
            yield at + 1, _Mark(host)
            yield at + 2, _Mark(host)


def _prompt(line: str) -> _Mark | None:
    for pattern in _PROMPTS:
        if found := pattern.match(line):
            named = found.groupdict()
            command = (named.get("command") or "").strip()
            return _Mark(_remote(command) or named.get("host") or "", command)
    return None


def _remote(command: str) -> str:
    """The host or pod on which `ssh`, `kubectl exec` and `docker exec` run the rest."""
    found = _REMOTE.match(command)
    words = iter(found["rest"].split()) if found else iter(())
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        elif not word.startswith("-"):
            host = word.rpartition("@")[2]
            return host if next(words, "") and re.fullmatch(_HOST, host) else ""
    return ""


def _between_rules(lines: Sequence[str], at: int) -> str:
    """The host whose name stands between two rules that begin here, as parallel shells print it."""
    if at + 2 >= len(lines) or not _RULE.match(clean_line(lines[at + 2])):
        return ""
    found = _NAMES.match(clean_line(lines[at + 1]))
    return found["host"] if found else ""
