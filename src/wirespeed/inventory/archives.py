"""unpacked: the files of an archive as texts in memory; nothing is written, no link is followed.

Recognised from content: tar, tar.gz, zip, and a file that gzip has packed alone. What cannot be
unpacked within the limits is refused: an archive may be made to fill the memory.
"""

from __future__ import annotations

import io
import re
import stat
import tarfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from wirespeed.errors import InputError
from wirespeed.readers import SIZE_LIMIT
from wirespeed.topology.software import Notice

ARCHIVE_LIMIT = 32 * 2**20
"""Largest archive [B] that is read."""
UNPACKED_LIMIT = 64 * 2**20
"""Most that its files may hold together [B]."""
MOST_MEMBERS = 1000
"""Entries, folders among them."""
MOST_PACKED = 250
"""How many times smaller than its content an archive may be; logs come to 50."""
_SMALL = 2**20
"""Content [B] that may be packed as tightly as it can."""

_GZIP, _ZIP = b"\x1f\x8b", (b"PK\x03\x04", b"PK\x05\x06")
_USTAR = slice(257, 262)
_DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError),
    *(ValueError, NotImplementedError, RuntimeError, OverflowError),
)
_UNPRINTABLE = re.compile(r"[^\w./ @+=,~()\[\]-]")
_JUNK = re.compile(r"(?:^|/)(?:__MACOSX/|\._|\.DS_Store$)")
_LONGEST_NAME = 200

Text = tuple[str, bytes]
"""What a file is called, and what it holds."""


@dataclass(slots=True)
class Unpacked:
    """Files of an archive as `bundle.tgz:folder/file.txt`, and what was left out of it."""

    texts: list[Text] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


def is_archive(data: bytes) -> bool:
    """Whether it begins as an archive, or as a file that gzip packed."""
    return data.startswith((_GZIP, *_ZIP)) or data[_USTAR] == b"ustar"


def unpacked(data: bytes, file: str) -> Unpacked:
    """The files in `data`, or `data` itself where it is no archive; `file` is what to call it.

    Raises InputError where an archive is broken, locked, or larger than the limits.
    """
    if not is_archive(data):
        return Unpacked([(file, data)])
    if len(data) > ARCHIVE_LIMIT:
        raise _too_much(file, f"archives of up to {ARCHIVE_LIMIT // 2**20} MiB are read")
    work = _Archive(file, len(data))
    try:
        if data.startswith(_ZIP):
            work.take_zip(data)
        else:
            plain = work.gunzipped(data) if data.startswith(_GZIP) else data
            if plain[_USTAR] == b"ustar":
                work.take_tar(plain)
            else:
                work.found.texts.append((file, plain))
    except _DAMAGE as error:
        raise InputError(
            "the archive is broken",
            where=file,
            why=_reason(error),
            remedy="pack it again, and compare its size where it was made and where it is read",
        ) from None
    if not work.found.texts:
        raise InputError(
            "the archive holds no file",
            where=file,
            why=work.found.notices[0].text if work.found.notices else "it is empty",
            remedy="pack the outputs themselves: nvidia-smi topo -m, logs, nccl-tests",
        )
    return work.found


def unpacked_files(files: Iterable[Path], content: Callable[[Path], bytes]) -> Unpacked:
    """The texts of several files, those of archives one by one; `content` gives what a file holds.

    A file that `content` or `unpacked` refuses is left out with a notice.
    """
    found = Unpacked()
    for file in files:
        try:
            inside = unpacked(content(file), file.name)
        except InputError as error:
            text = f"{file.name} is left out: {error.what}"
            found.notices.append(Notice("file-left-out", text, file.name))
            continue
        found.texts += inside.texts
        found.notices += inside.notices
    return found


def folders_as_hosts(names: Iterable[str]) -> dict[str, str]:
    """The folder of each file, where the same file stands in several folders: one a host.

    `bundle.tgz:run/node-1/topo.txt` beside `bundle.tgz:run/node-2/topo.txt` is of node-1.
    """
    folders: dict[str, str] = {}
    alike: dict[str, set[str]] = defaultdict(set)
    for name in names:
        parts = name.rpartition(":")[2].split("/")
        if len(parts) > 1:
            folders[name] = parts[-2]
            alike[parts[-1]].add(parts[-2])
    several = {folder for found in alike.values() if len(found) > 1 for folder in found}
    return {name: folder for name, folder in folders.items() if folder in several}


@dataclass(slots=True)
class _Archive:
    """One archive in work."""

    file: str
    packed: int
    found: Unpacked = field(default_factory=Unpacked)
    held: int = 0
    """Bytes of content so far."""

    def gunzipped(self, data: bytes) -> bytes:
        """What gzip packed, in as many pieces as it was packed in."""
        pieces: list[bytes] = []
        rest, held = data, 0
        while rest.startswith(_GZIP):
            stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
            while not stream.eof:
                piece = stream.decompress(rest, 2**20)
                rest = stream.unconsumed_tail or stream.unused_data
                held += len(piece)
                self._check(held)
                pieces.append(piece)
                if not piece and not stream.eof and not stream.unconsumed_tail:
                    raise EOFError("it ends before its content does")
        return b"".join(pieces)

    def take_tar(self, data: bytes) -> None:
        """The files of a tar."""
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            for count, member in enumerate(_members(archive), 1):
                self._count(count)
                if member.isdir():
                    continue
                stream = archive.extractfile(member) if member.isreg() else None
                if stream is None or member.issparse():
                    self._leave(member.name, "it is a link or a device")
                    continue
                self._take(member.name, stream, member.size)

    def take_zip(self, data: bytes) -> None:
        """The files of a zip."""
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for count, member in enumerate(archive.infolist(), 1):
                self._count(count)
                if member.is_dir():
                    continue
                mode = member.external_attr >> 16
                if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
                    self._leave(member.filename, "it is a link or a device")
                elif member.flag_bits & 1:
                    self._leave(member.filename, "it is locked with a password")
                else:
                    with archive.open(member) as stream:
                        self._take(member.filename, stream, member.file_size)

    def _take(self, name: str, stream: IO[bytes], size: int) -> None:
        if _JUNK.search(name):
            return
        if size > SIZE_LIMIT:
            self._leave(name, f"texts of up to {SIZE_LIMIT // 2**20} MiB are read")
            return
        content = stream.read(SIZE_LIMIT + 1)
        self.held += len(content)
        self._check(self.held)
        if len(content) < size:
            raise EOFError(f"{_shown(name)} ends before its content does")
        if content.startswith(_GZIP):
            content = self.gunzipped(content)
            self.held += len(content)
            self._check(self.held)
        if is_archive(content):
            self._leave(name, "it is an archive in an archive")
            return
        self.found.texts.append((f"{self.file}:{_shown(name)}", content))

    def _leave(self, name: str, why: str) -> None:
        place = f"{self.file}:{_shown(name)}"
        self.found.notices.append(Notice("file-left-out", f"{place} is left out: {why}", place))

    def _count(self, count: int) -> None:
        if count > MOST_MEMBERS:
            raise _too_much(self.file, f"archives of up to {MOST_MEMBERS} entries are read")

    def _check(self, held: int) -> None:
        if held > UNPACKED_LIMIT:
            limit = UNPACKED_LIMIT // 2**20
            raise _too_much(self.file, f"its files hold more than {limit} MiB together")
        if held > _SMALL and held > MOST_PACKED * self.packed:
            raise _too_much(self.file, f"it unpacks to more than {MOST_PACKED} times its size")


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Entries one by one; an archive that breaks off between two of them raises too."""
    while (member := archive.next()) is not None:
        yield member


def _shown(name: str) -> str:
    """A name as it may be printed: without signs that steer a terminal, relative, short."""
    plain = _UNPRINTABLE.sub("?", name.replace("\\", "/"))
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    return "/".join(parts)[-_LONGEST_NAME:] or "?"


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return _UNPRINTABLE.sub("?", text)[:_LONGEST_NAME]


def _too_much(file: str, why: str) -> InputError:
    return InputError(
        "this archive is too much to read",
        where=file,
        why=why,
        remedy="pack the outputs of one machine or one run",
    )
