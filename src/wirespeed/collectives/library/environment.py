"""LibrarySettings: what environment and options tell the library; parse_settings reads them.

People write what they like into records, so an unknown word is a notice and never an error.
Source: NCCL's documentation of its environment variables; RCCL reads the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from wirespeed.collectives.library.names import Algorithm
from wirespeed.collectives.library.selection import select_algorithms, select_protocols
from wirespeed.collectives.operation import Operation
from wirespeed.collectives.protocol import Protocol
from wirespeed.topology.eligibility import level_of
from wirespeed.topology.kinds import PathType
from wirespeed.topology.software import Notice, Software


class HcaFilter(msgspec.Struct, frozen=True):
    """NCCL_IB_HCA: devices by name (`mlx5_0`, with a port `mlx5_0:1`).

    `exclude` (`^`) turns the list round, `exact` (`=`) asks for whole names instead of beginnings.
    """

    names: tuple[str, ...] = ()
    exclude: bool = False
    exact: bool = False

    def allows(self, device: str) -> bool:
        """Whether a device of this name is used; all are without a list."""
        if not self.names:
            return True
        listed = (name.partition(":")[0] for name in self.names)
        hit = any(device == n if self.exact else device.startswith(n) for n in listed)
        return hit != self.exclude


class LibrarySettings(msgspec.Struct, frozen=True):
    """Everything that is set, with NCCL's own defaults where it is not. None leaves it to NCCL."""

    algorithms: Mapping[Operation, frozenset[Algorithm]] = {}
    protocols: Mapping[Operation, frozenset[Protocol]] = {}
    nvls: bool = True
    p2p: bool = True
    p2p_level: PathType | None = None
    shm: bool = True
    gdr_level: PathType | None = None
    hca: HcaFilter = HcaFilter()
    cross_nic: int = 2
    """0 never, 1 yes, 2 where it helps."""
    pxn: bool = True
    min_channels: int | None = None
    max_channels: int | None = None
    channels_per_net_peer: int | None = None
    qps_per_connection: int = 1
    split_data_on_qps: bool = False
    collnet: bool = False
    mnnvl: bool = True
    rdma: bool = True
    """Off with NCCL_IB_DISABLE=1 or NCCL_NET=Socket."""
    pat: bool | None = None
    threads: int | None = None
    buffer_bytes: int = 4 * 2**20
    ll128_over_c2c: bool = True
    tuner: str = ""
    """Name of a tuner plugin; empty for none."""


def parse_settings(software: Software) -> tuple[LibrarySettings, tuple[Notice, ...]]:
    """The settings of a cluster's software, and notices about what was not understood.

    `--algo`, `--proto` and `--change channels=N` (in `software.settings`) override the environment.
    """
    values: dict[str, Any] = {}
    notices: list[Notice] = []
    usual = LibrarySettings()
    for name, text in software.env.items():
        reader = _READERS.get(name)
        if reader is None:
            if _is_read(name, software.library) and not _is_neutral(name):
                notices.append(_not_modelled(name, text))
            continue
        field, read = reader
        _take(values, notices, name, field, read, str(text))
        why = _WITHOUT_EFFECT.get(field)
        if why and values.get(field, getattr(usual, field)) != getattr(usual, field):
            notices.append(_not_modelled(name, text, why))
    for option, (field, read) in _OPTIONS.items():
        if option in software.settings:
            _take(values, notices, f"--{option}", field, read, software.settings[option])
    channels = software.settings.get("channels")
    if channels is not None:
        for field in ("min_channels", "max_channels"):
            _take(values, notices, "--change channels", field, _count, channels)
    return LibrarySettings(**values), tuple(notices)


def _take(
    values: dict[str, Any],
    notices: list[Notice],
    name: str,
    field: str,
    read: Callable[[str], Any],
    text: str,
) -> None:
    """One setting read into its field; MIN_CTAS and MIN_NCHANNELS both bound the channels."""
    if text.strip().lower() in _UNSET:
        return
    try:
        value = read(text.strip())
    except (KeyError, ValueError):
        notices.append(_not_understood(name, text))
        return
    if field in ("algorithms", "protocols"):
        value, unknown = value
        notices += [_not_understood(name, word) for word in unknown]
    if field == "max_channels" and field in values and name.startswith("NCCL_"):
        value = min(value, values[field])
    if field == "min_channels" and field in values and name.startswith("NCCL_"):
        value = max(value, values[field])
    if field == "rdma":
        value = value and values.get(field, True)
    values[field] = value


_WITHOUT_EFFECT = {
    "shm": "GPUs that reach each other need no shared memory, and those that do not would talk "
    "over their NICs, much slower, which is not modelled",
    "qps_per_connection": "a connection counts as one flow on one way, whatever its queue pairs",
    "split_data_on_qps": "a connection counts as one flow on one way, whatever its queue pairs",
    "buffer_bytes": "slices are those of the usual buffer",
    "tuner": "what a plugin prefers is not known; an algorithm can be given with --algo",
}
"""Fields that are read and do not act on a forecast, and why."""
_UNSET = ("", "default", "none", "-2", "unset")
_TRUE = {"1": True, "2": True, "true": True, "yes": True, "on": True}
_SWITCH = _TRUE | {"0": False, "false": False, "no": False, "off": False}


def _switch(text: str) -> bool:
    return _SWITCH[text.lower()]


def _off_switch(text: str) -> bool:
    return not _switch(text)


def _level(text: str) -> PathType:
    level = level_of(text)
    if level is None:
        raise ValueError(text)
    return level


def _count(text: str) -> int:
    value = int(float(text))
    if value < 1:
        raise ValueError(text)
    return value


def _cross_nic(text: str) -> int:
    return {"0": 0, "1": 1, "2": 2}[text]


def _net(text: str) -> bool:
    return text.lower() != "socket"


def _hca(text: str) -> HcaFilter:
    exclude = text.startswith("^")
    rest = text.removeprefix("^")
    exact = rest.startswith("=")
    names = tuple(name.strip() for name in rest.removeprefix("=").split(",") if name.strip())
    if not names or any(not name[-1].isdigit() and "_" not in name for name in names):
        # "one" or "all four": somebody's words, not device names.
        raise ValueError(text)
    return HcaFilter(names, exclude, exact)


_READERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "NCCL_ALGO": ("algorithms", select_algorithms),
    "NCCL_PROTO": ("protocols", select_protocols),
    "NCCL_NVLS_ENABLE": ("nvls", _switch),
    "NCCL_P2P_DISABLE": ("p2p", _off_switch),
    "NCCL_P2P_LEVEL": ("p2p_level", _level),
    "NCCL_SHM_DISABLE": ("shm", _off_switch),
    "NCCL_NET_GDR_LEVEL": ("gdr_level", _level),
    "NCCL_IB_HCA": ("hca", _hca),
    "NCCL_CROSS_NIC": ("cross_nic", _cross_nic),
    "NCCL_PXN_DISABLE": ("pxn", _off_switch),
    "NCCL_MIN_NCHANNELS": ("min_channels", _count),
    "NCCL_MAX_NCHANNELS": ("max_channels", _count),
    "NCCL_MIN_NRINGS": ("min_channels", _count),
    "NCCL_MAX_NRINGS": ("max_channels", _count),
    "NCCL_MIN_CTAS": ("min_channels", _count),
    "NCCL_MAX_CTAS": ("max_channels", _count),
    "NCCL_NCHANNELS_PER_NET_PEER": ("channels_per_net_peer", _count),
    "NCCL_IB_QPS_PER_CONNECTION": ("qps_per_connection", _count),
    "NCCL_IB_SPLIT_DATA_ON_QPS": ("split_data_on_qps", _switch),
    "NCCL_COLLNET_ENABLE": ("collnet", _switch),
    "NCCL_MNNVL_ENABLE": ("mnnvl", _switch),
    "NCCL_IB_DISABLE": ("rdma", _off_switch),
    "NCCL_NET": ("rdma", _net),
    "NCCL_PAT_ENABLE": ("pat", _switch),
    "NCCL_NTHREADS": ("threads", _count),
    "NCCL_BUFFSIZE": ("buffer_bytes", _count),
    "NCCL_LL128_C2C": ("ll128_over_c2c", _switch),
    "NCCL_TUNER_PLUGIN": ("tuner", str),
}
_OPTIONS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "algo": ("algorithms", select_algorithms),
    "proto": ("protocols", select_protocols),
}
_NEUTRAL = (
    "DEBUG",
    "SOCKET",
    "IB_GID",
    "IB_TC",
    "IB_SL",
    "IB_TIMEOUT",
    "IB_RETRY",
    "IB_PCI",
    "IB_ADAPTIVE",
    "IB_AR",
    "NET",
    "TOPO",
    "GRAPH",
    "LAUNCH",
    "IGNORE",
    "CUMEM",
    "CONF",
    "COMM",
    "ASYNC",
    "BLOCKING",
    "CHECK",
    "CTRAN",
    "HOSTID",
    "UID",
    "SET",
    "RAS",
    "PROFILER",
    "VERSION",
    "OOB",
)
"""Families of variables that say how to start, log or find the network, not what to choose."""


def _is_read(name: str, library: str) -> bool:
    """Whether a variable is the library's own; RCCL reads NCCL's names too."""
    return name.startswith(("NCCL_", "RCCL_") if library == "rccl" else "NCCL_")


def _is_neutral(name: str) -> bool:
    return name.partition("_")[2].startswith(_NEUTRAL)


def _not_modelled(name: str, text: str, why: str = "") -> Notice:
    said = f"{name}={text} does not move the forecast"
    return Notice("setting-not-modelled", f"{said}: {why}" if why else said, "env")


def _not_understood(name: str, text: str) -> Notice:
    return Notice("setting-not-understood", f"{name}: {text!r} is not known and left out", "env")
