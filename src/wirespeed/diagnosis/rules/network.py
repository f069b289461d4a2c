"""Rules on the network as logs show it: what drives it, GPUDirect, NICs, the way between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, combinations

from wirespeed.diagnosis.case import Case
from wirespeed.diagnosis.rules._registry import rule
from wirespeed.evidence import Fact, Finding

_NCCL = "https://github.com/NVIDIA/nccl/issues/"
_VIRTUAL = re.compile(r"docker|br-|virbr|lo$|veth|cni|flannel|cali")
"""Interfaces that lead nowhere from one host to another."""


def ranks_apart(case: Case) -> bool:
    """Whether the job is known to run on several hosts."""
    hosts = {str(fact.value) for _, fact in case.facts(attribute="name") if _is_host(fact)}
    nodes = [int(str(fact.value)) for _, fact in case.facts("log", "nodes")]
    return len(hosts) > 1 or max(nodes, default=1) > 1


def _is_host(fact: Fact) -> bool:
    return bool(re.fullmatch(r"host\d+", fact.subject))


@rule("gdr_off", _NCCL + "1151")
def gdr_off(case: Case) -> Iterator[Finding]:
    """Data goes between GPU and NIC through host memory: module, distance, or one node alone."""
    module = [p for p in case.facts(attribute="gdr") if _of_nic(p[1]) and p[1].value is False]
    distance = [p for p in case.facts(attribute="gdr") if ">net" in p[1].subject and not p[1].value]
    plain, direct = _edges(case)
    if module:
        nics = ", ".join(dict.fromkeys(fact.subject for _, fact in module))
        yield Finding(
            code="gdr_off",
            severity="error",
            cause=f"GPUDirect RDMA is off for {nics}: neither the peer memory module nor DMA-BUF "
            "serves these NICs, so that data makes a detour through host memory.",
            evidence=case.lines(module)[:4],
            remedy="modprobe nvidia-peermem (or run a driver and kernel with DMA-BUF), then look "
            "for GDRDMA in the log",
            confidence=0.9,
        )
    elif plain and direct:
        yield Finding(
            code="gdr_off",
            severity="error",
            cause="Some ends of the network's ways say GDRDMA and others do not: one node lacks it "
            "and slows all.",
            evidence=case.lines([*plain[:2], *direct[:1]]),
            remedy="modprobe nvidia-peermem on the node whose lines lack GDRDMA",
            confidence=0.85,
        )
    elif distance:
        yield Finding(
            code="gdr_off",
            severity="info",
            cause="GPUDirect RDMA is off for pairs of GPU and NIC that are too far apart: they "
            "meet at a host bridge or across sockets.",
            evidence=case.lines(distance)[:4],
            remedy="put the NIC on the GPU's PCIe switch; NCCL_NET_GDR_LEVEL=SYS forces it and "
            "rarely helps",
            confidence=0.7,
            source_url=_NCCL + "1151",
        )
    elif plain:
        yield Finding(
            code="gdr_off",
            severity="warning",
            cause="Ways over InfiniBand or RoCE do not say GDRDMA: data goes through host memory.",
            evidence=case.lines(plain[:3]),
            remedy="modprobe nvidia-peermem, and see whether GPU and NIC share a PCIe switch",
            confidence=0.7,
            source_url=_NCCL + "1343",
        )


def _of_nic(fact: Fact) -> bool:
    return bool(re.fullmatch(r"host\d+ net\d+", fact.subject))


def _edges(case: Case) -> tuple[list[tuple[str, Fact]], list[tuple[str, Fact]]]:
    """Ends of ways over verbs, without GPUDirect and with it."""
    ends = [
        pair
        for name in ("send_by", "receive_by")
        for pair in case.facts(attribute=name)
        if "NET/IB/" in str(pair[1].value)
    ]
    plain = [pair for pair in ends if "GDRDMA" not in str(pair[1].value)]
    return plain, [pair for pair in ends if "GDRDMA" in str(pair[1].value)]


@rule("wrong_interface", _NCCL + "286")
def wrong_interface(case: Case) -> Iterator[Finding]:
    """Ranks look for each other over an interface that leads to no other host."""
    used = list(case.facts(attribute="bootstrap"))
    bad = [pair for pair in used if _VIRTUAL.match(str(pair[1].value))]
    failed = list(case.facts("warn", "connect"))
    if not bad or not (failed or ranks_apart(case)):
        return
    names = ", ".join(dict.fromkeys(str(fact.value) for _, fact in bad))
    yield Finding(
        code="wrong_interface",
        severity="error",
        cause=f"Ranks meet over {names}, by which one host does not reach another.",
        evidence=case.lines([*bad[:2], *failed[:2]]),
        remedy="NCCL_SOCKET_IFNAME=eth0 (the interface that joins the hosts); a list that begins "
        "with ^ replaces the usual exclusion of lo and docker",
        confidence=0.9 if failed else 0.7,
    )


@rule("fabric_not_driven", _NCCL + "451")
def fabric_not_driven(case: Case) -> Iterator[Finding]:
    """A fast network is there, or was asked for, and sockets carry the data."""
    missed = [
        *case.facts("warn", "ib_open"),
        *(p for p in case.facts(attribute="ib_devices") if p[1].value == 0),
        *(p for p in case.facts(attribute="provider") if p[1].value == "tcp"),
    ]
    sockets = [p for p in case.facts(attribute="network") if "Socket" in str(p[1].value)]
    opened = list(case.facts("warn", "ib_open"))
    tcp = [pair for pair in missed if pair[1].attribute == "provider"]
    if not missed or not (sockets or tcp):
        return
    if not (opened or tcp or ranks_apart(case)):
        return
    yield Finding(
        code="fabric_not_driven",
        severity="error",
        cause="The library finds no RDMA device that it can use and takes sockets.",
        evidence=case.lines([*missed[:3], *sockets[:1]]),
        remedy="give the container /dev/infiniband, the verbs libraries and the network's plugin "
        "(--device /dev/infiniband, libibverbs1, ibverbs-providers, aws-ofi-nccl)",
        confidence=0.9 if opened or tcp else 0.6,
    )


@rule("rdma_path_error", _NCCL + "426")
def rdma_path_error(case: Case) -> Iterator[Finding]:
    """NICs do not reach each other: retries run out, or no way is known to begin with."""
    gave_up = [
        pair
        for pair in case.facts("warn", "rdma_completion")
        if re.search(r"(?:error|status)=? ?12\b", str(pair[1].value))
    ]
    refused = list(case.facts("warn", "modify_qp"))
    if not gave_up and not refused:
        return
    yield Finding(
        code="rdma_path_error",
        severity="error",
        cause="Two NICs do not reach each other over RDMA: retries run out or no way is known."
        if gave_up
        else "A queue pair cannot be connected: the address or the way of the other NIC is wrong.",
        evidence=case.lines([*gave_up[:3], *refused[:3]]),
        remedy="try the pair with ib_write_bw -x GID; on RoCE set NCCL_IB_GID_INDEX (often 3); "
        "rails that are not joined need NCCL_CROSS_NIC=0; after minutes of running look at the "
        "link's error counters",
        confidence=0.85,
    )


def _are_one_job(case: Case, one: str, other: str) -> bool:
    """Whether two files tell the same release, and no different number of ranks.

    People hand over a log for each host, and also a folder of logs that have nothing in common.
    """
    if one == other:
        return True
    releases, ranks = (
        [{f.value for at, f in case.facts("log", told) if at == file} for file in (one, other)]
        for told in ("version", "ranks")
    )
    return bool(set.intersection(*releases)) and not (all(ranks) and ranks[0].isdisjoint(ranks[1]))


@rule("wrong_or_few_nics", _NCCL + "1412")
def nics_differ(case: Case) -> Iterator[Finding]:
    """Hosts use other NICs than each other, or NICs of different kinds together."""
    lists = {(file, str(f.value)): (file, f) for file, f in case.facts(attribute="net_devices")}
    unlike = [
        pair
        for pair in combinations(lists.values(), 2)
        if pair[0][1].value != pair[1][1].value and _are_one_job(case, pair[0][0], pair[1][0])
    ]
    if unlike:
        yield Finding(
            code="wrong_or_few_nics",
            severity="error",
            cause="Hosts list different NICs: ranks pair ports that do not belong together.",
            evidence=case.lines(chain.from_iterable(unlike))[:4],
            remedy="name the same ones everywhere: NCCL_IB_HCA=mlx5_0,mlx5_1,…",
            confidence=0.8,
            source_url=_NCCL + "1277",
        )
        return
    layers = {(file, str(fact.value)) for file, fact in case.facts(attribute="layer")}
    if any({(file, "IB"), (file, "RoCE")} <= layers for file, _ in layers):
        yield Finding(
            code="wrong_or_few_nics",
            severity="warning",
            cause="InfiniBand and Ethernet ports are used together: one kind is most likely there "
            "for storage or management.",
            evidence=case.lines(case.facts(attribute="net_devices"))[:2],
            remedy="leave the others out: NCCL_IB_HCA=^mlx5_3,mlx5_4",
            confidence=0.75,
            source_url=_NCCL + "302",
        )


@rule("port_down", "https://github.com/Azure/azhpc-diagnostics/issues/76")
def port_down(case: Case) -> Iterator[Finding]:
    """A port of an RDMA adapter that has no link."""
    down = [
        pair
        for pair in case.facts(attribute="up")
        if pair[1].subject.startswith("port ") and pair[1].value is False
    ]
    lost = [pair for pair in case.facts(attribute="missing") if pair[1].value is True]
    for file, fact in down:
        physical = [f for name, f in case.facts(fact.subject, "physical") if name == file]
        state = f" ({physical[0].value})" if physical else ""
        yield Finding(
            code="port_down",
            severity="error",
            cause=f"{fact.subject.removeprefix('port ')} has no link{state}.",
            evidence=case.lines([(file, fact), *((file, f) for f in physical)]),
            remedy="look at cable, transceiver and the switch's port; until then leave the port "
            "out of NCCL_IB_HCA",
            confidence=0.9,
        )
    if lost:
        yield Finding(
            code="port_down",
            severity="error",
            cause="An adapter is listed and does not answer: it has gone from the bus.",
            evidence=case.lines(lost),
            remedy="look at dmesg for the adapter's PCIe address, reseat it, power-cycle the node",
            confidence=0.9,
        )
