"""What a person should look at on a machine, told by its matrix."""

from __future__ import annotations

import numpy as np
import pytest

from inventory.matrices import (
    both_ways,
    codes,
    evidence_of,
    machine_from,
    machine_of_matrix,
    oddities,
    read_matrix,
    said,
    square,
    with_cells,
)
from wirespeed.inventory.graph_words import graph_words
from wirespeed.inventory.lost_links import without_links
from wirespeed.inventory.matrix_text import matrix_text
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machines import preset_machine


def h100(lost: dict[int, int]) -> str:
    """The matrix of a DGX H100 of which some GPUs have lost so many NVLinks."""
    unit = preset_machine("dgx-h100").unit
    gpus = unit.of_kind(ComponentKind.GPU)
    return matrix_text(without_links(unit, {int(gpus[g]): n for g, n in lost.items()}))


def test_a_gpu_that_has_lost_all_links_is_named_with_what_to_check():
    machine = machine_of_matrix(h100({2: 18}))
    assert oddities(machine) == {"nvlink-lost": "gpu2"}
    assert "nvidia-smi nvlink -s -i 2" in said(machine, "nvlink-lost")
    assert graph_words(machine.unit)["gpu2", "gpu3"] == "NODE"


def test_a_gpu_with_fewer_links_than_its_peers_is_named_once():
    machine = machine_of_matrix(h100({5: 4}))
    assert oddities(machine) == {"nvlink-short": "gpu5"}
    assert "NV14" in said(machine, "nvlink-short")
    unit = machine.unit
    gpu5 = unit.of_kind(ComponentKind.GPU)[5]
    links = (unit.source == gpu5) & (unit.link_kind == LinkKind.NVLINK)
    assert unit.lanes[links].sum() == 14
    assert unit.bandwidth[links].sum() == pytest.approx(14 * 25e9)


def test_the_matrix_of_a_degraded_machine_comes_back():
    text = h100({1: 2, 6: 18})
    machine = machine_of_matrix(text)
    assert matrix_text(machine.unit) == text


def test_all_links_down_on_a_named_gpu_is_odd_on_every_gpu():
    machine = machine_of_matrix(square(8, "NODE"), gpu="h100-sxm")
    assert not np.any(machine.unit.link_kind == LinkKind.NVLINK)
    assert "nvlink-lost" in oddities(machine)


def test_one_link_of_a_bridge_down():
    machine = machine_of_matrix(square(2, "NV3"))
    assert oddities(machine) == {"nvlink-short": "gpu0-gpu1"}
    assert "reseat" in said(machine, "nvlink-short")


def test_one_pair_of_a_mesh_with_a_link_down():
    text = with_cells(square(4, "NV4"), both_ways("GPU1", "GPU3", "NV3"))
    machine = machine_of_matrix(text)
    assert oddities(machine) == {"nvlink-short": "gpu1-gpu3"}


def test_two_directions_that_differ():
    machine = machine_of_matrix(with_cells(square(4, "NV4"), {("GPU0", "GPU2"): "NV2"}))
    assert oddities(machine)["asymmetric"] == "gpu0-gpu2"
    assert graph_words(machine.unit)["gpu0", "gpu2"] == "NV2"


def test_a_gpu_alone_on_the_other_socket():
    cells = {}
    for other in ("GPU1", "GPU2", "GPU3"):
        cells |= both_ways("GPU0", other, "SYS")
    machine = machine_of_matrix(with_cells(square(4, "PHB", numa="1000"), cells))
    assert oddities(machine) == {"gpu-isolated": "gpu0"}
    assert "tensor-parallel" in said(machine, "gpu-isolated")


def test_both_nics_on_one_socket_of_two():
    words = "NODE NODE\nNODE NODE\nSYS SYS\nSYS SYS"
    sys_between = {}
    for a, b in (("GPU0", "GPU2"), ("GPU0", "GPU3"), ("GPU1", "GPU2"), ("GPU1", "GPU3")):
        sys_between |= both_ways(a, b, "SYS")
    text = square(4, "NODE", numa="0011", nics=2, nic_words=words)
    text = with_cells(text, sys_between | both_ways("NIC0", "NIC1", "NODE"))
    machine = machine_of_matrix(text)
    assert oddities(machine) == {"nic-far": "gpu2, gpu3"}


def test_one_nic_for_two_sockets_is_no_fault():
    words = "NODE\nNODE\nSYS\nSYS"
    machine = machine_of_matrix(square(4, "NV4", numa="0011", nics=1, nic_words=words))
    assert not machine.oddities
    assert "gpu2, gpu3 reach every NIC across NUMA nodes" in said(machine, "nic-across-numa")


def test_a_nic_beside_no_gpu_while_gpus_share_another():
    words = "PHB NODE\nPHB NODE"
    text = square(2, "PHB", numa="00", nics=2, nic_words=words)
    machine = machine_of_matrix(with_cells(text, both_ways("NIC0", "NIC1", "NODE")))
    assert oddities(machine) == {"nic-idle": "nic1"}


QUERY = """index, name, pcie.link.width.current, pcie.link.width.max
0, NVIDIA L40S, 16, 16
1, NVIDIA L40S, 8, 16
"""


def test_a_gpu_on_half_its_lanes():
    machine = machine_from([evidence_of(square(2, "NODE")), evidence_of(QUERY, "q.csv")])
    assert oddities(machine) == {"pcie-narrow": "gpu1"}
    assert "8 of 16" in said(machine, "pcie-narrow")
    unit = machine.unit
    slots = (unit.link_kind == LinkKind.PCIE) & (unit.kind[unit.source] == ComponentKind.GPU)
    assert unit.lanes[slots].tolist() == [16, 8]
    assert unit.bandwidth[slots][1] == unit.bandwidth[slots][0] / 2


P2P = "\tGPU0\tGPU1\tGPU2\nGPU0\tX\tOK\t{0}\nGPU1\tOK\tX\t{0}\nGPU2\t{0}\t{0}\tX\n"


def test_peer_to_peer_refused_to_some_pairs():
    text = "$ nvidia-smi topo -p2p r\n" + P2P.format("CNS")
    machine = machine_from([evidence_of(square(3, "NODE")), evidence_of(text, "p2p")])
    assert oddities(machine)["p2p-differs"] == "gpu0>gpu2"
    assert machine.peer_to_peer is False


def test_peer_to_peer_that_works_is_taken_over():
    text = "$ nvidia-smi topo -p2p r\n" + P2P.format("OK")
    machine = machine_from([evidence_of(square(3, "NODE")), evidence_of(text, "p2p")])
    assert machine.peer_to_peer is True
    assert "p2p-unknown" not in codes(machine)


def test_a_matrix_without_nvlink_does_not_promise_peer_to_peer():
    machine = machine_of_matrix(square(2, "PHB"))
    assert machine.peer_to_peer is None
    assert "topo -p2p" in said(machine, "p2p-unknown")


def test_nics_far_from_all_gpus_are_left_out_of_the_rails():
    words = "PXB SYS\nPXB SYS"
    read = read_matrix(square(2, "NV12", nics=2, nic_words=words))
    assert read.completed.roles.others(read.completed.facts) == ("nic1",)
    unit = read.machine.unit
    assert unit.rail[unit.of_kind(ComponentKind.NIC)].tolist() == [0, -1]
    assert "nic1 is taken for storage" in said(read.machine, "nic-not-compute")
