"""Costs: what parameters say a byte and a step cost on one cluster."""

from __future__ import annotations

from collections.abc import Callable
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
    CHANNEL = 8
    """Through one channel of a rank, which is one block of threads."""
    NET_CHANNEL = 9
    """A message straight to a peer across the network, through one channel."""


class Medium(IntEnum):
    """What a step waits for; each has step latencies of its own."""

    NVLINK = 0
    PCIE = 1
    NETWORK = 2


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """Overheads and latencies of one cluster.

    Attributes:
        factor: by protocol, [terms] wire bytes for each byte of payload; on channels, which have
            no capacity of their own, seconds.
        step: by protocol, [media] s that a step waits besides bytes and links.
        call: by protocol, s that a call costs besides its steps.
        message: [media] s for each message beside the steps that data waits for.
        nvls_step, sharp_step: [s] through NVSwitches or switches of the fabric.
        fill: [media] s of overhead in the pipeline for each step; `nvls_fill` through the
            NVSwitches of eight GPUs.
        local: [s/B] that a GPU needs to move data within its memory by its copying threads.
    """

    factor: dict[Protocol, Floats]
    step: dict[Protocol, Floats]
    call: dict[Protocol, float]
    direct: float
    """Bytes that NVLink moves for each byte where messages go straight, against a ring."""
    direct_call: float
    """[s] that a call costs besides where messages go straight and no algorithm is run."""
    message: Floats
    nvls_step: float
    sharp_step: float
    fill: Floats
    nvls_fill: float
    exponent: float
    """How the price of a pipeline grows with size; 1/2 for pieces of the best size."""
    local: float


@dataclass(frozen=True, slots=True)
class CostClass:
    """What decides the costs of a cluster: runs of one class cost the same."""

    generation: str
    network: str
    launch: str
    switched: bool
    """Whether NVSwitches join the GPUs."""


def cost_class(cluster: Cluster, launch: str) -> CostClass:
    """The class of a cluster; `launch` is how calls are launched: process, thread or graph."""
    row = gpu(cluster.machine.gpu)
    return CostClass(
        generation=generation_of(row.architecture, row.cc),
        network="socket" if cluster.abilities.socket else _network(cluster),
        launch=launch,
        switched=cluster.machine.has_nvswitch,
    )


def _net_step(protocol: Protocol, net: Callable[[str], float], parameters: Parameters) -> float:
    """[us] of a step over a network.

    A line of LL128 waits for what a word of LL waits for, and then for more bytes: so many times
    as long on every network, though no longer than a step of Simple.
    """
    if protocol is Protocol.LL128:
        return net("step_ll") * parameters.number("protocol.ll128.network_step")
    return net(f"step_{protocol.value.lower()}")


def _network(cluster: Cluster) -> str:
    """The network as the parameters know it: EFA since its second version is another one."""
    network, generation = cluster.machine.network, cluster.machine.network_generation
    return "efa2" if network == "efa" and generation not in ("", "v1") else network


def costs_of(kind: CostClass, parameters: Parameters) -> Costs:
    """The costs that a set of parameters gives a class: its GPU generation and its network."""

    def own(key: str) -> float:
        return parameters.get(f"generation.{kind.generation}.{key}", f"generation.other.{key}")

    def net(key: str) -> float:
        return parameters.get(f"transport.{kind.network}.{key}", f"transport.infiniband.{key}")

    def pcie(key: str) -> float:
        return parameters.number(f"transport.pcie.{key}")

    switched = f"generation.{kind.generation}.switched_share"
    through_switch = kind.switched and switched in parameters.table
    share = np.ones(len(Term))
    share[Term.NVLINK] = own("switched_share" if through_switch else "nvlink_share")
    share[Term.NVLS] = own("nvls_share")
    share[Term.PCIE] = pcie("share")
    share[Term.PCIE_FAR] = pcie("share") * pcie("far_share")
    share[Term.NIC] = pcie("copy_share")
    share[Term.HOST] = parameters.number("transport.host.share")
    share[Term.NETWORK] = net("share")
    call = own("call") + parameters.get(f"launch.{kind.launch}.call", "launch.process.call")
    step, extra, factor = {}, {}, {}
    for protocol in Protocol:
        word = protocol.value.lower()
        # Between GPUs LL128 and Simple wait alike: both hand over whole lines, not words.
        inner = own("step_ll" if protocol is Protocol.LL else "step_simple")
        step[protocol] = np.array(
            [inner, pcie(f"step_{word}"), _net_step(protocol, net, parameters)]
        )
        if protocol is Protocol.SIMPLE:
            # LL and LL128 spare the fence that Simple needs: a step of them never waits longer.
            for spared in (Protocol.LL, Protocol.LL128):
                step[spared] = np.minimum(step[spared], step[protocol])
        extra[protocol] = parameters.number(f"protocol.{word}.call")
        factor[protocol] = 1 / (share * parameters.number(f"protocol.{word}.share"))
        across = share[Term.NETWORK] * parameters.number(f"protocol.{word}.network_share")
        factor[protocol][Term.NETWORK] = 1 / across
        factor[protocol][Term.CHANNEL] /= own("channel") * GB
        factor[protocol][Term.NET_CHANNEL] /= parameters.number("transport.channel.rate") * GB
    return Costs(
        factor=factor,
        step={protocol: us * US for protocol, us in step.items()},
        call={protocol: (call + extra[protocol]) * US for protocol in Protocol},
        direct=1 / parameters.number("protocol.direct.share"),
        direct_call=parameters.number("protocol.direct.call") * US,
        message=np.array([0.0, 0.0, net("message")]) * US,
        nvls_step=own("nvls_step") * US,
        sharp_step=parameters.number("transport.sharp.step") * US,
        fill=np.array([own("fill"), pcie("fill"), net("fill")]) * US,
        nvls_fill=own("nvls_fill") * US,
        exponent=parameters.number("pipeline.pieces.exponent"),
        local=1 / (parameters.number("gpu.copy.rate") * GB),
    )
