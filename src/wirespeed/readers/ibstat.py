"""`ibstat` and `ibv_devinfo`: RDMA adapters, their ports, and whether these are up.

| subject | attributes |
|---|---|
| `hca mlx5_0` | type (as printed), model (by its number), ports, firmware, node_guid, |
| | image_guid (one for all ports of a card), missing (true: listed, but not there) |
| `port mlx5_0/1` | state (active, down, init …), physical (linkup, polling, disabled …), |
| | up, link_layer (infiniband or ethernet), rate_Gbps (of a port that is up), lid, sm_lid, |
| | port_guid, mtu |

A port that is down prints a rate of 10 and a LID of 65535: neither is stated. A port whose adapter
is cut off is `port ?/1`. Remarks: `hca-missing`, `port-cut`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from wirespeed.evidence import Evidence
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, whole
from wirespeed.readers._text import Line, sure_lines

NAME = "ibstat"

_MODELS = {
    4099: "ConnectX-3",
    4103: "ConnectX-3 Pro",
    4113: "Connect-IB",
    4115: "ConnectX-4",
    4117: "ConnectX-4 Lx",
    4119: "ConnectX-5",
    4121: "ConnectX-5 Ex",
    4123: "ConnectX-6",
    4125: "ConnectX-6 Dx",
    4127: "ConnectX-6 Lx",
    4129: "ConnectX-7",
    4131: "ConnectX-8",
    41682: "BlueField",
    41686: "BlueField-2",
    41692: "BlueField-3",
}
"""By the decimal PCI device id that follows MT. Source: the PCI ID repository, vendor 15b3."""

_SIGN = re.compile(
    r"^\s*CA '[\w.-]{1,60}'|^\s*hca_id:\s*\S|^\s*Physical state:\s*\w|\bibpanic: |"
    r"^\s*phys_port_cnt:",
    re.MULTILINE,
)
_CA = re.compile(r"\s*(?:CA '([^']{1,60})'|hca_id:\s*(\S{1,60}))\s*$")
_PORT = re.compile(r"\s*(?:Port (\d{1,3}):|port:\s*(\d{1,3}))\s*$")
_FIELD = re.compile(r"\s*([A-Za-z_][\w ]{0,40}?):\s*(\S.{0,80}?)\s*$")
_PANIC = re.compile(r"ibpanic: .*?'([\w.-]{1,60})'")
_STATE = re.compile(r"(?:PORT_)?([A-Za-z]+)")
_DOWN_LID = 65535
_PORT_ONLY = ("State", "Physical state", "Rate", "Base lid", "state", "link_layer", "Link layer")


@dataclass(slots=True)
class _Port:
    """A port as its lines come in; what a state of down makes meaningless is dropped at its end."""

    subject: str
    line: int
    fields: dict[str, tuple[str, int]] = field(default_factory=dict)


def sniff(text: str) -> float:
    """1 where an adapter or the physical state of a port stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of all adapters; raises InputError where none is there."""
    found = Gathered()
    hca, port = "?", None
    for line in sure_lines(text):
        if panic := _PANIC.search(line.text):
            found.add(f"hca {panic[1]}", "missing", True, line.number)
            said = f"{panic[1]} is listed, but its state cannot be read: it is gone from the bus"
            found.note("hca-missing", said, line.number)
        elif ca := _CA.match(line.text):
            _close(port, found)
            hca, port = ca[1] or ca[2], None
            found.add(f"hca {hca}", "name", hca, line.number)
        elif head := _PORT.match(line.text):
            _close(port, found)
            port = _Port(f"port {hca}/{int(head[1] or head[2])}", line.number)
        elif entry := _FIELD.match(line.text):
            if port is None and entry[1] in _PORT_ONLY:
                port = _Port(f"port {hca}/1", line.number)
            if port:
                port.fields.setdefault(entry[1], (entry[2], line.number))
            elif not (line.ends_text and entry[1] in ("CA type", "vendor_part_id")):
                _read_hca(f"hca {hca}", entry[1], entry[2], line, found)
    _close(port, found)
    return found.evidence(
        NAME,
        file,
        nothing="no adapter and no port can be read",
        remedy="give the whole output of `ibstat`",
    )


def _read_hca(subject: str, name: str, value: str, line: Line, found: Gathered) -> None:
    if name in ("CA type", "vendor_part_id"):
        number = whole(value.removeprefix("MT"))
        found.add(subject, "type", value, line.number)
        found.add(subject, "model", _MODELS.get(number or 0), line.number)
    elif name in ("Number of ports", "phys_port_cnt"):
        found.add(subject, "ports", whole(value), line.number)
    elif name in ("Firmware version", "fw_ver"):
        found.add(subject, "firmware", value, line.number)
    elif name in ("Node GUID", "node_guid"):
        found.add(subject, "node_guid", _guid(value), line.number)
    elif name in ("System image GUID", "sys_image_guid"):
        found.add(subject, "image_guid", _guid(value), line.number)


def _close(port: _Port | None, found: Gathered) -> None:
    """States a port; without its state nothing is known of it but its layer."""
    if port is None:
        return
    state = _word(port, "State", "state")
    physical = _word(port, "Physical state", "phys_state")
    place = port.fields.get("State") or port.fields.get("state")
    line = place[1] if place else port.line
    if state is None:
        found.note("port-cut", f"the state of {port.subject} is not said", port.line)
    found.add(port.subject, "state", state, line)
    found.add(port.subject, "up", None if state is None else state == "active", line)
    for names, attribute in (
        (("Physical state", "phys_state"), "physical"),
        (("Link layer", "link_layer"), "link_layer"),
    ):
        for name in names:
            if entry := port.fields.get(name):
                found.add(port.subject, attribute, _word(port, name), entry[1])
    down = state not in (None, "active") or (physical not in (None, "linkup"))
    if (rate := port.fields.get("Rate")) and state == "active" and not down:
        gbps = re.match(r"\d{1,5}(?:\.\d+)?", rate[0])
        found.add(port.subject, "rate_Gbps", float(gbps[0]) if gbps else None, rate[1])
    for name, attribute in (
        ("Base lid", "lid"),
        ("port_lid", "lid"),
        ("SM lid", "sm_lid"),
        ("sm_lid", "sm_lid"),
    ):
        if (entry := port.fields.get(name)) and (lid := whole(entry[0])) not in (None, _DOWN_LID):
            found.add(port.subject, attribute, lid, entry[1])
    if entry := port.fields.get("Port GUID"):
        found.add(port.subject, "port_guid", _guid(entry[0]), entry[1])
    if (entry := port.fields.get("active_mtu")) and not down:
        found.add(port.subject, "mtu", whole(entry[0].split()[0]), entry[1])


def _word(port: _Port, *names: str) -> str | None:
    entry = next((port.fields[name] for name in names if name in port.fields), None)
    word = _STATE.match(entry[0]) if entry else None
    return word[1].lower() if word else None


def _guid(text: str) -> str | None:
    number = whole(text.replace(":", ""), 16)
    return None if number is None else f"0x{number:016x}"


FORMAT = Format(NAME, "`ibstat` or `ibv_devinfo`", sniff, read)
