"""read: what sources say, before anything is concluded: facts and rows, with their lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from wirespeed._api.files import read_bytes
from wirespeed.diagnosis.redact import without_secrets
from wirespeed.errors import InputError, UsageError
from wirespeed.evidence import Evidence
from wirespeed.inventory.archives import (
    ARCHIVE_LIMIT,
    Text,
    folders_as_hosts,
    unpacked,
    unpacked_files,
)
from wirespeed.inventory.live import live_texts
from wirespeed.inventory.source import of_host
from wirespeed.readers import decode, raw_lines, read_parts
from wirespeed.topology.software import Notice

_MOST = ARCHIVE_LIMIT + 1
"""Of a file or a pipe so many bytes are taken: what has more is refused."""


@dataclass(slots=True)
class Reading:
    """What was read of the sources so far."""

    evidence: list[Evidence] = field(default_factory=list)
    texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)

    def take(self, texts: Iterable[Text]) -> None:
        """Reads texts; of several, one that says nothing is left out with a notice."""
        given = list(texts)
        hosts = folders_as_hosts(name for name, _ in given)
        for name, data in given:
            self._take(name, data, hosts.get(name, ""), alone=len(given) == 1)

    def _take(self, name: str, data: bytes, host: str, *, alone: bool) -> None:
        name = free_name(name, self.texts)
        try:
            self.evidence += of_host(read_parts(data, file=name), host)
        except InputError as error:
            if alone:
                raise
            text = f"{name} is left out: {error.what}"
            self.notices.append(Notice("file-left-out", text, name))
            return
        self.texts[name] = tuple(raw_lines(without_secrets(decode(data, file=name))))


def read(*sources: str) -> tuple[Evidence, ...]:
    """What sources say, a text at a time: format, facts and measurements with file and line.

    `sources` are files, archives and directories of what machines and benchmarks print, `-` for
    standard input, `live` for this host. Nothing is concluded or completed. Of several texts those
    that say nothing are left out; raises InputError where none says anything.
    """
    if not sources:
        raise UsageError(
            "there is nothing to read",
            where="sources",
            why="it takes what machines and benchmarks print",
            remedy="give for example the output of `nvidia-smi topo -m`",
        )
    reading = Reading()
    reading.take(text for source in sources for text in texts_of(source, reading.notices))
    if not reading.evidence:
        raise nothing_read(sources, reading.notices)
    return tuple(reading.evidence)


def nothing_read(sources: Iterable[str], notices: list[Notice]) -> InputError:
    """The error for sources of which no text says anything."""
    return InputError(
        "none of this can be read",
        where=", ".join(sources),
        why=notices[0].text if notices else "",
        remedy="give the output of nccl-tests and of `nvidia-smi topo -m`",
    )


def free_name(name: str, taken: Mapping[str, object]) -> str:
    """The name, or one like it that no other text has."""
    return f"{name} ({len(taken) + 1})" if name in taken else name


def texts_of(source: str, notices: list[Notice]) -> list[Text]:
    """The texts of a source, those in archives one by one; `notices` grows by what is left out."""
    if source == "live":
        texts, told = live_texts()
        notices += told
        return [(name, text.encode()) for name, text in texts]
    path = Path(source).expanduser()
    if source == "-" or not path.is_dir():
        piped = source == "-"
        data = sys.stdin.buffer.read(_MOST) if piped else read_bytes(path, _MOST)
        inside = unpacked(data, "stdin" if piped else path.name)
        notices += inside.notices
        return inside.texts
    files = sorted(entry for entry in path.iterdir() if entry.is_file())
    if not files:
        raise InputError("the directory holds no file", where=source)
    inside = unpacked_files(files, lambda file: read_bytes(file, _MOST))
    notices += inside.notices
    return inside.texts
