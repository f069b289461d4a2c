"""Change: one edit of a cluster, in the same words for faults, what-ifs, options and TOML.

node1/nic3=down   a>b=0.5   */gpu7=0.5       a component or link, gone or at a share of its rate
node1/gpu3:compute=0.8                       a slow GPU
nics=4   nic=800G   nvlink=2x   nodes=32     the machine as it might be
gdr=off  p2p=off  acs=on  net=socket …       a capability
routing=ecmp                                 how the fabric spreads flows
proto=LL  algo=Ring  channels=8  env:X=Y     settings of the library
"""

from __future__ import annotations

import re
from decimal import Decimal
from enum import Enum

import msgspec
import numpy as np

from wirespeed.errors import UsageError
from wirespeed.topology.address import find, find_links
from wirespeed.topology.model import Topology


class ChangeKind(Enum):
    """What a change edits."""

    RESOURCE = "resource"
    COMPUTE = "compute"
    MACHINE = "machine"
    CAPABILITY = "capability"
    ROUTING = "routing"
    SETTING = "setting"
    ENV = "env"


class Change(msgspec.Struct, frozen=True):
    """One edit: `subject` becomes `value`. Shares and factors are numbers, down is 0.0."""

    kind: ChangeKind
    subject: str
    value: float | str | bool

    def __str__(self) -> str:
        return render(self)


CAPABILITIES = ("gdr", "p2p", "nvls", "sharp", "pxn", "cross-nic", "acs")
NETS = ("ib", "socket")
ROUTINGS = ("static", "ecmp", "spray", "rail-only")
FACTORS = ("nvlink", "hbm", "memory", "gemm")
COUNTS = ("nics", "nvlink-domain", "nodes")
_DIGITS = 9
"""Digits of the largest count or factor that is still meant."""
_RATE = re.compile(r"(\d+(?:\.\d+)?)G")
_FACTOR = re.compile(r"(\d+(?:\.\d+)?)x")


def parse_change(text: str) -> Change:
    """The change that a text such as `node1/nic3=down` states; UsageError for anything else."""
    if text.startswith("env:"):
        name, equals, value = text[4:].partition("=")
        if not (name and equals):
            raise _unreadable(text, "an environment change is env:NAME=VALUE")
        return Change(ChangeKind.ENV, name, value)
    subject, equals, value = (part.strip() for part in text.partition("="))
    if not (subject and equals and value):
        raise _unreadable(text, "a change is SUBJECT=VALUE")
    if subject in CAPABILITIES:
        return Change(ChangeKind.CAPABILITY, subject, _switch(text, value))
    if subject == "net":
        return Change(ChangeKind.CAPABILITY, subject, _one_of(text, value, NETS))
    if subject == "routing":
        return Change(ChangeKind.ROUTING, subject, _one_of(text, value, ROUTINGS))
    if subject in ("algo", "proto"):
        return Change(ChangeKind.SETTING, subject, value)
    if subject == "channels":
        return Change(ChangeKind.SETTING, subject, float(_count(text, value)))
    if subject in COUNTS:
        return Change(ChangeKind.MACHINE, subject, float(_count(text, value)))
    if subject in FACTORS:
        return Change(ChangeKind.MACHINE, subject, _matched(text, value, _FACTOR, "a factor, 2x"))
    if subject == "nic":
        return Change(ChangeKind.MACHINE, subject, _matched(text, value, _RATE, "a rate, 800G"))
    return _of_resource(text, subject, value)


def render(change: Change) -> str:
    """The text that `parse_change` reads as this change."""
    value = change.value
    match change.kind:
        case ChangeKind.ENV:
            return f"env:{change.subject}={value}"
        case ChangeKind.CAPABILITY if isinstance(value, bool):
            return f"{change.subject}={'on' if value else 'off'}"
        case ChangeKind.MACHINE if change.subject == "nic":
            return f"nic={_plain(value)}G"
        case ChangeKind.MACHINE if change.subject in FACTORS:
            return f"{change.subject}={_plain(value)}x"
        case ChangeKind.COMPUTE:
            return f"{change.subject}:compute={_plain(value)}"
        case ChangeKind.RESOURCE if value == 0:
            return f"{change.subject}=down"
    return f"{change.subject}={_plain(value)}"


def _plain(value: float | str | bool) -> str:
    """A number with all its digits and no exponent, 2 for 2.0; a word as it is."""
    if not isinstance(value, float):
        return str(value)
    return f"{Decimal(repr(value)):f}".removesuffix(".0")


def apply_to_topology(topology: Topology, change: Change) -> Topology:
    """The topology with a RESOURCE change made: an overlay, nothing is built anew.

    A component that is degraded degrades its links. Raises UnknownName or UsageError where the
    address names nothing.
    """
    factor = float(change.value)
    if ">" in change.subject or "-" in change.subject:
        return topology.scaled(find_links(topology, change.subject), factor)
    components = find(topology, change.subject)
    links = np.flatnonzero(
        np.isin(topology.source, components) | np.isin(topology.target, components)
    )
    return topology.scaled(np.concatenate([links, topology.links + components]), factor)


def _of_resource(text: str, subject: str, value: str) -> Change:
    kind = ChangeKind.RESOURCE
    if ":" in subject:
        subject, _, what = subject.partition(":")
        if what != "compute":
            raise _unreadable(text, f"a GPU has compute, not {what!r}")
        kind = ChangeKind.COMPUTE
    if not re.search(r"[a-z]\d+$", subject):
        raise _unreadable(text, f"nothing is called {subject!r}")
    if value == "down" and kind is ChangeKind.RESOURCE:
        return Change(kind, subject, 0.0)
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise _unreadable(text, f"{value!r} is neither down nor a share between 0 and 1")
    return Change(kind, subject, share)


def _switch(text: str, value: str) -> bool:
    return _one_of(text, value, ("on", "off")) == "on"


def _one_of(text: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise _unreadable(text, f"{value!r} is none of {', '.join(allowed)}")
    return value


def _count(text: str, value: str) -> int:
    if not value.isdecimal() or len(value) > _DIGITS or int(value) < 1:
        raise _unreadable(text, f"{value!r} is not a whole number from 1 to {10**_DIGITS - 1}")
    return int(value)


def _matched(text: str, value: str, pattern: re.Pattern[str], form: str) -> float:
    match = pattern.fullmatch(value)
    if not match or not 0 < float(match[1]) < 10**_DIGITS:
        raise _unreadable(text, f"{value!r} is not {form}")
    return float(match[1])


def _unreadable(text: str, why: str) -> UsageError:
    return UsageError(
        f"{text!r} is not a change",
        where="--change",
        why=why,
        remedy="write for example node1/nic3=down, leaf0>spine2=0.5, nic=800G, gdr=off or proto=LL",
    )
