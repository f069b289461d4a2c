"""A topology XML, a matrix and a query of one machine, each for what it knows best."""

from __future__ import annotations

import pytest

from inventory.matrices import both_ways, codes, evidence_of, machine_from, said, with_cells
from support import shared
from wirespeed.errors import InputError
from wirespeed.evidence import Evidence
from wirespeed.inventory.combined import combine
from wirespeed.inventory.matrix_text import matrix_text
from wirespeed.readers import read_text
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machines import preset_machine
from wirespeed.units import gbps
from wirespeed.views.export.nccl_xml import nccl_xml

H100 = preset_machine("dgx-h100").unit
TREE = evidence_of(nccl_xml(H100), "topology.xml")
MATRIX = matrix_text(H100, underline=False)
QUERY = "index, name\n" + "".join(f"{i}, {{}}\n" for i in range(8))


def test_a_whole_tree_is_the_machine():
    machine = machine_from([TREE])
    assert (machine.gpu, machine.basis.gpu_model) == ("h100-sxm", "read")
    assert machine.platform == "dgx-h100"
    assert len(machine.unit.of_kind(ComponentKind.NVSWITCH)) > 0


def test_a_tree_of_which_only_the_name_is_left_is_refused_and_hides_no_matrix():
    nothing = Evidence("nccl-xml", "cut.xml", ())
    with pytest.raises(InputError, match="which devices are GPUs"):
        combine([nothing], gpu=None)
    assert codes(machine_from([nothing, evidence_of(MATRIX, "m.txt")])) == codes(
        machine_from([evidence_of(MATRIX, "m.txt")])
    )


def test_a_matrix_that_agrees_adds_nothing():
    machine = machine_from([TREE, evidence_of(MATRIX, "m.txt")])
    assert "contradiction" not in codes(machine)
    assert machine.name == "topology.xml, m.txt"


def test_the_order_of_files_does_not_matter():
    machine = machine_from([evidence_of(MATRIX, "m.txt"), TREE])
    assert len(machine.unit.of_kind(ComponentKind.NVSWITCH)) > 0
    assert machine.basis.gpu_model == "read"


def test_a_matrix_that_shows_fewer_links_is_a_contradiction_and_an_oddity():
    cells = {}
    for other in range(8):
        if other != 2:
            cells |= both_ways("GPU2", f"GPU{other}", "NODE" if other < 4 else "SYS")
    matrix = evidence_of(with_cells(MATRIX, cells), "m.txt")
    machine = machine_from([TREE, matrix])
    assert "gpu0 to gpu2 is NODE in m.txt:2, NV18 in the tree" in said(machine, "contradiction")
    assert {notice.code for notice in machine.oddities} == {"nvlink-lost"}


def test_a_query_names_the_gpu_before_a_pci_id_does():
    same = evidence_of(QUERY.format(*["NVIDIA H100 80GB HBM3"] * 8), "q.csv")
    assert machine_from([TREE, same]).gpu == "h100-sxm"
    other = evidence_of(QUERY.format(*["NVIDIA H200"] * 8), "q.csv")
    assert machine_from([TREE, other]).gpu == "h200-sxm"


def test_a_query_and_a_pci_id_that_name_two_gpus_are_a_contradiction():
    other = evidence_of(QUERY.format(*["NVIDIA H200"] * 8), "q.csv")
    text = said(machine_from([TREE, other]), "contradiction")
    assert "NVIDIA H200 in q.csv:2, but H100 SXM5 80GB by its PCI id in topology.xml:" in text
    same = evidence_of(QUERY.format(*["NVIDIA H100 80GB HBM3"] * 8), "q.csv")
    assert "contradiction" not in codes(machine_from([TREE, same]))


def test_a_query_beside_a_tree_says_on_how_many_lanes_a_gpu_runs():
    head = "index, name, pcie.link.width.current, pcie.link.width.max"
    rows = [f"{i}, NVIDIA H100 80GB HBM3, {8 if i == 3 else 16}, 16" for i in range(8)]
    query = evidence_of("\n".join([head, *rows, ""]), "q.csv")
    machine = machine_from([TREE, query])
    assert {notice.code: notice.where for notice in machine.oddities} == {"pcie-narrow": "gpu3"}
    unit = machine.unit
    slots = (unit.link_kind == LinkKind.PCIE) & (unit.kind[unit.source] == ComponentKind.GPU)
    assert unit.lanes[slots].tolist() == [16, 16, 16, 8, 16, 16, 16, 16]
    assert unit.bandwidth[slots][3] == unit.bandwidth[slots][0] / 2


def test_the_option_stands_above_all_files():
    machine = machine_from([TREE], gpu="h200")
    assert (machine.gpu, machine.basis.gpu_model) == ("h200-sxm", "option")


def test_a_second_tree_is_left_out_and_named():
    second = evidence_of(nccl_xml(H100), "other.xml")
    assert "other.xml is left out" in said(machine_from([TREE, second]), "file-left-out")


def test_a_rack_stands_for_all_its_trays():
    rack = preset_machine("gb200-nvl72").unit
    found = combine([evidence_of(nccl_xml(rack), "rack.xml")])
    assert found.nodes == found.machine.unit.nodes == 18


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "gpu", "preset"),
    [
        ("02-azure-ndv4-a100", "a100-sxm-40gb", "azure-nda100-v4"),
        ("07-aws-p4de", "a100-sxm-80gb", "aws-p4de"),
        ("10-oci-flattened-gpu4", "a100-sxm-40gb", "azure-nda100-v4"),
    ],
)
def test_a_skeleton_is_completed_from_a_preset(name, gpu, preset):
    data = shared("samples", "nccl-topo-xml", f"{name}.xml").read_bytes()
    machine = machine_from([read_text(data, file=name)])
    assert (machine.gpu, machine.platform) == (gpu, preset)
    assert "taken from preset" in said(machine, "skeleton")
    assert len(machine.unit.of_kind(ComponentKind.NVSWITCH)) == 6


@pytest.mark.corpus
@pytest.mark.parametrize(
    ("name", "rate", "network"),
    [
        ("02-azure-ndv4-a100", 200, "infiniband"),
        ("07-aws-p4de", 100, "efa"),
        ("10-oci-flattened-gpu4", 200, "ethernet"),
    ],
)
def test_nics_of_a_skeleton_have_the_presets_rate_and_the_files_cables(name, rate, network):
    data = shared("samples", "nccl-topo-xml", f"{name}.xml").read_bytes()
    machine = machine_from([read_text(data, file=name)])
    nics = machine.unit.of_kind(ComponentKind.NIC)
    assert set(machine.unit.rate[nics]) == {gbps(rate)}
    assert machine.network == network


HYPER_V = '<system version="1">' + "".join(
    f'<cpu numaid="{numa}" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">'
    + "".join(f'<pci busid="000{gpu}:00:00.0" class="{{0}}"/>' for gpu in range(first, first + 4))
    + ('<pci busid="0101:00:00.0" class="0x020700"/>' if numa == 0 else "")
    + "</cpu>"
    for numa, first in ((0, 1), (1, 5))
)


def test_gpus_without_displays_in_domains_of_their_own_are_azures():
    machine = machine_from([evidence_of(HYPER_V.format("0x030200") + "</system>", "t.xml")])
    assert (machine.gpu, machine.platform) == ("v100-sxm2-32gb", "azure-ndv2")
    assert (machine.unit.link_kind == LinkKind.NVLINK).sum() == 2 * 16


def test_places_without_classes_are_no_machine_and_said_so():
    text = '<system version="1"><cpu numaid="0"><pci busid="0000:00:16.0"/></cpu></system>'
    with pytest.raises(InputError, match="does not say which devices are GPUs"):
        machine_from([evidence_of(text, "t.xml")])


@pytest.mark.corpus
def test_a_gpu_that_the_catalog_lacks_is_stood_in_for_by_its_kind():
    data = shared("samples", "nccl-topo-xml", "14-rccl-mi300a-slingshot.xml").read_bytes()
    machine = machine_from([read_text(data, file="mi300a")])
    assert (machine.gpu, machine.library, machine.network) == ("mi300x", "rccl", "slingshot")
    assert "mi300x stands in" in said(machine, "gpu-stands-in")
