"""Software: the library and its settings; Abilities: what drivers and hardware permit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from wirespeed.errors import UsageError

_LIBRARY = re.compile(r"(nccl|rccl)(?:@(\d+(?:\.\d+){1,2}))?")
DEFAULT_VERSION = {"nccl": (2, 27, 0), "rccl": (2, 22, 0)}


class Notice(msgspec.Struct, frozen=True):
    """What the reader of a result must know: an assumption, a choice, an oddity, a limit."""

    code: str
    text: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Software:
    """The collective library, its environment, and what the user forced (algo, proto, channels)."""

    library: str = "nccl"
    version: tuple[int, ...] = DEFAULT_VERSION["nccl"]
    env: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.library}@{'.'.join(map(str, self.version[:2]))}"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What GPUs can do here; a change takes one away."""

    p2p: bool = True
    gdr: bool = True
    gdr_far: bool = False
    """GPUDirect at any distance: seen to work, or what sites with such NICs set."""
    nvls: bool = True
    sharp: bool = True
    pxn: bool = True
    cross_nic: bool = True
    acs: bool = False
    """ACS or an IOMMU sends peer-to-peer traffic through the root complex."""
    socket: bool = False
    """TCP sockets in place of RDMA."""


def parse_library(text: str) -> Software:
    """The library that `nccl@2.27` names; the usual version where only `nccl` stands.

    Raises UsageError for anything else.
    """
    match = _LIBRARY.fullmatch(text.strip().lower())
    if not match:
        raise UsageError(
            f"{text!r} is not a library",
            where="--library",
            why="nccl and rccl are modelled, with a version",
            remedy="write for example nccl@2.27",
        )
    if match[2] is None:
        return Software(match[1], DEFAULT_VERSION[match[1]])
    version = tuple(int(part) for part in match[2].split("."))
    return Software(match[1], version + (0,) * (3 - len(version)))
