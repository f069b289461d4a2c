"""A matrix names no GPU; the run beside it does."""

from __future__ import annotations

from inventory.matrices import codes, evidence_of
from wirespeed.inventory.combined import combine
from wirespeed.inventory.matrix_text import matrix_text
from wirespeed.readers import read_text
from wirespeed.topology.machines import preset_machine

MATRIX = evidence_of(matrix_text(preset_machine("dgx-h100").unit), "topo.txt")
QUERY = evidence_of("index, name\n0, NVIDIA H100 80GB HBM3\n", "gpus.csv")


def run(*models: str):
    lines = [
        f"#  Rank {k:2d} Group  0 Pid {9 + k} on a device {k:2d} [0x{27 + k:02x}] {model}\n"
        for k, model in enumerate(models)
    ]
    rows = "  1048576 262144 float sum -1 85.3 12.29 12.29 0 85.1 12.32 12.32 0\n"
    return read_text("# nThread 1 nGpus 8\n" + "".join(lines) + rows, file="run.txt")


def test_the_model_that_all_ranks_list_is_the_machine_s():
    machine = combine([MATRIX, run("NVIDIA H200", "NVIDIA H200")]).machine
    assert (machine.gpu, machine.basis.gpu_model) == ("h200-sxm", "read")
    assert "gpu-from-preset" not in codes(machine)


def test_ranks_that_differ_or_name_no_known_model_tell_nothing():
    for models in (("NVIDIA H200", "NVIDIA H100 80GB HBM3"), ("Engineering Sample",)):
        assert combine([MATRIX, run(*models)]).machine.basis.gpu_model == "preset"


def test_what_a_query_says_goes_before():
    assert combine([MATRIX, run("NVIDIA H200"), QUERY]).machine.gpu == "h100-sxm"
