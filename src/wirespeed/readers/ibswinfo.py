"""`ibswinfo`: an unmanaged InfiniBand switch, its power supplies, temperature and fans.

| subject | attributes |
|---|---|
| `switch 0x…` | product, part_number, ports, psid, firmware, uptime, temperature_C, |
| | temperature_max_C, fan_status, psu0_status, psu0_power_W, psu0_dc_power, |
| | psu0_fan_status, fan1_rpm … |

Serial numbers are not kept. A switch without a GUID is `switch ?`.
"""

from __future__ import annotations

import re

from wirespeed.evidence import Evidence
from wirespeed.evidence._types import Value
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, slug, whole
from wirespeed.readers._text import sure_lines

NAME = "ibswinfo"

_ROW = re.compile(r"(\s*)([A-Za-z][\w #/().:-]{0,40}?)\s*[|\u2502 ] (\S.{0,80}?)\s*$")
_SIGN = re.compile(r"^(?:PSU\d status|PSID|fan#1 \(rpm\)|uptime \(d-h:m:s\)) +\|", re.MULTILINE)
_UNIT = re.compile(r"(.*?)\s*\((C|W|rpm|d-h:m:s)\)$")
_UNITS = {"C": "_C", "W": "_W", "rpm": "_rpm", "d-h:m:s": ""}
_NAMES = {
    "firmware version": "firmware",
    "product name": "product",
    "max temp_C": "temperature_max_C",
}


def sniff(text: str) -> float:
    """1 where a row of its table stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of a switch; raises InputError where no row can be read."""
    found = Gathered()
    rows = [(_ROW.match(line.text), line.number) for line in sure_lines(text) if "|" in line.text]
    guid = next((whole(row[3], 0) for row, _ in rows if row and row[2] == "GUID"), None)
    subject = "switch ?" if guid is None else f"switch 0x{guid:016x}"
    unit = ""
    for row, number in rows:
        if row is None:
            continue
        inner, name, value = bool(row[1]), row[2], row[3].strip("| ")
        if found_psu := re.match(r"PSU(\d) status", name):
            unit, name = f"psu{found_psu[1]}_", "status"
        elif not inner:
            unit = ""
        if not value or name in ("GUID", "serial number", "S/N"):
            continue
        found.add(subject, unit + _attribute(name), _value(value), number)
    return found.evidence(
        NAME, file, nothing="no row can be read", remedy="give the whole output of `ibswinfo`"
    )


def _attribute(name: str) -> str:
    united = _UNIT.match(name)
    base, ending = (united[1], _UNITS[united[2]]) if united else (name, "")
    known = _NAMES.get(base + ending) or _NAMES.get(base)
    return known or slug(base.replace("#", "")) + ending


def _value(text: str) -> Value:
    number = whole(text)
    return text if number is None else number


FORMAT = Format(NAME, "`ibswinfo`", sniff, read)
