"""Costs: what parameters say a byte and a step cost on one cluster."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from wirespeed.catalog import Parameters, generation_of, gpu
from wirespeed.collectives.protocol import Protocol
from wirespeed.topology.cluster import Cluster
from wirespeed.units import GB, US

Floats = npt.NDArray[np.float64]


class Term(IntEnum):
    """What kind of traffic a byte is on a resource: each has overhead of its own."""

    NVLINK = 0
    NVLS = 1
    """To and from NVSwitches that add up and multicast."""
    PCIE = 2
    PCIE_FAR = 3
    """Peer to peer through another socket."""
    NIC = 4
    """Between a GPU and its NIC."""
    HOST = 5
    """Through host memory."""
    NETWORK = 6
    OTHER = 7
    """Inside chips, between sockets, memory: taken at face value."""


class Medium(IntEnum):
    """What a step waits for; each has step latencies of its own."""

    NVLINK = 0
    PCIE = 1
    NETWORK = 2


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """Overheads and latencies of one cluster.

    Attributes:
        factor: [terms] wire bytes for each byte of payload.
        step: by protocol, [media] s that a step waits besides bytes and links.
        call: by protocol, s that a call costs besides its steps.
        nvls_step, sharp_step: [s] through NVSwitches or switches of the fabric.
        fill: [media] s of overhead in the pipeline for each step; `nvls_fill` through NVSwitches.
        local: [s/B] that a GPU needs to move data within its memory by its copying threads.
    """

    factor: Floats
    step: dict[Protocol, Floats]
    call: dict[Protocol, float]
    nvls_step: float
    sharp_step: float
    fill: Floats
    nvls_fill: float
    local: float


def costs_of(cluster: Cluster, launch: str, parameters: Parameters) -> Costs:
    """The costs that a set of parameters gives a cluster: its GPU generation and its network.

    `launch` is how calls are launched: process, thread or graph.
    """
    row = gpu(cluster.machine.gpu)
    generation = generation_of(row.architecture, row.cc)
    network = "socket" if cluster.abilities.socket else cluster.machine.network

    def own(key: str) -> float:
        return parameters.get(f"generation.{generation}.{key}", f"generation.other.{key}")

    def net(key: str) -> float:
        return parameters.get(f"transport.{network}.{key}", f"transport.infiniband.{key}")

    def pcie(key: str) -> float:
        return parameters.number(f"transport.pcie.{key}")

    switched = f"generation.{generation}.switched_share"
    through_switch = cluster.machine.has_nvswitch and switched in parameters.table
    share = np.ones(len(Term))
    share[Term.NVLINK] = own("switched_share" if through_switch else "nvlink_share")
    share[Term.NVLS] = own("nvls_share")
    share[Term.PCIE] = pcie("share")
    share[Term.PCIE_FAR] = pcie("share") * pcie("far_share")
    share[Term.NIC] = pcie("copy_share")
    share[Term.HOST] = parameters.number("transport.host.share")
    share[Term.NETWORK] = net("share")
    call = own("call") + parameters.get(f"launch.{launch}.call", "launch.process.call")
    step, extra = {}, {}
    for protocol in Protocol:
        key = f"step_{protocol.value.lower()}"
        step[protocol] = np.array([own(key), pcie(key), net(key)]) * US
        extra[protocol] = parameters.get(f"protocol.{protocol.value.lower()}.call")
    return Costs(
        factor=1 / share,
        step=step,
        call={protocol: max(call + extra[protocol], 1.0) * US for protocol in Protocol},
        nvls_step=own("nvls_step") * US,
        sharp_step=parameters.number("transport.sharp.step") * US,
        fill=np.array([own("fill"), pcie("fill"), net("fill")]) * US,
        nvls_fill=own("nvls_fill") * US,
        local=1 / (parameters.number("gpu.copy.rate") * GB),
    )
