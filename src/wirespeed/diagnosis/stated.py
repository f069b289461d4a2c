"""Stated settings: what an environment or a description says that can cost speed, taken out.

The doctor holds a measurement against the machine as it should run. What someone set is no excuse
for being slow but the first thing to suspect, so it becomes a change with a cause code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from wirespeed.comparison.words import network_words
from wirespeed.readers.records import Inputs
from wirespeed.topology.change import Change, ChangeKind, parse_change

FORCED = "forced_setting"
"""The code of a setting that has none of its own."""
GDR_OFF = "gdr_off"
ASKED = "algo_choice"
"""The code of a forced algorithm: suspected, but in the forecast that a run is held to."""


class Stated(msgspec.Struct, frozen=True):
    """Something that was set or found so, and would cost speed: its code and what it changes."""

    cause: str
    changes: tuple[Change, ...]
    text: str
    """In the words of the input: NCCL_P2P_DISABLE=1."""


def _on(value: str) -> bool:
    return value.lower() not in ("0", "false", "no", "off")


def _off(value: str) -> bool:
    return not _on(value)


def _is(*words: str) -> Callable[[str], bool]:
    return lambda value: value.upper() in words


def _any(value: str) -> bool:
    return True


def _not_all(value: str) -> bool:
    """Whether a list of protocols leaves one out."""
    named = {word.strip().upper() for word in value.split(",")}
    return not {"LL", "LL128", "SIMPLE"} <= named


_SETTINGS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "NCCL_P2P_DISABLE": (_on, "p2p_disabled_env"),
    "NCCL_P2P_LEVEL": (_is("LOC", "0"), "p2p_disabled_env"),
    "NCCL_SHM_DISABLE": (_on, "p2p_shm_disabled"),
    "NCCL_NVLS_ENABLE": (_off, "nvls_off"),
    "NCCL_PROTO": (_not_all, "forced_protocol"),
    "NCCL_NET_GDR_LEVEL": (_is("LOC", "0"), GDR_OFF),
    "NCCL_NET": (_is("SOCKET"), "fabric_not_driven"),
    "NCCL_IB_DISABLE": (_on, "fabric_not_driven"),
    "NCCL_PXN_DISABLE": (_on, "pxn_off"),
    "NCCL_IB_SPLIT_DATA_ON_QPS": (_on, "qp_striping"),
    "NCCL_IB_ADAPTIVE_ROUTING": (_on, "adaptive_routing_or_congestion"),
    "NCCL_IB_HCA": (_any, "wrong_or_few_nics"),
    "NCCL_PROXY_CPUSET": (_any, "cpu_affinity"),
    "NCCL_NCHANNELS_PER_NET_PEER": (_is("1"), "channels_per_net_peer"),
    "NCCL_ALGO": (_any, ASKED),
    "NCCL_CROSS_NIC": (_is("0"), FORCED),
    "NCCL_MAX_NCHANNELS": (_any, FORCED),
    "NCCL_MAX_NRINGS": (_any, FORCED),
    "NCCL_MAX_CTAS": (_any, FORCED),
    "NCCL_NTHREADS": (_any, FORCED),
    "NCCL_BUFFSIZE": (_any, FORCED),
    "NCCL_CUMEM_ENABLE": (_off, FORCED),
    "NCCL_MNNVL_ENABLE": (_off, FORCED),
}
"""Which values of which variables can cost speed, and the code of that."""
_UNSET = ("", "default", "none", "unset")
_WITHOUT_TRANSPORT = ("omni-path", "hfi1")
"""Networks, besides EFA and Slingshot, that the library's own transports do not drive as such."""
_PLUGIN = ("ofi", "libfabric", "plugin", "psm")
"""Words that name a plugin for them."""


def suspects(env: Mapping[str, str]) -> tuple[Stated, ...]:
    """What in a library's environment can cost speed, each cause with all its variables."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, value in env.items():
        costs, cause = _SETTINGS.get(name, (None, ""))
        if costs and value.strip().lower() not in _UNSET and costs(value.strip()):
            found.setdefault(cause, []).append((name, value))
    return tuple(
        Stated(
            cause,
            tuple(Change(ChangeKind.ENV, name, value) for name, value in pairs),
            " ".join(f"{name}={value}" for name, value in pairs),
        )
        for cause, pairs in found.items()
    )


def without(env: Mapping[str, str], stated: Iterable[Stated]) -> dict[str, str]:
    """The environment without what was stated; an algorithm that was asked for stays."""
    gone = {change.subject for entry in stated if entry.cause != ASKED for change in entry.changes}
    return {name: value for name, value in env.items() if name not in gone}


def as_intended(inputs: Inputs) -> tuple[Inputs, tuple[Stated, ...]]:
    """The inputs of the same run on a machine that is set up well, and what was taken out."""
    env = dict(inputs.env)
    stated = list(suspects(env))
    cluster = inputs.cluster
    fabric = cluster.fabric or ""
    network = network_words(fabric)
    without_gdr = (cluster.gdr or "").strip().lower() == "no"
    if network.sockets:
        stated.append(_lacking("fabric_not_driven", "net=socket", fabric))
        cluster = msgspec.structs.replace(cluster, fabric=network.kind)
    elif without_gdr and not_driven(fabric, env):
        stated.append(_lacking("fabric_not_driven", "net=socket", f"{fabric} without a plugin"))
    elif without_gdr:
        stated.append(_lacking(GDR_OFF, "gdr=off", "GPUDirect RDMA: no"))
    if without_gdr:
        # Sockets have no GPUDirect either: that follows, and is no cause of its own.
        cluster = msgspec.structs.replace(cluster, gdr=None)
    if cluster.p2p is False:
        near = (cluster.path or "").strip().upper() in ("PIX", "PXB")
        cause = "same_switch_no_p2p" if near else "p2p_unavailable"
        stated.append(_lacking(cause, "p2p=off", "peer to peer: no"))
        cluster = msgspec.structs.replace(cluster, p2p=True)
    plain = tuple(sorted(without(env, stated).items()))
    intended = msgspec.structs.replace(inputs, cluster=cluster, env=plain)
    return intended, _merged(stated)


def not_driven(fabric: str, env: Mapping[str, str]) -> bool:
    """Whether a network needs a plugin of the library, and none is named."""
    lower = f"{fabric} {env.get('NCCL_NET', '')} {env.get('NCCL_NET_PLUGIN', '')}".lower()
    needs = network_words(fabric).kind in ("efa", "slingshot")
    needs = needs or any(word in lower for word in _WITHOUT_TRANSPORT)
    named = any(word in lower for word in _PLUGIN) or any(name[:3] == "FI_" for name in env)
    return needs and not named


def _lacking(cause: str, change: str, text: str) -> Stated:
    return Stated(cause, (parse_change(change),), text)


def _merged(stated: Iterable[Stated]) -> tuple[Stated, ...]:
    """One entry a cause."""
    found: dict[str, Stated] = {}
    for entry in stated:
        known = found.get(entry.cause)
        found[entry.cause] = (
            entry
            if known is None
            else Stated(
                entry.cause, (*known.changes, *entry.changes), f"{known.text}, {entry.text}"
            )
        )
    return tuple(found.values())
