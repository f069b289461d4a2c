"""SOURCE: a preset, a file, a directory, a cluster TOML, standard input, this host."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from inventory.matrices import codes, evidence_of, machine_from, said, square
from wirespeed.errors import InputError, Problems, UnknownName, UsageError
from wirespeed.inventory import resolve
from wirespeed.inventory.matrix_text import matrix_text
from wirespeed.probing import gather
from wirespeed.topology.kinds import ComponentKind
from wirespeed.topology.machines import preset_machine

H100 = matrix_text(preset_machine("dgx-h100").unit)
QUERY = "index, name, pci.bus_id\n" + "".join(
    f"{i}, NVIDIA H200, 00000000:{0x19 + i:02X}:00.0\n" for i in range(8)
)
CLUSTER = """
nodes = 4
changes = ["node1/nic3=down"]
[node]
preset = "dgx-h100"
[fabric]
kind = "fat-tree"
[software]
library = "nccl@2.27"
env = { NCCL_ALGO = "Ring" }
"""


def test_a_preset_is_itself():
    resolved = resolve("dgx-h100")
    assert resolved.machine.basis.preset == "dgx-h100"
    assert (resolved.nodes, resolved.fabric, resolved.evidence) == (None, None, ())


def test_the_option_changes_the_gpu_of_a_preset():
    machine = resolve("dgx-h100", gpu="h200").machine
    assert (machine.gpu, machine.basis.gpu_model) == ("h200-sxm", "option")


def test_a_file_is_one_node(tmp_path):
    (tmp_path / "node.txt").write_text(H100)
    resolved = resolve(str(tmp_path / "node.txt"))
    assert (resolved.machine.name, resolved.nodes) == ("node.txt", 1)
    assert resolved.machine.platform == "dgx-h100"
    assert resolved.evidence[0].file == "node.txt"


def test_a_dash_is_standard_input():
    assert resolve("-", stdin=lambda: H100).machine.name == "stdin"
    assert resolve("-", stdin=lambda: CLUSTER).nodes == 4


def test_nothing_piped_in_is_said():
    with pytest.raises(InputError, match="nothing to read"):
        resolve("-", stdin=lambda: b"")


def test_the_files_of_a_directory_are_one_machine(tmp_path):
    (tmp_path / "topo.txt").write_text(H100)
    (tmp_path / "gpus.csv").write_text(QUERY)
    (tmp_path / "notes.txt").write_text("rebooted on Monday\n")
    resolved = resolve(str(tmp_path))
    machine = resolved.machine
    assert (machine.gpu, machine.basis.gpu_model) == ("h200-sxm", "read")
    assert "0000:19:00.0" in machine.unit.labels.values()
    assert "notes.txt is left out" in said(machine, "file-left-out")
    assert len(resolved.evidence) == 2


def test_an_empty_directory_is_refused(tmp_path):
    with pytest.raises(InputError, match="no file here can be read"):
        resolve(str(tmp_path))


def test_a_cluster_toml_brings_nodes_fabric_software_and_changes(tmp_path):
    (tmp_path / "cluster.toml").write_text(CLUSTER)
    resolved = resolve(str(tmp_path / "cluster.toml"))
    assert resolved.nodes == 4
    assert resolved.fabric is not None
    assert resolved.fabric[0] == "fat-tree"
    assert resolved.software is not None
    assert resolved.software.env == {"NCCL_ALGO": "Ring"}
    assert [change.subject for change in resolved.changes] == ["node1/nic3"]
    assert resolved.machine.platform == "dgx-h100"


def test_a_fabric_may_stand_in_a_file_of_its_own(tmp_path):
    (tmp_path / "pods.toml").write_text('kind = "leaf-spine"\n')
    text = '[node]\npreset = "dgx-h100"\n'
    (tmp_path / "cluster.toml").write_text(f'fabric = "pods.toml"\n{text}')
    fabric = resolve(str(tmp_path / "cluster.toml")).fabric
    assert fabric is not None
    assert fabric[0] == "pods"
    (tmp_path / "cluster.toml").write_text(f'fabric = "gone.toml"\n{text}')
    with pytest.raises(InputError, match=r"gone\.toml"):
        resolve(str(tmp_path / "cluster.toml"))


def test_all_errors_of_a_toml_come_at_once(tmp_path):
    (tmp_path / "bad.toml").write_text('nodes = 0\n[node]\npreset = "dgx-h10"\n')
    with pytest.raises(Problems, match="2 problems"):
        resolve(str(tmp_path / "bad.toml"))


def test_a_name_that_is_nothing_offers_near_presets():
    with pytest.raises(UnknownName, match="dgx-h100"):
        resolve("dgx-h10")
    with pytest.raises(InputError, match=r"no file dgx-h100\.txt"):
        resolve("dgx-h100.txt")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000])
def test_what_is_no_path_is_refused_in_words(name):
    with pytest.raises((InputError, UnknownName)):
        resolve(name)


def test_a_named_pipe_is_read_like_a_file(tmp_path):
    pipe = tmp_path / "matrix"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(H100,))
    writer.start()
    assert resolve(str(pipe)).machine.platform == "dgx-h100"
    writer.join()


def test_a_device_is_no_file():
    with pytest.raises(InputError, match="neither a file nor a directory"):
        resolve("/dev/null")


def test_a_huge_file_is_refused_unread(tmp_path):
    with (tmp_path / "core.txt").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(InputError, match="too much to read"):
        resolve(str(tmp_path / "core.txt"))


def test_a_binary_file_is_refused(tmp_path):
    (tmp_path / "core").write_bytes(bytes(range(256)) * 8)
    with pytest.raises(InputError, match="binary"):
        resolve(str(tmp_path / "core"))


def test_files_that_contradict_each_other_are_named_with_their_lines():
    one = "index, name\n0, NVIDIA H100 80GB HBM3\n"
    other = "GPU 0: NVIDIA H200 (UUID: GPU-0)\n"
    evidence = [evidence_of(one, "a.csv"), evidence_of(other, "b.txt")]
    machine = machine_from([evidence_of(square(1, "X"), "m.txt"), *evidence])
    assert machine.gpu == "h100-sxm"
    text = said(machine, "contradiction")
    assert "a.csv:2" in text
    assert "b.txt:1" in text


def test_two_spellings_of_one_gpu_are_no_contradiction():
    one = "index, name\n0, NVIDIA A100-SXM4-80GB\n"
    other = "GPU 0: A100 SXM4 80GB (UUID: GPU-0)\n"
    machine = machine_from([evidence_of(one, "a.csv"), evidence_of(other, "b.txt")])
    assert "contradiction" not in codes(machine)


def test_two_matrices_that_differ_are_a_contradiction():
    evidence = [evidence_of(square(2, "NV12"), "a"), evidence_of(square(2, "NV4"), "b")]
    machine = machine_from(evidence)
    assert "gpu0>gpu1 smi is NV12 in a:2 but NV4 in b:2" in said(machine, "contradiction")


def test_a_query_gives_the_slots_generation():
    query = "index, name, pcie.link.gen.max\n0, NVIDIA A40, 3\n1, NVIDIA A40, 3\n"
    machine = machine_from([evidence_of(square(2, "NODE")), evidence_of(query, "q")])
    unit = machine.unit
    gpu = unit.of_kind(ComponentKind.GPU)[0]
    assert unit.bandwidth[unit.source == gpu].tolist() == pytest.approx([15.754e9], rel=1e-3)


def test_another_vendors_matrix_is_taken_with_a_warning():
    text = square(2, "ICN7").replace("GPU0", "PPU0").replace("GPU1", "PPU1")
    machine = machine_from([evidence_of(text)])
    assert "ICN links are another vendor's" in said(machine, "vendor-links")


def test_live_needs_nvidia_smi(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="no nvidia-smi here"):
        resolve("live")


FAKE = """#!{shell}
case "$*" in
  "topo -m") cat {folder}/topo ;;
  "--query-gpu="*) cat {folder}/query ;;
  *) exit 1 ;;
esac
"""


@pytest.mark.real
def test_live_asks_the_driver_of_this_host(monkeypatch, tmp_path: Path):
    (tmp_path / "topo").write_text(H100)
    (tmp_path / "query").write_text(QUERY)
    tool = tmp_path / "nvidia-smi"
    tool.write_text(FAKE.format(shell="/bin/sh", folder=tmp_path))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    machine = resolve("live").machine
    assert (machine.name, machine.gpu, machine.basis.gpu_model) == ("live", "h200-sxm", "read")
    assert "nvidia-smi topo -p2p r` told nothing: exit status 1" in said(machine, "not-asked")


@pytest.mark.real
def test_a_directory_of_what_live_asked_is_the_same_machine(monkeypatch, tmp_path: Path):
    (tmp_path / "topo").write_text(H100)
    (tmp_path / "query").write_text(QUERY)
    tool = tmp_path / "nvidia-smi"
    tool.write_text(FAKE.format(shell="/bin/sh", folder=tmp_path))
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    saved = tmp_path / "saved"
    saved.mkdir()
    for printed in gather().printed:
        (saved / printed.command.file).write_text(printed.text)
    live, kept = resolve("live"), resolve(str(saved))
    read = [{e.file: e.facts for e in found.evidence} for found in (live, kept)]
    assert read[0] == read[1]
    assert [o.text for o in live.machine.oddities] == [o.text for o in kept.machine.oddities]


@pytest.mark.real
def test_a_driver_that_fails_is_said(monkeypatch, tmp_path: Path):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\nexit 9\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(InputError, match="shows no topology") as told:
        resolve("live")
    assert "exit status 9" in told.value.why
