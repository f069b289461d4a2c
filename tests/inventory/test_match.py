"""A matrix names no GPU: which preset it is taken for, and what else it may be."""

from __future__ import annotations

import pytest

from inventory.matrices import codes, machine_of_matrix, read_matrix, said, square
from wirespeed.errors import UnknownName, UsageError
from wirespeed.inventory.graph_words import graph_words
from wirespeed.inventory.matrix_text import matrix_text
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.machines import preset_machine

UNIFORM = [
    (8, "NV12", "dgx-a100"),
    (8, "NV18", "dgx-h100"),
    (8, "NV8", "hgx-a800"),
    (16, "NV6", "dgx-2"),
    (4, "NV4", "hgx-a100-4"),
    (4, "NV6", "hgx-h100-4"),
    (4, "NV18", "gb200-nvl72"),
    (2, "NV4", "pcie-8x-a40-nvlink"),
]


@pytest.mark.parametrize(("gpus", "word", "name"), UNIFORM)
def test_links_between_all_pairs_tell_the_board(gpus, word, name):
    assert machine_of_matrix(square(gpus, word)).basis.preset == name


@pytest.mark.parametrize("name", ["dgx-1p", "dgx-1v", "dgx-2", "dgx-a100", "dgx-h100"])
def test_the_first_board_of_its_kind_is_told_without_help(name):
    machine = machine_of_matrix(matrix_text(preset_machine(name).unit))
    assert (machine.basis.preset, machine.basis.gpu_model) == (name, "preset")
    assert machine.gpu == preset_machine(name).gpu


def test_nv18_in_eight_gpus_is_an_h100_and_may_be_others():
    machine = machine_of_matrix(matrix_text(preset_machine("dgx-h100").unit))
    assert machine.basis.alternatives[:2] == ("dgx-h200", "dgx-b200")
    assert "--gpu settles it" in said(machine, "gpu-from-preset")


def test_the_option_settles_the_gpu():
    text = matrix_text(preset_machine("dgx-h100").unit)
    machine = machine_of_matrix(text, gpu="NVIDIA B200")
    assert (machine.gpu, machine.basis.gpu_model) == ("b200-sxm", "option")
    assert machine.basis.alternatives == ()
    assert "gpu-from-preset" not in codes(machine)


def test_a_gpu_named_in_the_paste_counts_as_read():
    listing = "".join(f"GPU {i}: NVIDIA H200 (UUID: GPU-{i})\n" for i in range(8))
    text = f"{listing}\n{matrix_text(preset_machine('dgx-h100').unit)}"
    machine = machine_of_matrix(text)
    assert (machine.gpu, machine.basis.gpu_model) == ("h200-sxm", "read")


def test_an_option_with_too_few_links_is_refused_with_both_numbers():
    with pytest.raises(UsageError, match="NV18") as error:
        machine_of_matrix(square(8, "NV18"), gpu="a100-sxm-80gb")
    assert "12 NVLinks" in str(error.value)


def test_an_unknown_option_offers_near_names():
    with pytest.raises(UnknownName, match="h100"):
        machine_of_matrix(square(8, "NV18"), gpu="h1000")


def test_a_gpu_that_no_preset_has_is_put_on_the_nearest_host():
    machine = machine_of_matrix(square(2, "PHB"), gpu="rtx-4070-ti-super")
    assert machine.gpu == "rtx-4070-ti-super"
    assert len(machine.unit.of_kind(ComponentKind.GPU)) == 2


def test_links_that_no_preset_has_are_built_as_they_stand():
    read = read_matrix(square(3, "NV9"))
    assert not read.completed.match.same_links
    words = graph_words(read.machine.unit)
    assert words["gpu0", "gpu2"] == "NV9"


def test_without_links_the_gpu_is_assumed_and_that_is_said():
    machine = machine_of_matrix(square(8, "NODE"))
    assert machine.basis.preset.startswith("pcie-8x")
    assert "is assumed, since no NVLink tells it apart" in said(machine, "gpu-from-preset")


def test_two_of_eight_gpus_are_told_to_be_a_part():
    machine = machine_of_matrix(square(6, "NV18"))
    assert machine.basis.preset == "dgx-h100"
    assert said(machine, "part-of-preset").startswith("6 of the 8 GPUs")


def test_a_tray_stands_for_its_rack():
    machine = machine_of_matrix(square(4, "NV18", numa="0011"))
    assert machine.unit.nodes == 18
    assert "one tray is visible" in said(machine, "rack-assumed")
