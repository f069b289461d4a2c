"""`ibdev2netdev`: which network interface belongs to which RDMA port.

| subject | attributes |
|---|---|
| `port mlx5_0/1` | netdev, netdev_up (of the interface: an InfiniBand port may carry data while |
| | its interface is down), bus_id (with -v) |
"""

from __future__ import annotations

import re

from wirespeed.evidence import Evidence
from wirespeed.readers._bus import ADDRESS, address_of
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered
from wirespeed.readers._text import sure_lines

NAME = "ibdev2netdev"

_LINE = re.compile(
    rf"^.{{0,40}}?(?:({ADDRESS}) )?\b([A-Za-z][\w.-]{{1,40}}) (?:\(.{{0,200}}\) .{{0,200}}?)?"
    r"port (\d{1,3}) .{0,60}?==> ([\w.@-]{1,40}) \((Up|Down|Unknown)\)",
    re.MULTILINE,
)


def sniff(text: str) -> float:
    """1 where a port points to its interface."""
    return float("==>" in text and bool(_LINE.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of all ports; raises InputError where none is named."""
    found = Gathered()
    for line in sure_lines(text):
        if "==>" in line.text and (port := _LINE.search(line.text)):
            bus, device, number, netdev, state = port.groups()
            subject = f"port {device}/{int(number)}"
            found.add(subject, "netdev", netdev, line.number)
            found.add(subject, "netdev_up", state == "Up", line.number)
            found.add(subject, "bus_id", address_of(bus) if bus else None, line.number)
    return found.evidence(
        NAME,
        file,
        nothing="no port points to an interface",
        remedy="give the whole output of `ibdev2netdev`",
    )


FORMAT = Format(NAME, "`ibdev2netdev`", sniff, read)
