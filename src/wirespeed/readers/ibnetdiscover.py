"""`ibnetdiscover` in all its forms (also -p, -l, --full, ibhosts, ibswitches): nodes and cables.

Subjects and attributes are those of `_fabric_facts`, GUIDs as 16 digits. With -p a host is known by
the GUID of its port, which for a single port is mostly that of the node. An unconnected port prints
an idle default (4x SDR): it is down, not slow.

Remarks: `no-links` (one adapter that sees no fabric), `lines-left-out`.
"""

from __future__ import annotations

import re

from wirespeed.evidence import Evidence
from wirespeed.readers._fabric_facts import End, node_subject, state_link, state_node
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, is_ellipsis
from wirespeed.readers._text import Line, sure_lines

NAME = "ibnetdiscover"

_GUID = r"[0-9a-fA-F]{1,16}"
_NODE = re.compile(
    rf"\s*(?:Switch|Ca|Rt|Router)\s+(\d{{1,4}}) \"([SHR])-({_GUID})\""
    r"(?:\s*# \"([^\"]{0,200})\")?"
    r"(?:.{0,80}?\blid (\d{1,5}))?"
)
_PORT = re.compile(
    rf"\s*\[(\d{{1,4}})\](?:\[ext \d+\])?(?:\({_GUID}\))?\s+\"([SHR])-({_GUID})\"\[(\d{{1,4}})\]"
    rf"(?:\[ext \d+\])?(?:\({_GUID}\))?(.{{0,600}})"
)
_FLAT = re.compile(
    r"\s*(CA|SW|RT)\s+(\d{1,5})\s+(\d{1,4}) (0x[0-9a-f]{1,16}) (\d{1,2})x (\S{1,6})"
    r"(?: - (CA|SW|RT)\s+(\d{1,5})\s+(\d{1,4}) (0x[0-9a-f]{1,16})"
    r" \( '(.{0,200}?)' - '(.{0,200})' \)"
    r"|\s+'(.{0,200})')"
)
_LISTED = re.compile(
    r"\s*(Switch|Ca|Router)\s*: (0x[0-9a-f]{1,16}) ports (\d{1,4})(?: .{0,60}?)? \"([^\"]{0,200})\""
    r"(?:.{0,80}?\blid (\d{1,5}))?"
)
_SPEED = re.compile(r"\b(\d{1,2})x ?(SDR|DDR|QDR|FDR10|FDR|EDR|HDR|NDR|XDR|\?\?\?)")
_SIGN = re.compile(
    rf"^.{{0,40}}?(?:Switch|Ca)\s+\d+ \"[SH]-{_GUID}\"|"
    r"^.{0,40}?(?:CA|SW) +\d+ +\d+ 0x[0-9a-f]{1,16} \d{1,2}x \S|"
    r"^.{0,40}?(?:Switch|Ca)\s*: 0x[0-9a-f]{1,16} ports \d|"
    rf"^.{{0,40}}?\[\d+\](?:\({_GUID}\))?\s+\"[SH]-{_GUID}\"\[\d+\]",
    re.MULTILINE,
)


def sniff(text: str) -> float:
    """1 where a node or a cable in one of its forms stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of the fabric; raises InputError where no node is named."""
    found = Gathered()
    node = ""
    cables = 0
    for line in sure_lines(text):
        if port := _PORT.match(line.text):
            cables += _read_port(port, node, line, found)
        elif head := _NODE.match(line.text):
            count, kind, guid, name, lid = head.groups()
            node = node_subject(kind, guid)
            number = int(lid) if lid else None
            state_node(node, name, line.number, found, ports=int(count), lid=number)
        elif flat := _FLAT.match(line.text):
            cables += _read_flat(flat, line.number, found)
        elif listed := _LISTED.match(line.text):
            kind, guid, count, name, lid = listed.groups()
            subject = node_subject({"Ca": "CA"}.get(kind, kind), guid)
            number = int(lid) if lid else None
            state_node(subject, name, line.number, found, ports=int(count), lid=number)
        elif is_ellipsis(line.text):
            found.left_out(line.text, line.number)
    if found.facts and not cables:
        text_ = "no cable is shown: a port is down, no subnet manager runs, or this is a list only"
        found.note("no-links", text_)
    return found.evidence(
        NAME,
        file,
        nothing="no node is named",
        remedy="give the whole output of `sudo ibnetdiscover`",
    )


def _read_port(port: re.Match[str], node: str, line: Line, found: Gathered) -> int:
    number, kind, guid, other, rest = port.groups()
    speed = _SPEED.search(rest[rest.rfind('"') + 1 :]) or _SPEED.search(rest)
    if not node or not speed:
        found.left_out(line.text, line.number)
        return 0
    a, b = End(node, int(number)), End(node_subject(kind, guid), int(other))
    state_link(a, b, int(speed[1]), speed[2], line.number, found)
    if name := re.search(r"# \"([^\"]{0,200})\"", rest):
        state_node(b.node, name[1], line.number, found)
    return 1


def _read_flat(flat: re.Match[str], line: int, found: Gathered) -> int:
    kind, lid, number, guid, width, speed, *peer, alone = flat.groups()
    a = End(node_subject(kind, guid), int(number))
    if alone is not None:
        state_node(a.node, alone, line, found, lid=int(lid))
        found.add(str(a), "state", "unknown" if speed == "???" else "down", line)
        return 0
    other_kind, other_lid, other_number, other_guid, name, other_name = peer
    b = End(node_subject(other_kind, other_guid), int(other_number))
    state_node(a.node, name, line, found, lid=int(lid))
    state_node(b.node, other_name, line, found, lid=int(other_lid))
    state_link(a, b, int(width), speed, line, found)
    return 1


FORMAT = Format(NAME, "`ibnetdiscover`", sniff, read)
