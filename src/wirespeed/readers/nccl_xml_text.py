"""The elements of the library's XML files, also of one that was cut, pasted or written by hand.

Well-formed text goes to expat as it is. Anything else is first mended: tags of the format are kept
and balanced, all else becomes blank lines, so that line numbers hold. Document types and entities
are refused.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from wirespeed.errors import InputError
from wirespeed.evidence import Remark

KNOWN = frozenset(
    ("system", "cpu", "pci", "gpu", "nic", "net", "nvlink", "xgmi", "c2c", "pcilink", "gin", "rma")
)
DEPTH_LIMIT = 64


@dataclass(frozen=True, slots=True)
class Dialect:
    """One of the library's XML formats.

    Attributes:
        known: names of its elements; a damaged text keeps no others.
        wraps: what may stand inside an element whose start is missing.
        variable: the environment variable that makes the library write such a file.
        elements: how many no file of the kind has.
    """

    known: frozenset[str]
    wraps: Mapping[str, tuple[str, ...]]
    variable: str
    elements: int


TOPOLOGY = Dialect(
    KNOWN,
    {
        "system": ("cpu", "pci", "gpu", "nic"),
        "cpu": ("pci", "nic", "gpu"),
        "pci": ("pci", "nic", "gpu"),
    },
    "NCCL_TOPO_DUMP_FILE",
    20_000,
)
"""A rack of 18 hosts has 3,000 elements."""

_TAG = re.compile(r"<(/?)([A-Za-z_][\w.:-]*)((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*+)>")
_ATTRIBUTE = re.compile(r"([A-Za-z_][\w.:-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_LOOSE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")
_DOCUMENT_TYPE = re.compile(r"<!\s*(?:DOCTYPE|ENTITY|ELEMENT|ATTLIST|NOTATION)", re.IGNORECASE)
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"'})


@dataclass(slots=True)
class Element:
    """One element. `line` counts from 1."""

    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)


def parse(text: str, file: str, dialect: Dialect = TOPOLOGY) -> tuple[Element, list[Remark]]:
    """The outermost element, and what had to be mended.

    Raises InputError for document types, entities, and more depth or elements than any machine has.
    """
    if found := _DOCUMENT_TYPE.search(text):
        _refuse(file, text.count("\n", 0, found.start()) + 1)
    if text.count("<") > 3 * dialect.elements:
        _too_many(file, dialect)
    stripped = text.lstrip("\ufeff \t\r\n")
    try:
        return _parse_strictly(stripped, file, _lines_before(text), dialect), []
    except expat.ExpatError as error:
        reason, line = expat.ErrorString(error.code), error.lineno + _lines_before(text)
    mender = _Mender(dialect)
    mended = mender.mend(text)
    told = f"this is no well-formed XML ({reason}) and was mended"
    remark = Remark("not-well-formed", told, line)
    try:
        return _parse_strictly(mended, file, 0, dialect), [remark, *mender.remarks]
    except expat.ExpatError as error:
        raise InputError(
            "this XML cannot be read",
            where=f"{file}:{error.lineno}",
            why=expat.ErrorString(error.code),
            remedy=f"dump it anew with {dialect.variable}, and give the file itself",
        ) from error


def _lines_before(text: str) -> int:
    return text[: len(text) - len(text.lstrip("\ufeff \t\r\n"))].count("\n")


def _parse_strictly(text: str, file: str, skipped: int, dialect: Dialect) -> Element:
    """The root element; raises ExpatError where the text is not well-formed."""
    parser = expat.ParserCreate("utf-8")
    top = Element("", {}, 1)
    stack = [top]
    count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        line = parser.CurrentLineNumber + skipped
        if count > dialect.elements:
            _too_many(file, dialect)
        if len(stack) > DEPTH_LIMIT:
            raise InputError(
                f"elements are nested more than {DEPTH_LIMIT} deep",
                where=f"{file}:{line}",
                why="no machine has so many bridges above a device",
                remedy=f"give the file that {dialect.variable} wrote",
            )
        element = Element(name, attributes, line)
        stack[-1].children.append(element)
        stack.append(element)

    def end(_: str) -> None:
        stack.pop()

    def doctype(*_: object) -> None:
        _refuse(file, parser.CurrentLineNumber + skipped)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = doctype
    parser.Parse(text.encode("utf-8", errors="replace"), True)
    return top.children[0]


def _refuse(file: str, line: int) -> NoReturn:
    raise InputError(
        "document types and entities are not read",
        where=f"{file}:{line}",
        why="the library's files have none, and entities can be made to fill the memory",
        remedy="delete the <!DOCTYPE …> part",
    )


def _too_many(file: str, dialect: Dialect) -> NoReturn:
    raise InputError(
        f"more than {dialect.elements} elements",
        where=file,
        why="no machine has so many devices",
        remedy="give one dump, of one machine or one NVLink domain",
    )


@dataclass(slots=True)
class _Tag:
    name: str
    closes: bool
    empty: bool
    attributes: dict[str, str]
    line: int
    before: int
    """Line breaks since the tag before it, and inside it."""
    inside: int


class _Mender:
    """Balances the tags of a damaged text."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.remarks: list[Remark] = []
        self.stack: list[str] = []
        self.outermost: list[str] = []
        self.wraps = 0
        self.out: list[str] = []

    def mend(self, text: str) -> str:
        """Well-formed text with every tag on the line where it was."""
        text = _UNPRINTABLE.sub("", text.translate(_QUOTES))
        for tag in self._tags(text):
            self.out.append("\n" * tag.before)
            if tag.name in self.dialect.known:
                self._close(tag) if tag.closes else self._open(tag)
            self.out.append("\n" * tag.inside)
        if self.stack:
            names = " ".join(f"<{name}>" for name in reversed(self.stack[-8:]))
            self._remark("not-closed", f"the text ends inside {names}; what follows is missing", 0)
        self.out += [f"</{name}>" for name in reversed(self.stack)]
        return f"<mended>{''.join(self.out)}</mended>"

    def _open(self, tag: _Tag) -> None:
        written = "".join(f" {name}={quoteattr(value)}" for name, value in tag.attributes.items())
        self.out.append(f"<{tag.name}{written}{'/' if tag.empty else ''}>")
        if not self.stack:
            self.outermost.append(tag.name)
        if not tag.empty:
            self.stack.append(tag.name)

    def _close(self, tag: _Tag) -> None:
        if tag.name in self.stack:
            while (top := self.stack.pop()) != tag.name:
                self.out.append(f"</{top}>")
                self._remark("not-closed", f"<{top}> is not closed before </{tag.name}>", tag.line)
            self.out.append(f"</{tag.name}>")
        elif self._may_wrap(tag.name):
            # Its start is cut off: all that stands before it was inside.
            self.wraps += 1
            closing = "".join(f"</{name}>" for name in reversed(self.stack))
            self.out.insert(0, f"<{tag.name}>")
            self.out.append(f"{closing}</{tag.name}>")
            self.stack.clear()
            self.outermost = [tag.name]
            self._remark("not-opened", f"the start of this <{tag.name}> is missing", tag.line)
        else:
            self._remark("not-opened", f"</{tag.name}> closes nothing and is left out", tag.line)

    def _may_wrap(self, name: str) -> bool:
        inner = self.dialect.wraps.get(name, ())
        return self.wraps < DEPTH_LIMIT and all(other in inner for other in self.outermost)

    def _tags(self, text: str) -> Iterator[_Tag]:
        at, line, seen = 0, 1, 0
        while (start := text.find("<", at)) >= 0:
            if text.startswith("<!--", start):
                end = text.find("-->", start)
                at = len(text) if end < 0 else end + 3
                continue
            match = _TAG.match(text, start)
            if match is None:
                at = start + 1
                if len(self.remarks) < _REMARK_LIMIT and not text.startswith("<?", start):
                    piece = text[start : start + 60].partition("\n")[0]
                    note = f"{piece!r} breaks off and is left out"
                    self._remark("tag-cut", note, line + text.count("\n", seen, start))
                continue
            before, inside = text.count("\n", seen, start), match[0].count("\n")
            line += before
            attributes = self._attributes(match[3], line)
            empty = match[3].rstrip().endswith("/")
            yield _Tag(match[2], match[1] == "/", empty, attributes, line, before, inside)
            line += inside
            at = seen = match.end()

    def _attributes(self, text: str, line: int) -> dict[str, str]:
        if "&" in text and _LOOSE_AMPERSAND.search(text):
            self._remark("ampersand", "an & that is not written &amp; is taken as it stands", line)
        found: dict[str, str] = {}
        for name, double, single in _ATTRIBUTE.findall(text):
            found.setdefault(name, html.unescape(double or single))
        return found

    def _remark(self, code: str, text: str, line: int) -> None:
        if len(self.remarks) < _REMARK_LIMIT:
            self.remarks.append(Remark(code, text, line))


_REMARK_LIMIT = 20
