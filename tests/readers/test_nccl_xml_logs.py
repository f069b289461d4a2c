"""What NCCL and RCCL print of the samples' machines is what we find in them."""

from __future__ import annotations

import re

import pytest

from readers.test_nccl_xml_corpus import machine
from support import shared
from topology_tables import (
    GPU,
    NIC,
    machine_of_text,
    routes_of,
)
from wirespeed.topology.eligibility import gdr_eligible, p2p_eligible, p2p_level
from wirespeed.topology.kinds import LinkKind, PathType
from wirespeed.topology.machines import preset_machine
from wirespeed.topology.nccl_speeds import link_planning, nvlink_planning
from wirespeed.topology.path_types import nccl_path
from wirespeed.units import GB

pytestmark = pytest.mark.corpus


def log(name: str) -> str:
    return shared("samples", "nccl-info-log", name).read_text()


def test_rccl_prints_the_rates_that_we_compute() -> None:
    """A tree of MI100: PCI[24.0] on sixteen lanes of Gen4, XGMI[24.0] a link."""
    printed = set(re.findall(r"(PCI|XGMI)\[(\d+\.\d)\]", log("14-rccl-topology-tree.txt")))
    unit = machine("16").unit
    planned = {
        ("PCI" if kind == LinkKind.PCIE else "XGMI", f"{link_planning(unit, link) / GB:.1f}")
        for link, kind in enumerate(unit.link_kind.tolist())
        # The NIC of this machine is on no PCIe link.
        if kind in (LinkKind.PCIE, LinkKind.XGMI)
        and unit.lanes[link] in (1, 16)
        and not {unit.kind[unit.source[link]], unit.kind[unit.target[link]]} & {NIC}
    }
    assert planned == printed


def test_gpus_beside_the_adapter_use_gpudirect_up_to_the_bridge() -> None:
    """Four GPUs, one adapter, NCCL_NET_GDR_LEVEL=PHB: its own socket's may, the others not."""
    said = log("07-gdr-distance.txt")
    enabled = set(re.findall(r"Enabled for GPU (\w+)", said))
    disabled = set(re.findall(r"Disabled for GPU (\w+)", said))
    sockets = {"18000": 0, "3b000": 0, "86000": 1, "af000": 1}
    devices = "".join(
        f'<cpu numaid="{socket}" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">'
        + "".join(
            f'<pci busid="0000:{bus[:2]}:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" '
            f'link_width="16"><gpu dev="{dev}" sm="70" rank="{dev}" gdr="1"/></pci>'
            for dev, (bus, home) in enumerate(sockets.items())
            if home == socket
        )
        + (
            '<pci busid="0000:d8:00.0" class="0x020700" link_speed="8.0 GT/s PCIe" '
            'link_width="16"><nic><net name="mlx5_0" dev="0" speed="100000" gdr="1"/></nic></pci>'
            if socket
            else ""
        )
        + "</cpu>"
        for socket in (0, 1)
    )
    unit = machine_of_text(f'<system version="1">{devices}</system>').unit
    routes = routes_of(unit)
    nic = int(unit.of_kind(NIC)[0])
    env = {"NCCL_NET_GDR_LEVEL": "PHB"}
    may = {
        bus: gdr_eligible(routes, gpu, nic, env, cc=70)
        for bus, gpu in zip(sockets, unit.of_kind(GPU).tolist(), strict=True)
    }
    assert {bus for bus, ok in may.items() if ok} == enabled
    assert {bus for bus, ok in may.items() if not ok} == disabled


def test_edges_of_a_mesh_through_switches_are_peer_to_peer() -> None:
    """Eight A100 of a DGX: every edge inside a node is P2P/IPC."""
    edges = re.findall(
        r"Channel \d+ : (\d+)\[\w+\] -> (\d+)\[\w+\] via P2P/IPC",
        log("03-a100-4node-2chan-2.10.3.txt"),
    )
    assert edges
    unit = preset_machine("dgx-a100").unit
    routes, gpus = routes_of(unit), unit.of_kind(GPU).tolist()
    level = p2p_level({}, "AMD", 8)
    for a, b in edges:
        source, target = gpus[int(a) % 8], gpus[int(b) % 8]
        assert p2p_eligible(routes, source, target, level)
        assert nccl_path(routes, source, target) is PathType.NVL


def test_edges_of_eight_4090_go_through_host_memory() -> None:
    assert "via SHM/direct/direct" in log("05-4090-8-2.26.5-shm.txt")
    unit = preset_machine("pcie-8x-rtx4090").unit
    routes, gpus = routes_of(unit), unit.of_kind(GPU).tolist()
    assert not p2p_eligible(routes, gpus[0], gpus[1], p2p_level({}, "AMD", 8))


def test_nvlink_of_hopper_is_credited_with_370_GBps() -> None:
    assert 18 * nvlink_planning(90) == pytest.approx(370.8 * GB)
