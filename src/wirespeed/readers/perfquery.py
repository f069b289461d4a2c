"""`perfquery`, also -x: the counters of one port of an InfiniBand fabric.

| subject | attributes |
|---|---|
| `lid 134/1` | the counters by their printed names (SymbolErrorCounter, LinkDownedCounter …), |
| | xmit_B and rcv_B (PortXmitData and PortRcvData, which count words of 4 bytes) |

The short form's counters have 4 to 32 bits and stop at their maximum. Remark: `counter-full`.
"""

from __future__ import annotations

import re

from wirespeed.evidence import Evidence
from wirespeed.readers._format import Format
from wirespeed.readers._gathered import Gathered, whole
from wirespeed.readers._text import sure_lines

NAME = "perfquery"

_HEAD = re.compile(r"# Port (extended )?counters: (?:Lid (\d+)|DR path [^()]{0,80}) port (\d+)")
_COUNTER = re.compile(r"\s*([A-Z]\w{2,60}):\.{2,}(0x[0-9a-fA-F]{1,16}|\d{1,20})\s*$")
_SIGN = re.compile(_HEAD.pattern + r"|^\s*(?:Port|Symbol|Link)\w+:\.{3,}\d", re.MULTILINE)
_WORDS = {"PortXmitData": "xmit_B", "PortRcvData": "rcv_B", "XmtData": "xmit_B", "RcvData": "rcv_B"}
_FIXED = ("PortSelect", "CounterSelect", "CounterSelect2")
_BITS = {
    "LocalLinkIntegrityErrors": 4,
    "ExcessiveBufferOverrunErrors": 4,
    "LinkErrorRecoveryCounter": 8,
    "LinkDownedCounter": 8,
    "PortXmitConstraintErrors": 8,
    "PortRcvConstraintErrors": 8,
}


def sniff(text: str) -> float:
    """1 where the head or a counter stands."""
    return float(bool(_SIGN.search(text)))


def read(text: str, file: str) -> Evidence:
    """Evidence of all ports; raises InputError where no counter can be read."""
    found = Gathered()
    subject, extended = "lid ?/0", False
    for line in sure_lines(text):
        if head := _HEAD.search(line.text):
            subject, extended = f"lid {head[2] or '?'}/{int(head[3])}", bool(head[1])
        elif counter := _COUNTER.match(line.text):
            name, value = counter[1], whole(counter[2], 0)
            if name in _FIXED or value is None:
                continue
            found.add(subject, name, value, line.number)
            if words := _WORDS.get(name):
                found.add(subject, words, value * 4, line.number)
            if not extended and value == _most(name):
                text_ = f"{name} stands at its maximum: it counts no further"
                found.note("counter-full", text_, line.number)
    return found.evidence(
        NAME,
        file,
        nothing="no counter can be read",
        remedy="give the whole output of `perfquery -x LID PORT`",
    )


def _most(name: str) -> int:
    """The largest value of a counter of the short form. Source: InfiniBand, PortCounters."""
    data = name.endswith(("Data", "Pkts", "Wait"))
    bits = _BITS.get(name, 32 if data else 16)
    return (1 << bits) - 1


FORMAT = Format(NAME, "`perfquery`", sniff, read)
