"""Setup: the inputs of a record as what a forecast takes: collective, cluster, group.

What a record leaves open is the usual default, and a notice says so. Only `Inputs` are seen here:
nothing of a record's name, source, date or judgement can reach a forecast.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from wirespeed.collectives.operation import COPIES, Collective, Operation, parse_operation
from wirespeed.comparison.boards import BoardFacts, board_of
from wirespeed.comparison.members import members_of
from wirespeed.comparison.words import (
    algorithm_words,
    dtype_word,
    launch_word,
    network_words,
    other_library,
    version_word,
)
from wirespeed.errors import Infeasible
from wirespeed.readers.records import Inputs
from wirespeed.topology.assemble import FabricDesign
from wirespeed.topology.cluster import Cluster, Group, build_cluster
from wirespeed.topology.fabrics.named import default_fabric
from wirespeed.topology.machine import Machine
from wirespeed.topology.machines import machine_of
from wirespeed.topology.node_design import NodeDesign
from wirespeed.topology.software import DEFAULT_VERSION, Abilities, Notice, Software

_OFF = ("", "0", "default", "none")

_STEERS_THE_HOST = re.compile(
    r"NCCL_(IGNORE_CPU_AFFINITY|WORK_FIFO_DEPTH|NET|DEBUG\w*|SOCKET_\w+|IB_(GID_INDEX|TC|SL))"
)
"""Settings of the library that change no route, choice or count that is modelled."""


class Wiring(msgspec.Struct, frozen=True):
    """What a cluster's graph rests on; equal ones are built once."""

    design: NodeDesign
    nodes: int
    across: bool
    """Whether a network joins the nodes."""


@dataclass(frozen=True, slots=True)
class Setup:
    """One run, ready to forecast.

    Attributes:
        members: [nodes] indices of the GPUs of each node that take part, in rank order.
        ranks: how many of them; the last node may have fewer.
        beyond: whether ranks lie in more than one NVLink domain.
        notes: defaults that were taken, words that were not understood.
    """

    collective: Collective
    wiring: Wiring
    software: Software
    abilities: Abilities
    peer_to_peer: bool | None
    members: tuple[int, ...]
    ranks: int
    beyond: bool
    notes: tuple[Notice, ...] = ()


@dataclass(slots=True)
class Workshop:
    """Builds clusters for set-ups and keeps their graphs."""

    _built: dict[Wiring, Cluster] = field(default_factory=dict)

    def cluster(self, setup: Setup) -> Cluster:
        """The cluster of a set-up; Infeasible where the fabric cannot hold it."""
        wiring = setup.wiring
        if wiring not in self._built:
            machine = machine_of(wiring.design)
            fabric = _fabric(machine, wiring) if wiring.across else None
            self._built[wiring] = build_cluster(machine, nodes=wiring.nodes, fabric=fabric)
        base, kind = self._built[wiring], wiring.design.network.kind
        machine = replace(
            base.machine,
            abilities=setup.abilities,
            peer_to_peer=setup.peer_to_peer,
            network="ethernet" if kind == "none" else kind,
            network_generation=wiring.design.network.generation,
        )
        return replace(base, machine=machine, software=setup.software, abilities=setup.abilities)

    def group(self, setup: Setup, cluster: Cluster) -> Group:
        """The ranks, node by node."""
        topology = cluster.topology
        gpus = topology.gpus().astype(np.int64)
        chosen = [
            gpus[topology.node[gpus] == node][list(setup.members)] for node in range(topology.nodes)
        ]
        return Group(np.concatenate(chosen)[: setup.ranks])


def setup_of(inputs: Inputs) -> Setup:
    """The run that a record's inputs describe.

    Raises Infeasible with the reason where they do not suffice, UnknownName for a GPU or operation
    that is not modelled.
    """
    operation = _operation(inputs.collective)
    if inputs.cluster.gpu is None:
        raise Infeasible("the GPU is not known", why="the record does not state it")
    notes: list[Notice] = []
    nodes, per_node, ranks = _counts(inputs, operation)
    domain = inputs.cluster.nvlink_domain or per_node
    network = network_words(inputs.cluster.fabric or "")
    if not network.understood:
        text = f"nothing known in the network {inputs.cluster.fabric!r}: the machine's own is taken"
        notes.append(Notice("unknown-fabric", text))
    facts = BoardFacts(
        gpu=inputs.cluster.gpu,
        gpus_per_node=per_node,
        nodes=nodes,
        nvlink_domain=inputs.cluster.nvlink_domain,
        path=inputs.cluster.path or "",
        network=network.kind,
        nics=inputs.cluster.nics_per_node,
        nic_gbps=inputs.cluster.nic_gbps,
    )
    board = board_of(facts)
    notes += board.notes
    design, members = members_of(board.design, per_node, facts.path)
    machine_library = "rccl" if design.gpu.startswith("mi") else "nccl"
    software, sharp = _software(inputs, machine_library, notes)
    beyond = ranks > domain
    return Setup(
        collective=_collective(inputs, operation, notes),
        wiring=Wiring(design, nodes, across=nodes > design.nodes_per_unit),
        software=software,
        abilities=_abilities(inputs, design, software, network.sockets, network.sharp or sharp),
        peer_to_peer=inputs.cluster.p2p,
        members=members,
        ranks=ranks,
        beyond=beyond,
        notes=tuple(notes),
    )


def setting_of(inputs: Inputs) -> Inputs:
    """The inputs with what no forecast reads left out: equal ones are runs of one setting."""
    env = tuple(
        (name, value)
        for name, value in inputs.env
        if re.match("[NR]CCL_", name) and not _STEERS_THE_HOST.fullmatch(name)
    )
    network = network_words(inputs.cluster.fabric or "")
    if _uses_sockets(dict(inputs.env)):
        network = replace(network, sockets=True)
    cluster = msgspec.structs.replace(inputs.cluster, fabric=str(network))
    return msgspec.structs.replace(inputs, cluster=cluster, env=env)


def _operation(name: str) -> Operation:
    if name.startswith("ep_") or name == "alltoall_raw":
        raise Infeasible(f"{name} is not forecast", why="it is no operation of the library")
    return parse_operation(name)


def _counts(inputs: Inputs, operation: Operation) -> tuple[int, int, int]:
    """Nodes, GPUs of each that take part, ranks."""
    cluster, ranks = inputs.cluster, inputs.ranks
    nodes, per_node = cluster.nodes, cluster.gpus_per_node
    for what, count in (("nodes", nodes), ("GPUs on a node", per_node), ("ranks", ranks)):
        if count is not None and count < 1:
            raise Infeasible(f"{count} {what}", why="a run has at least one")
    if nodes is None:
        if ranks is None or per_node is None:
            raise Infeasible("the number of nodes is not known", why="the record does not state it")
        nodes = -(-ranks // per_node)
    if ranks is None and per_node is None:
        raise Infeasible("the number of GPUs is not known", why="the record does not state it")
    if per_node is None or (ranks is not None and ranks != nodes * per_node):
        assert ranks is not None
        per_node = -(-ranks // nodes)
    ranks = nodes * per_node if ranks is None else ranks
    if operation in COPIES:
        return 1, max(per_node, 2 if operation is Operation.P2P_COPY else 1), ranks
    if ranks < 2:
        raise Infeasible(f"{operation} on {ranks} GPU", why="it takes two or more")
    return nodes, per_node, ranks


def _collective(inputs: Inputs, operation: Operation, notes: list[Notice]) -> Collective:
    dtype, launch = "float", "process"
    if inputs.dtype:
        word = dtype_word(inputs.dtype)
        if word is None:
            text = f"the type {inputs.dtype!r} is not known: float is taken"
            notes.append(Notice("unknown-dtype", text))
        dtype = word or dtype
    if inputs.launch:
        mode = launch_word(inputs.launch)
        if mode is None:
            text = f"the launch {inputs.launch!r} is not known: one process a GPU is taken"
            notes.append(Notice("unknown-launch", text))
        launch = mode or launch
    return Collective(
        operation,
        dtype=dtype,
        in_place=inputs.in_place,
        launch=launch,
        bidirectional=inputs.bidirectional,
    )


def _software(inputs: Inputs, library: str, notes: list[Notice]) -> tuple[Software, bool | None]:
    """Library, version, environment and forced algorithm; whether the fabric did reduce."""
    version = None
    if inputs.nccl_version:
        version = version_word(inputs.nccl_version)
        if other := other_library(inputs.nccl_version):
            text = f"{other} is another library: the usual {library.upper()} stands in for it"
            notes.append(Notice("unknown-library", text))
        elif version is None:
            text = f"no version in {inputs.nccl_version!r}: the usual one is taken"
            notes.append(Notice("unknown-version", text))
    env = {name: value for name, value in inputs.env if value.strip().lower() not in _UNSET}
    settings: Mapping[str, str] = {}
    sharp = None
    if inputs.algo:
        words = algorithm_words(inputs.algo)
        sharp = words.sharp
        if not words.understood:
            text = f"the algorithm {inputs.algo!r} is not known: the library's choice is taken"
            notes.append(Notice("unknown-algorithm", text))
        if words.algorithm:
            settings = {"algo": words.algorithm}
    return Software(library, version or DEFAULT_VERSION[library], env, settings), sharp


_UNSET = ("default", "none", "")


def _abilities(
    inputs: Inputs, design: NodeDesign, software: Software, sockets: bool, sharp: bool | None
) -> Abilities:
    env = software.env
    sockets = sockets or _uses_sockets(env)
    stated = (inputs.cluster.gdr or "").strip().lower()
    # TCPX has a direct way of its own, which sources do not call GPUDirect RDMA.
    open_ = stated not in ("yes", "no") or design.network.kind == "tcpx"
    gdr = design.gdr if open_ else stated == "yes"
    pxn = env.get("NCCL_PXN_DISABLE", "0") in _OFF
    # Who says that it was used has seen it, whatever the distance.
    far = stated == "yes" or design.gdr_far or design.network.kind == "slingshot"
    return Abilities(
        gdr=gdr and not sockets, gdr_far=far, sharp=bool(sharp), pxn=pxn, socket=sockets
    )


def _uses_sockets(env: Mapping[str, str]) -> bool:
    """Whether the environment turns RDMA off."""
    return env.get("NCCL_NET", "").lower() == "socket" or (
        env.get("NCCL_IB_DISABLE", "0").lower() not in _OFF
    )


def _fabric(machine: Machine, wiring: Wiring) -> tuple[str, FabricDesign]:
    kind = wiring.design.network.kind
    return default_fabric(machine.platform, wiring.nodes, "" if kind == "none" else kind)
