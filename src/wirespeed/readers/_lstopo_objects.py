"""The objects of an hwloc XML as a tree, also of one that was cut; distances beside them."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

from wirespeed.errors import InputError
from wirespeed.evidence import Remark

_TAG = re.compile(
    r"<(/?)([A-Za-z_][\w.:-]{0,40})((?:\s+[\w.:-]{1,60}\s*=\s*\"[^\"<>]*\")*)\s*(/?)>"
)
_ATTRIBUTE = re.compile(r"([\w.:-]+)\s*=\s*\"([^\"<>]*)\"")
_MOST_OBJECTS = 200_000
_DEEPEST = 256


@dataclass(slots=True, eq=False)
class Object:
    """An object: its attributes, the infos below it, and the object above."""

    type: str
    attributes: dict[str, str]
    line: int
    above: Object | None
    infos: dict[str, str] = field(default_factory=dict)
    children: list[Object] = field(default_factory=list)

    def get(self, name: str) -> str:
        """An attribute, or nothing."""
        return self.attributes.get(name, "")


@dataclass(slots=True)
class Distances:
    """A matrix between objects, row by row; `of` names them by type and index."""

    name: str
    line: int
    of: list[str] = field(default_factory=list)
    values: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Tree:
    """All objects in the file's order."""

    objects: list[Object] = field(default_factory=list)
    distances: list[Distances] = field(default_factory=list)
    infos: dict[str, str] = field(default_factory=dict)
    version: str = ""
    remarks: list[Remark] = field(default_factory=list)


def parse(text: str, file: str) -> Tree:
    """The tree; what is cut off is remarked on. InputError for far too many objects."""
    tree = Tree()
    path: list[Object] = []
    matrix: Distances | None = None
    at, line = 0, 1
    tags = list(_TAG.finditer(text))
    for position, tag in enumerate(tags):
        line += text.count("\n", at, tag.start())
        at = tag.start()
        closes, name, written, empty = tag.groups()
        if closes:
            if name == "object" and path:
                path.pop()
            elif name.startswith("distances"):
                matrix = None
            continue
        given = {key: html.unescape(value) for key, value in _ATTRIBUTE.findall(written)}
        if name == "object":
            _open(given, line, path, tree, keep=not empty)
            if len(tree.objects) > _MOST_OBJECTS or len(path) > _DEEPEST:
                raise _too_many(file)
        elif name == "info":
            infos = path[-1].infos if path else tree.infos
            infos.setdefault(given.get("name", ""), given.get("value", ""))
        elif name == "topology":
            tree.version = given.get("version", "")
        elif name.startswith("distances"):
            kind = given.get("type", "")
            matrix = Distances(given.get("name", ""), line)
            tree.distances.append(matrix)
        elif matrix is not None and name in ("indexes", "u64values") and not empty:
            end = tags[position + 1].start() if position + 1 < len(tags) else len(text)
            words = text[tag.end() : end].split()
            if end == len(text):
                # No tag closes the list: its last number may be cut.
                words = words[:-1]
            if name == "indexes":
                matrix.of += [word if ":" in word else f"{kind}:{word}" for word in words]
            else:
                matrix.values += [int(w) for w in words if w.isdecimal() and len(w) < 20]
    if path:
        said = f"{len(path)} objects are not closed: the file is cut"
        tree.remarks.append(Remark("not-closed", said, line))
    return tree


def _open(given: dict[str, str], line: int, path: list[Object], tree: Tree, *, keep: bool) -> None:
    above = path[-1] if path else None
    found = Object(given.get("type", ""), given, line, above)
    tree.objects.append(found)
    if above is not None:
        above.children.append(found)
    if keep:
        path.append(found)


def _too_many(file: str) -> InputError:
    return InputError(
        "this topology is too large",
        where=file,
        why=f"up to {_MOST_OBJECTS} objects in {_DEEPEST} levels are read",
        remedy="write it with `lstopo --no-caches --filter core:none topology.xml`",
    )
