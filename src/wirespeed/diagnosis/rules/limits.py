"""Rules on limits of containers and hosts: shared memory, locked memory, isolation, versions."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.diagnosis.case import Case
from wirespeed.diagnosis.rules._registry import rule
from wirespeed.evidence import Fact, Finding

_NCCL = "https://github.com/NVIDIA/nccl/issues/"


@rule("shm_too_small", _NCCL + "290")
def shared_memory(case: Case) -> Iterator[Finding]:
    """/dev/shm has no room for the library's buffers."""
    full = list(case.facts("warn", "shm_full"))
    if full:
        yield Finding(
            code="shm_too_small",
            severity="error",
            cause="/dev/shm is too small for the buffers between ranks of a node.",
            evidence=case.lines(full)[:3],
            remedy="docker run --shm-size=8g (or --ipc=host); on Kubernetes an emptyDir with "
            "medium: Memory at /dev/shm",
            confidence=0.95,
        )


@rule("memlock", "https://github.com/NVIDIA/nccl-tests/issues/206")
def locked_memory(case: Case) -> Iterator[Finding]:
    """Memory cannot be pinned for RDMA."""
    refused = list(case.facts("warn", "memlock"))
    if refused:
        yield Finding(
            code="memlock",
            severity="error",
            cause="Memory cannot be locked for the NIC: the limit of the process is too low.",
            evidence=case.lines(refused)[:3],
            remedy="ulimit -l unlimited where ranks start (docker: --ulimit memlock=-1; systemd: "
            "LimitMEMLOCK=infinity)",
            confidence=0.9,
        )


@rule("container_isolation", _NCCL + "1781")
def apart_on_one_host(case: Case) -> Iterator[Finding]:
    """Ranks of one host that meet over the network: containers that do not see each other."""
    nodes = [int(str(fact.value)) for _, fact in case.facts("log", "nodes")]
    ranks = {f.subject for _, f in case.facts(attribute="host") if f.subject.startswith("rank")}
    over = [
        pair
        for name in ("send_by", "receive_by")
        for pair in case.facts(attribute=name)
        if "NET/" in str(pair[1].value)
    ]
    named = [f for _, f in case.facts(attribute="name") if _is_host(f)]
    if over and len(named) == 1 and len(ranks) > 1 and max(nodes, default=1) > len(named):
        yield Finding(
            code="container_isolation",
            severity="warning",
            cause=f"{len(ranks)} ranks of one host count as {max(nodes)} nodes and meet over the "
            "network.",
            evidence=case.lines(over)[:3],
            remedy="let containers share /dev/shm, the IPC namespace and all GPUs (--ipc=host), or "
            "give ranks of one host the same NCCL_HOSTID",
            confidence=0.8,
        )


def _is_host(fact: Fact) -> bool:
    return fact.subject.startswith("host") and fact.subject[4:].isdigit()


@rule("version_mismatch", _NCCL + "1277")
def versions_differ(case: Case) -> Iterator[Finding]:
    """Ranks run different releases of the library, or see different networks."""
    said = [*case.facts("warn", "version_mismatch"), *case.facts("warn", "net_mismatch")]
    if said:
        yield Finding(
            code="version_mismatch",
            severity="error",
            cause="Ranks do not run the same library, or do not see the same network devices.",
            evidence=case.lines(said)[:3],
            remedy="the same image, library and NCCL_IB_HCA on every node",
            confidence=0.9,
        )


@rule("vm_topology", "https://github.com/aws/aws-ofi-nccl/issues/476")
def topology_file_broken(case: Case) -> Iterator[Finding]:
    """A topology file, or what the container shows of /sys, lacks what the library needs."""
    said = list(case.facts("warn", "topo_attribute"))
    if said:
        yield Finding(
            code="vm_topology",
            severity="error",
            cause="The topology that the library is given lacks an attribute that it needs.",
            evidence=case.lines(said)[:3],
            remedy="unset NCCL_TOPO_FILE, or give the file of this machine with all its GPUs; "
            "mount /sys into the container",
            confidence=0.8,
        )
