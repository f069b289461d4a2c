"""`iblinkinfo`, also -l: every port of a fabric, its link's state, width and speed.

Subjects and attributes are those of `_fabric_facts`. The usual form names a cable's far end by LID:
it is the node whose own ports are listed with that LID, else `lid 5`. -l does not say what a node
is: one with more than two ports is taken for a switch.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from wirespeed.evidence import Evidence
from wirespeed.readers._fabric_facts import End, node_subject, speed_of_lane, state_link, state_node
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered
from wirespeed.readers._text import sure_lines

NAME = "iblinkinfo"

_HEAD = re.compile(
    r"\s*(Switch|CA|Router):?\s*(?:(0x[0-9a-fA-F]{1,16})\s*)?(.{0,200}?):?\s*$", re.IGNORECASE
)
_LINK = re.compile(
    r"\s*(?:(?P<guid>0x[0-9a-fA-F]{1,16})\s+)?(?:\"(?P<own>[^\"]{0,200})\"\s+)?"
    r"(?P<lid>\d{1,5})\s+(?P<port>\d{1,4})\[[^\]]{0,4}\] ==\((?P<link>[^()]{0,80})\)==>"
    r"(?:\s+(?P<far_guid>0x[0-9a-fA-F]{1,16}))?(?:\s+(?P<far_lid>\d{1,5})\s+(?P<far_port>\d{1,4}))?"
    r"\s*\[[^\]]{0,4}\] \"(?P<name>[^\"]{0,200})\" \((?P<hint>[^()]{0,120})"
)
_UP = re.compile(r"\s*(\d{1,2})X\s+(\d{1,4}(?:\.\d{1,6})?) Gbps\s+(\w+)\s*/\s*(\w+)")
_DOWN = re.compile(r"(\w+)\s*/\s*(\w+)\s*$")
_MOST_HOST_PORTS = 2
_SIGN = re.compile(r"\d\[[^\]\n]{0,4}\] ==\([^()\n]{0,80}\)==>")


@dataclass(frozen=True, slots=True)
class _Row:
    """One port's line, with the node that it belongs to."""

    node: str
    name: str
    link: re.Match[str]
    line: int


def sniff(text: str) -> float:
    """1 where the arrow of a link stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of all links; raises InputError where none can be read."""
    found = Gathered()
    rows = _rows(text, found)
    nodes = {int(row.link["lid"]): row.node for row in rows}
    for row in rows:
        name = row.name or None
        state_node(row.node, name, row.line, found, lid=int(row.link["lid"]))
        _read_row(row, nodes, found)
    return found.evidence(
        NAME,
        file,
        nothing="no link can be read",
        remedy="give the whole output of `sudo iblinkinfo`",
    )


def _rows(text: str, found: Gathered) -> list[_Row]:
    rows: list[_Row] = []
    listed: list[tuple[re.Match[str], int]] = []
    node, kind, name = "", "ca", ""
    for line in sure_lines(text):
        if link := _LINK.match(line.text):
            if link["own"] is not None and link["guid"]:
                listed.append((link, line.number))
                continue
            if kind == "ca" and link["guid"]:
                node = node_subject("CA", link["guid"])
            if node:
                rows.append(_Row(node, name, link, line.number))
            else:
                found.left_out(line.text, line.number)
        elif "==" not in line.text and (head := _HEAD.match(line.text)):
            kind, name = head[1].lower(), head[3]
            node = node_subject(head[1], head[2]) if head[2] else ""
    ports = Counter(int(link["guid"], 16) for link, _ in listed)
    for link, number in listed:
        kind = "SW" if ports[int(link["guid"], 16)] > _MOST_HOST_PORTS else "CA"
        rows.append(_Row(node_subject(kind, link["guid"]), link["own"], link, number))
    return rows


def _read_row(row: _Row, nodes: dict[int, str], found: Gathered) -> None:
    link = row.link
    here = End(row.node, int(link["port"]))
    up = _UP.match(link["link"])
    if up and up[3].lower() == "active" and link["far_lid"]:
        far = nodes.get(int(link["far_lid"]))
        if far is None:
            far = f"lid {int(link['far_lid'])}"
        there = End(far, int(link["far_port"]))
        state_link(here, there, int(up[1]), speed_of_lane(float(up[2])), row.line, found)
        state_node(far, link["name"], row.line, found)
    else:
        words = _DOWN.search(link["link"])
        found.add(str(here), "state", words[1].lower() if words else "down", row.line)
        found.add(str(here), "physical", words[2].lower() if words else None, row.line)
    if (hint := link["hint"].strip()).lower().startswith("could be"):
        found.add(str(here), "could_be", hint[len("could be") :].strip(), row.line)


FORMAT = Format(NAME, "`iblinkinfo`", sniff, read)
