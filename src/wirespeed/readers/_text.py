"""Bytes to text, and text to lines as they were before a terminal or a form touched them."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from wirespeed.errors import InputError

SIZE_LIMIT = 8 * 2**20
"""Largest text [B] that is read; machine outputs are thousands of times smaller."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = re.compile(r"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f]")
_NEWLINE = re.compile(r"\r*\n|\r")
# Colour and underline sequences, also those that lost their escape character on the way, and the
# stump that a cut leaves.
_ESCAPES = re.compile(
    r"\x1b\[[0-9;:?]*[ -/]*[@-~]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?|\[\d{1,2}(?:;\d{1,2})*m"
)
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\x00-\x08]")
# Quoting of mails and forums, and the rank that mpirun or srun puts before each line.
_PREFIX = re.compile(r"(?:[ \t]*>)+ ?|[ \t]*\[\d+,\d+\]<std(?:out|err)>: ?|\d+: ")


_CLOSED = re.compile(
    r"(?:[\])>\"'}|;]|\b(?:GB/s|Active|Down|LinkUp|Polling|Disabled|Ethernet|InfiniBand))$"
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line, cleaned. `number` counts from 1 in the text as given."""

    number: int
    text: str
    ends_text: bool = False
    """Nothing follows, not even a newline: its last word may be cut."""


def decode(data: str | bytes, *, file: str) -> str:
    """The text of a file's bytes: UTF-8, UTF-16 with a byte order mark, else Latin-1.

    Raises InputError for what is too large, empty or no text.
    """
    if len(data) > SIZE_LIMIT:
        raise InputError(
            "this is too much to read",
            where=file,
            why=f"texts of up to {SIZE_LIMIT // 2**20} MiB are read",
            remedy="give the part that holds one machine's output",
        )
    text = data if isinstance(data, str) else _decode_bytes(data)
    if not text.strip("\ufeff \t\r\n"):
        raise InputError(
            "there is nothing to read",
            where=file,
            why="the text is empty",
            remedy="check the command before the pipe: it may have failed and printed nothing",
        )
    if "\0" in text or len(_CONTROL.findall(text[:65536])) * 50 > len(text[:65536]):
        raise InputError(
            "this is a binary file, not text",
            where=file,
            why="it holds characters that no command prints",
            remedy="unpack it if it is an archive; save the command's output as plain text",
        )
    return text


def _decode_bytes(data: bytes) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def raw_lines(text: str) -> list[str]:
    """The lines of a text as all readers count them."""
    return _NEWLINE.split(text)


def clean_line(line: str) -> str:
    """A line without escape sequences, quoting and rank prefix."""
    return _clean(line, bars=True)


def clean_lines(text: str, *, bars: bool = False) -> list[Line]:
    """Lines without escape sequences, quoting and rank prefixes; tabs stay.

    Bars at the edges of a table go too, unless `bars` says that they draw a tree.
    """
    raw = _NEWLINE.split(text)
    last = len(raw)
    return [
        Line(number, _clean(line, bars), ends_text=number == last and line == line.rstrip())
        for number, line in enumerate(raw, 1)
    ]


def sure_lines(text: str, *, bars: bool = False) -> list[Line]:
    """As `clean_lines`, without the last word of a text that may break off inside it.

    A word stays that is closed by a sign, or that is one of the few words which end a line.
    """
    lines = clean_lines(text, bars=bars)
    last = lines[-1]
    if words := last.text.split():
        cut = last.ends_text and not _CLOSED.search(last.text)
        kept = last.text[: -len(words[-1])] if cut else last.text
        lines[-1] = Line(last.number, kept, ends_text=True)
    return lines


def _clean(line: str, bars: bool) -> str:
    if "\x1b" in line or "[" in line:
        line = _ESCAPES.sub("", line)
    if not line.isascii():
        line = line.replace("│", "|")
    line = _INVISIBLE.sub("", line)
    if prefix := _PREFIX.match(line):
        line = line[prefix.end() :]
    framed = not bars and line.lstrip().startswith("|")
    return line.replace("|", " ") if framed else line.rstrip()
