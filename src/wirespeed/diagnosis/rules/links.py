"""Rules on links inside a machine: NVLink and its switches, PCIe, access control, peer access."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from wirespeed.diagnosis.case import Case
from wirespeed.diagnosis.rules._registry import rule
from wirespeed.evidence import Fact, Finding

_NCCL = "https://github.com/NVIDIA/nccl/issues/"
_EMULATED = {"0x1b36", "0x104c", "0x1af4"}
"""PCI vendors of bridges that only a hypervisor has."""


@rule("acs_iommu", _NCCL + "2079")
def acs_redirects(case: Case) -> Iterator[Finding]:
    """Bridges send peer-to-peer requests to the root complex."""
    redirected = [p for p in case.facts(attribute="acs_redirect") if p[1].value is True]
    if not redirected:
        return
    peers = [
        pair for pair in case.facts(attribute="transport") if str(pair[1].value).startswith("P2P/")
    ]
    yield Finding(
        code="acs_iommu",
        severity="error" if peers else "warning",
        cause="Access control on PCIe bridges redirects requests between devices to the root "
        "complex: peer-to-peer is slow, hangs or returns wrong data.",
        evidence=case.lines([*redirected[:3], *peers[:1]]),
        remedy="setpci -s BRIDGE ECAP_ACS+6.w=0 on each bridge after every boot, or ACS off in the "
        "BIOS, and iommu=pt; NCCL_P2P_DISABLE=1 shows whether that is it",
        confidence=0.9 if peers else 0.7,
    )


@rule("acs_iommu", "https://github.com/ROCm/rccl/issues/1026")
def iommu_settings(case: Case) -> Iterator[Finding]:
    """RCCL says which settings of kernel and environment it misses; or the kernel translates."""
    said = [p for p in case.facts("warn", "missing_setting") if "iommu" in str(p[1].value)]
    if said:
        yield Finding(
            code="acs_iommu",
            severity="warning",
            cause="The kernel's command line lacks what RCCL needs for peer-to-peer.",
            evidence=case.lines(said),
            remedy="boot with amd_iommu=on iommu=pt",
            confidence=0.8,
        )


@rule("fabric_manager", "https://github.com/pytorch/pytorch/pull/177472")
def multicast_fails(case: Case) -> Iterator[Finding]:
    """Memory for the switches' multicast cannot be bound."""
    failed = [*case.facts("warn", "nvls_cuda_failure"), *case.facts("warn", "nvls_bind")]
    if failed:
        yield Finding(
            code="fabric_manager",
            severity="error",
            cause="NVSwitch multicast does not work: fabric manager, switches or IMEX are not in "
            "the state that the driver needs.",
            evidence=case.lines(failed)[:3],
            remedy="restart the fabric manager and reset the GPUs (on racks: nvidia-imex); "
            "NCCL_NVLS_ENABLE=0 until then; nvbandwidth -t multicast_one_to_all shows it alone",
            confidence=0.9,
        )


@rule("nvlink_down", "https://github.com/Azure/azhpc-diagnostics/issues/73")
def nvlinks_inactive(case: Case) -> Iterator[Finding]:
    """GPUs with fewer active NVLinks than others of the same kind."""
    for file in {file for file, _ in case.facts(attribute="nvlinks_active")}:
        own = [f for name, f in case.facts(attribute="nvlinks_active") if name == file]
        usual = Counter(int(str(f.value)) for f in own).most_common(1)[0][0]
        most = max(usual, *(int(str(f.value)) for f in own))
        for fact in own:
            if int(str(fact.value)) >= most:
                continue
            dead = [
                (file, f)
                for _, f in case.facts(attribute="state")
                if f.subject.startswith(f"{fact.subject} link") and f.value == "inactive"
            ]
            yield Finding(
                code="nvlink_down",
                severity="error",
                cause=f"{fact.subject} has {fact.value} NVLinks up, others have {most}.",
                evidence=case.lines(dead or [(file, fact)])[:4],
                remedy="look at nvidia-smi nvlink -e and dmesg (Xid 74); reseat bridges; reset or "
                "drain the node",
                confidence=0.9,
            )


@rule("fabric_clique_mismatch", "https://github.com/meta-pytorch/torchcomms/pull/3612")
def cliques_differ(case: Case) -> Iterator[Finding]:
    """GPUs of one NVLink fabric that are in different partitions, or not ready."""
    cliques: dict[str, dict[str, tuple[str, Fact]]] = {}
    for file, fact in case.facts(attribute="clique"):
        uuid = next(
            (f for name, f in case.facts(fact.subject, "fabric_uuid") if name == file), None
        )
        if uuid is not None and not re.fullmatch(r"0+(\.0+)?", str(uuid.value)):
            cliques.setdefault(str(uuid.value), {}).setdefault(str(fact.value), (file, fact))
    for fabric, found in cliques.items():
        if len(found) > 1:
            yield Finding(
                code="fabric_clique_mismatch",
                severity="error",
                cause=f"GPUs of the fabric {fabric} are in different cliques "
                f"({', '.join(sorted(found))}): NVLink does not join them.",
                evidence=case.lines(found.values()),
                remedy="see the partitions of the fabric manager and the IMEX domain of each node "
                "(nvidia-imex-ctl -N)",
                confidence=0.85,
            )


@rule("vm_topology", _NCCL + "1674")
def emulated_bridges(case: Case) -> Iterator[Finding]:
    """A hypervisor hides the PCIe tree behind bridges of its own."""
    emulated = [
        pair for pair in case.facts(attribute="vendor") if str(pair[1].value).lower() in _EMULATED
    ]
    if emulated:
        yield Finding(
            code="vm_topology",
            severity="warning",
            cause="The PCIe tree is a hypervisor's: its bridges have no real speed, and which GPU "
            "and NIC share a switch cannot be seen.",
            evidence=case.lines(emulated)[:3],
            remedy="give the library the true tree with NCCL_TOPO_FILE (the cloud's file, or the "
            "host's dump with the guest's addresses)",
            confidence=0.8,
        )


@rule("p2p_unavailable", _NCCL + "1516")
def no_peer_access(case: Case) -> Iterator[Finding]:
    """Cards that the driver keeps apart."""
    refused = [*case.facts(attribute="p2p_refused"), *case.facts("warn", "p2p_disabled")]
    if refused and not _switched_off(case):
        yield Finding(
            code="p2p_unavailable",
            severity="warning",
            cause="The driver lets these GPUs not reach each other's memory: data goes through "
            "host memory.",
            evidence=case.lines(refused)[:4],
            remedy="normal for GeForce cards and across some chipsets (nvidia-smi topo -p2p r); "
            "elsewhere look at ACS and the IOMMU",
            confidence=0.8,
        )


@rule("p2p_disabled_env", "https://github.com/NVIDIA/nccl-tests/issues/250")
def peer_access_switched_off(case: Case) -> Iterator[Finding]:
    """A setting keeps GPUs apart that could reach each other."""
    off = _switched_off(case)
    if off:
        yield Finding(
            code="p2p_disabled_env",
            severity="warning",
            cause="Peer-to-peer is switched off by the environment: data goes through host memory "
            "or the network.",
            evidence=case.lines(off),
            remedy="unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, unless it hangs without: then look "
            "at ACS and the IOMMU",
            confidence=0.85,
        )


def _switched_off(case: Case) -> list[tuple[str, Fact]]:
    disabled = [
        pair
        for pair in case.facts("env", "NCCL_P2P_DISABLE")
        if str(pair[1].value) not in ("0", "", "-2")
    ]
    levels = [pair for pair in case.facts("env", "NCCL_P2P_LEVEL") if pair[1].value in ("LOC", "0")]
    return disabled + levels


@rule("pcie_link_degraded", "https://github.com/open-mpi/hwloc/issues/653")
def pcie_narrow(case: Case) -> Iterator[Finding]:
    """A PCIe link with fewer lanes than its ends have, or that the kernel calls limited."""
    for file, fact in case.facts(attribute="width_downgraded"):
        if fact.value is not True:
            continue
        lanes = [f for name, f in case.facts(fact.subject, "link_lanes") if name == file]
        most = [f for name, f in case.facts(fact.subject, "link_max_lanes") if name == file]
        has = f": x{lanes[0].value} of x{most[0].value}" if lanes and most else ""
        yield Finding(
            code="pcie_link_degraded",
            severity="error",
            cause=f"{fact.subject} runs on fewer lanes than it has{has}.",
            evidence=case.lines([(file, fact)]),
            remedy="reseat card, riser and cable; see whether the slot is wired that wide",
            confidence=0.85,
        )
    limited = list(case.facts(attribute="pcie_limit_at"))
    if limited:
        where = ", ".join(dict.fromkeys(str(fact.value) for _, fact in limited))
        yield Finding(
            code="pcie_link_degraded",
            severity="warning",
            cause=f"The kernel says that a link at {where} gives devices less than they could "
            "take.",
            evidence=case.lines(limited)[:4],
            remedy="compare with the board's plan: a switch or riser of an older generation, or a "
            "link that trained slower than it should",
            confidence=0.7,
        )
