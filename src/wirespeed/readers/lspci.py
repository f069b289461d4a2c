"""`lspci -vv`, whole or the lines that people cut out of it: PCIe links and access control.

| subject | attributes |
|---|---|
| `pci 0000:1b:00.0` | what, kind (bridge, gpu, nic, nvswitch, nvme or other), |
| | link_max_GTps, link_max_lanes (LnkCap), link_GTps, link_lanes (LnkSta), |
| | speed_downgraded, width_downgraded (true where LnkSta is below LnkCap), link_active |
| | (DLActive), slot_power_W, acs_redirect (any of ReqRedir, CmpltRedir, UpstreamFwd), |
| | acs_validate (SrcValid), acs_direct (DirectTrans), numa, driver, iommu_group |

Lines without the line of their device belong to `pci line 7`, by the line on which they begin.

A speed below its maximum says nothing of an idle device; a width does. Remark: `no-device`.
"""

from __future__ import annotations

import re

from wirespeed.evidence import Evidence
from wirespeed.readers._bus import ADDRESS, subject_of
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered
from wirespeed.readers._text import Line, sure_lines

NAME = "lspci"

_SIGN = re.compile(
    r"\bLnk(?:Cap|Sta):\s*(?:Port #\d+, )?Speed |\bACSC(?:tl|ap):\s*SrcValid|"
    rf"^(?:{ADDRESS}) [A-Z0-9][\w /-]{{2,60}}(?: \[[0-9a-f]{{4}}\])?: ",
    re.MULTILINE,
)
_DEVICE = re.compile(rf"({ADDRESS}) ([A-Z0-9][\w /-]{{2,60}}?)(?: \[([0-9a-f]{{4}})\])?: (.+)")
_LINK = re.compile(
    r"\s*Lnk(Cap|Sta):\s*(?:Port #\d+, )?Speed (\d+(?:\.\d+)?|unknown) ?(?:GT/s)?(?: \((\w+)\))?, "
    r"Width x(\d{1,3})(?: \((\w+)\))?"
)
_ACS = re.compile(r"\s*ACSCtl:\s*(\w.*)")
_ACTIVE = re.compile(r"\bDLActive([+-])")
_NUMA = re.compile(r"\s*NUMA node: (\d{1,4})")
_GROUP = re.compile(r"\s*IOMMU group: (\d{1,6})")
_DRIVER = re.compile(r"\s*Kernel driver in use: (\S{1,60})")
_POWER = re.compile(r"\b(?:Slot)?PowerLimit (\d{1,5}(?:\.\d+)?) ?W")
_FLAG = re.compile(r"([A-Za-z]+)([+-])")
_REDIRECTS = ("ReqRedir", "CmpltRedir", "UpstreamFwd")
_KINDS = (
    ("nvme", re.compile(r"Non-Volatile memory controller", re.IGNORECASE)),
    ("nvswitch", re.compile(r"Bridge: NVIDIA", re.IGNORECASE)),
    ("gpu", re.compile(r"(?:3D|VGA|Display)[\w ]*controller|Processing accel", re.IGNORECASE)),
    ("nic", re.compile(r"(?:Infiniband|Ethernet|Network) controller|Fabric contr", re.IGNORECASE)),
    ("bridge", re.compile(r"(?:PCI|Host) bridge", re.IGNORECASE)),
)


def sniff(text: str) -> float:
    """1 where a device, a link or its access control stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of all devices; raises InputError where none can be told."""
    found = Gathered()
    subject = ""
    seen: set[str] = set()
    caps: dict[str, tuple[float, int]] = {}
    for line in sure_lines(text):
        if device := _DEVICE.match(line.text.lstrip("` ")):
            subject, seen = subject_of(device[1]) or "", set()
            _read_device(subject, device, line, found)
            continue
        key = line.text.split(":", 1)[0].strip()
        if key in ("LnkCap", "LnkSta", "ACSCtl"):
            # A second one without a new device is of a device whose line was cut out.
            if not subject or key in seen:
                subject, seen = f"pci line {line.number}", set()
                found.note("no-device", f"{key} stands without its device", line.number)
            seen.add(key)
        if subject:
            _read_line(subject, line, caps, found)
    return found.evidence(
        NAME,
        file,
        nothing="no line of a device, a link or its access control can be read",
        remedy="give the whole output of `sudo lspci -vv`",
    )


def _read_device(subject: str, device: re.Match[str], line: Line, found: Gathered) -> None:
    words = f"{device[2]}: {device[4]}"
    kind = next((name for name, pattern in _KINDS if pattern.match(words)), "other")
    if not line.ends_text:
        found.add(subject, "what", device[4].strip(), line.number)
    found.add(subject, "kind", kind, line.number)


def _read_line(
    subject: str, line: Line, caps: dict[str, tuple[float, int]], found: Gathered
) -> None:
    text, number = line.text, line.number
    if link := _LINK.match(text):
        _read_link(subject, link, number, caps, found)
    elif acs := _ACS.match(text):
        flags = dict(_FLAG.findall(acs[1]))
        if len(flags) > 4:
            redirects = any(flags.get(name) == "+" for name in _REDIRECTS)
            found.add(subject, "acs_redirect", redirects, number)
            found.add(subject, "acs_validate", flags.get("SrcValid") == "+", number)
            found.add(subject, "acs_direct", flags.get("DirectTrans") == "+", number)
    elif numa := _NUMA.match(text):
        found.add(subject, "numa", int(numa[1]), number)
    elif group := _GROUP.match(text):
        found.add(subject, "iommu_group", int(group[1]), number)
    elif driver := _DRIVER.match(text):
        found.add(subject, "driver", driver[1], number)
    elif power := _POWER.search(text):
        found.add(subject, "slot_power_W", float(power[1]), number)
    # pciutils before 3.6 have it on the line of the link's state.
    if active := _ACTIVE.search(text):
        found.add(subject, "link_active", active[1] == "+", number)


def _read_link(
    subject: str,
    link: re.Match[str],
    line: int,
    caps: dict[str, tuple[float, int]],
    found: Gathered,
) -> None:
    kind, speed, speed_word, width, width_word = link.groups()
    rate = None if speed == "unknown" else float(speed)
    if kind == "Cap":
        found.add(subject, "link_max_GTps", rate, line)
        found.add(subject, "link_max_lanes", int(width), line)
        caps[subject] = rate or 0.0, int(width)
        return
    most_rate, most_width = caps.get(subject, (0.0, 0))
    found.add(subject, "link_GTps", rate, line)
    found.add(subject, "link_lanes", int(width), line)
    # pciutils before 3.6 prints neither (ok) nor (downgraded).
    slower = speed_word == "downgraded" or bool(rate and not speed_word and rate < most_rate)
    narrower = width_word == "downgraded" or (not width_word and int(width) < most_width)
    found.add(subject, "speed_downgraded", slower, line)
    found.add(subject, "width_downgraded", narrower, line)


FORMAT = Format(NAME, "`lspci -vv`", sniff, read)
