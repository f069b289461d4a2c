"""What collected matrices are taken for, each held against what a person concluded from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest

from inventory.matrices import machine_from, oddities, said
from support import shared
from wirespeed.errors import InputError
from wirespeed.inventory.graph_words import graph_words
from wirespeed.inventory.machine import Read, read_machine
from wirespeed.readers import read_text
from wirespeed.topology.kinds import ComponentKind

pytestmark = pytest.mark.corpus


@dataclass(frozen=True)
class Expected:
    """`odd`: code -> where. `hints`: codes among the warnings. `others`: NICs on no rail."""

    gpu: str
    preset: str
    odd: dict[str, str] = field(default_factory=dict)
    hints: frozenset[str] = frozenset()
    others: tuple[int, ...] = ()
    contradicted: bool = False


def hints(*codes: str) -> frozenset[str]:
    return frozenset(codes)


V100 = ("v100-sxm2-32gb", "dgx-1v")
PLAIN = ("rtx-4090", "pcie-6x-rtx4090")
SAMPLES = {
    "01-dgx1v-no-numa": Expected(*V100, hints=hints("nic-across-numa")),
    "03-v100-header-tabs-body-spaces": Expected(*V100, hints=hints("nic-across-numa")),
    "05-2gpu-phb": Expected(*PLAIN, hints=hints("p2p-unknown", "no-nics")),
    "06-a100-narrow": Expected("a100-sxm-80gb", "dgx-a100", hints=hints("no-nics")),
    "08-soc-no-affinity": Expected(
        "a100-pcie-80gb", "pcie-8x-a100-dual-root", hints=hints("near-gpus", "gpu-from-preset")
    ),
    "09-only-affinity-columns": Expected(
        "a100-sxm-80gb", "dgx-a100", hints=hints("no-matrix", "links-from-preset")
    ),
    "11-k80-soc-header-dedented": Expected(*PLAIN, hints=hints("affinity-limited")),
    "13-dgx1p-glued-header": Expected("p100-sxm2", "dgx-1p", hints=hints("nic-shared")),
    "14-7gpu-odd": Expected(
        "a100-pcie-80gb", "pcie-8x-a100-single-root", hints=hints("through-host-bridge")
    ),
    "15-mlx4-gdr-4gpu": Expected(*PLAIN, hints=hints("nic-across-numa")),
    "16-b200-one-gpu-lost-nvlink": Expected(
        "h100-sxm",
        "dgx-h100",
        odd={"nvlink-lost": "gpu2"},
        hints=hints("row-cut", "header-missing", "nic-not-compute"),
        others=(8, 9, 10, 11),
    ),
    "18-gb200-gpu-numa-id": Expected(
        "gb200", "gb200-nvl72", hints=hints("sys-normal", "rack-assumed"), others=(4, 5)
    ),
    "19-gb200-eks": Expected("gb200", "gb200-nvl72", hints=hints("sys-normal", "rack-assumed")),
    "22-ansi-underline-6gpu": Expected(
        "rtx-4090", "pcie-8x-rtx4090", hints=hints("near-gpus", "p2p-unknown")
    ),
    "23-ansi-underline-2gpu": Expected("a100-pcie-80gb", "pcie-8x-a100-nvlink"),
    "25-mlperf-split-header-words": Expected(*PLAIN, hints=hints("nps")),
    "26-v100-tabs-numaid": Expected("v100-sxm2-32gb", "aws-p3dn", hints=hints("nic-across-numa")),
    "27-2gpu-numa-na-na": Expected(*PLAIN, hints=hints("p2p-unknown")),
    "29-1gpu-5bond": Expected(
        "a100-pcie-80gb", "pcie-8x-a100-dual-root", hints=hints("one-gpu"), others=(0, 1, 2, 4)
    ),
    "30-5x4090-mixed": Expected(*PLAIN, odd={"gpu-isolated": "gpu0"}, hints=hints("near-gpus")),
    "31-2x5090-phb-plus-p2p": Expected(*PLAIN, hints=hints("p2p-refused")),
    "33-a100-4nic-npS4": Expected(
        "a100-sxm-80gb",
        "dgx-a100",
        hints=hints("nic-shared", "nic-not-compute", "numa-assumed"),
        others=(3, 4),
    ),
    "34-a800-9nic": Expected("a800-sxm-80gb", "hgx-a800", others=(0,)),
    "38-a100-4gpu-2nic": Expected("a100-sxm-40gb", "hgx-a100-4", hints=hints("nic-across-numa")),
    "39-a100pcie-nvlink-pairs-8": Expected(
        "a100-pcie-80gb", "pcie-8x-a100-nvlink", hints=hints("linked-in-groups")
    ),
    "40-nvlink-nv3-partial-contact": Expected(
        "a40", "pcie-8x-a40-nvlink", odd={"nvlink-short": "gpu0-gpu1"}
    ),
    "42-h20-nv8-nic-storage": Expected(
        "a800-sxm-80gb",
        "hgx-a800",
        hints=hints("nic-shared", "sys-inside-numa"),
        others=(1, 2),
        contradicted=True,
    ),
}


@cache
def machine(name: str) -> Read:
    path = shared("samples", "nvidia-smi-topo-m", f"{name}.txt")
    return read_machine([read_text(path.read_bytes(), file=path.name)])


def nics_near(name: str, gpu: str, word: str) -> list[int]:
    """NICs that the graph shows at a word from a GPU."""
    words = graph_words(machine(name).machine.unit)
    found = [b for (a, b), shown in words.items() if a == gpu and b[:3] == "nic" and shown == word]
    return sorted(int(nic[3:]) for nic in found)


def test_every_sample_is_in_the_table():
    folder = shared("samples", "nvidia-smi-topo-m")
    # 37 is the end of a matrix: no row of an accelerator is left.
    assert {path.stem for path in folder.glob("*.txt")} == {*SAMPLES, "37-ppu-smi-dialect"}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_taken_for_the_machine_that_a_person_sees_in_it(name):
    found, wanted = machine(name).machine, SAMPLES[name]
    assert (found.gpu, found.basis.preset) == (wanted.gpu, wanted.preset)
    assert oddities(found) == wanted.odd
    assert wanted.hints <= {notice.code for notice in found.warnings}
    nics = found.unit.of_kind(ComponentKind.NIC)
    nics = nics[found.unit.node[nics] == 0]
    assert tuple(found.unit.index[nics[found.unit.rail[nics] < 0]]) == wanted.others


@pytest.mark.parametrize("name", SAMPLES)
def test_the_graph_of_a_sample_says_what_its_matrix_says(name):
    facts, words = machine(name).completed.facts, graph_words(machine(name).machine.unit)
    printed = {pair: word.name for pair, word in facts.distance.items()}
    printed |= {pair: f"NV{count}" for pair, count in facts.links.items()}
    wrong = {pair: (word, words[pair]) for pair, word in printed.items() if words[pair] != word}
    coherent = machine(name).completed.design.host_link.kind == "c2c"
    if SAMPLES[name].contradicted or coherent:
        # Of devices on one NUMA node, which share its CPU here.
        assert {pair for pair in wrong.values()} <= {("SYS", "NODE")}
    else:
        assert not wrong


def test_the_end_of_a_matrix_without_accelerators_is_no_machine():
    with pytest.raises(InputError, match="no GPU is named"):
        machine("37-ppu-smi-dialect")


def test_cut_rows_get_the_nics_that_are_left():
    assert [nics_near("34-a800-9nic", f"gpu{g}", "PIX") for g in range(8)] == [
        [2], [4], [6], [8], [1], [3], [5], [7]
    ]  # fmt: skip
    assert [nics_near("16-b200-one-gpu-lost-nvlink", f"gpu{g}", "PXB") for g in (6, 7)] == [
        [6],
        [7],
    ]


def test_crossed_nics_go_to_their_gpus():
    crossed = [nics_near("33-a100-4nic-npS4", f"gpu{g}", "PXB") for g in range(8)]
    assert crossed == [[1], [1], [0], [0], [5], [5], [2], [2]]
    by_pair = [nics_near("13-dgx1p-glued-header", f"gpu{g}", "PIX") for g in range(8)]
    labels = machine("13-dgx1p-glued-header").machine.unit.labels
    names = {
        int(machine("13-dgx1p-glued-header").machine.unit.index[c]): label
        for c, label in labels.items()
    }
    assert [names[nics[0]] for nics in by_pair[::2]] == ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]


def test_the_fault_of_sample_16_says_what_to_check():
    text = said(machine("16-b200-one-gpu-lost-nvlink").machine, "nvlink-lost")
    for part in ("nvlink -s -i 2", "fabric manager", "nvidia-smi -q"):
        assert part in text


def test_gpus_lie_on_the_numa_nodes_that_are_printed():
    for name, numa in {
        "09-only-affinity-columns": [3, 3, 1, 1, 7, 7, 5, 5],
        "18-gb200-gpu-numa-id": [0, 0, 1],
        "25-mlperf-split-header-words": [3, 2, 1, 0],
        "38-a100-4gpu-2nic": [1, 0, 3, 2],
    }.items():
        unit = machine(name).machine.unit
        gpus = unit.of_kind(ComponentKind.GPU)
        assert unit.numa[gpus][: len(numa)].tolist() == numa


def test_peer_to_peer_is_refused_where_a_second_matrix_says_so():
    assert machine("31-2x5090-phb-plus-p2p").machine.peer_to_peer is False
    assert "SHM" in said(machine("31-2x5090-phb-plus-p2p").machine, "p2p-refused")


def test_the_best_nic_of_a_lone_gpu_is_named():
    assert "mlx5_bond_3" in said(machine("29-1gpu-5bond").machine, "one-gpu")


def test_bonded_nics_speak_ethernet():
    assert machine("29-1gpu-5bond").machine.network == "ethernet"
    assert machine("13-dgx1p-glued-header").machine.network == "infiniband"


def test_cube_meshes_have_their_links():
    for name, total in {"01-dgx1v-no-numa": 6, "13-dgx1p-glued-header": 4}.items():
        facts = machine(name).completed.facts
        assert {facts.links_of(gpu) for gpu in facts.gpus} == {total}
        unit = machine(name).machine.unit
        assert np.all(unit.kind != ComponentKind.NVSWITCH)


@pytest.mark.parametrize(
    ("name", "gpus", "allowed"), [("01-p2p-ok-8", 8, True), ("02-p2p-cns-2", 2, False)]
)
def test_a_status_matrix_alone_says_what_gpus_may_do_and_nothing_of_links(name, gpus, allowed):
    text = shared("samples", "nvidia-smi-topo-p2p", f"{name}.txt").read_bytes()
    found = machine_from([read_text(text, file=name)])
    assert len(found.unit.of_kind(ComponentKind.GPU)) == gpus
    assert found.peer_to_peer is allowed
    assert found.oddities == ()
