"""Machines out of what other tools than nvidia-smi topo and NCCL print."""

from __future__ import annotations

import pytest

from readers import host_texts as texts
from support import shared
from wirespeed.errors import InputError, UsageError
from wirespeed.inventory.combined import Combined, combine
from wirespeed.inventory.matrix_text import matrix_text
from wirespeed.inventory.switch_tree import switch_tree
from wirespeed.readers import read_text
from wirespeed.topology.kinds import ComponentKind, LinkKind
from wirespeed.topology.machines import preset_machine

H200 = matrix_text(preset_machine("dgx-h200").unit)
QUERY = "index, name, pci.bus_id\n" + "".join(
    f"{k}, NVIDIA H100 80GB HBM3, 00000000:{0x18 + k:02X}:00.0\n" for k in range(2)
)


def machine_of(*given: str, gpu: str | None = None) -> Combined:
    return combine([read_text(text, file=f"{k}.txt") for k, text in enumerate(given)], gpu=gpu)


def links(found: Combined, kind: LinkKind, gpu: int = 0) -> int:
    """Links of a kind out of one GPU."""
    unit = found.machine.unit
    component = unit.of_kind(ComponentKind.GPU)[gpu]
    return int(unit.lanes[(unit.source == component) & (unit.link_kind == kind)].sum())


def codes(found: Combined) -> set[str]:
    return {n.code for n in (*found.machine.warnings, *found.machine.oddities)}


def ring(count: int) -> str:
    """rocm-smi of GPUs in a ring: neighbours have weight 15, others more."""
    head = "       " + "         ".join(f"GPU{k}" for k in range(count))
    near = [{(k + 1) % count, (k - 1) % count} for k in range(count)]
    rows = []
    for title, same, other in (("Weight", "15", "30"), ("Link Type", "XGMI", "XGMI")):
        rows += ["", f"======== {title} between two GPUs ========", head]
        for a in range(count):
            cells = ["0" if a == b else same if b in near[a] else other for b in range(count)]
            rows.append(f"GPU{a}   " + "   ".join(cells))
    return "\n".join(rows) + "\n"


def test_eight_gpus_that_all_meet_are_a_preset() -> None:
    rows = ["======== Link Type between two GPUs ========"]
    rows.append("       " + "   ".join(f"GPU{k}" for k in range(8)))
    for a in range(8):
        rows.append(f"GPU{a}   " + "   ".join("0" if a == b else "XGMI" for b in range(8)))
    text = "\n".join(rows) + "\n"
    found = machine_of(text)
    assert (found.machine.gpu, found.machine.platform) == ("mi300x", "mi300x-8")
    assert found.machine.basis.alternatives
    assert links(found, LinkKind.XGMI) == 7
    assert codes(found) == {"gpu-assumed", "nics-assumed"}
    named = machine_of(text, gpu="mi355x")
    assert named.machine.platform == "mi355x-8"
    assert named.machine.basis.gpu_model == "option"
    assert "gpu-assumed" not in codes(named)


def test_only_neighbours_have_links() -> None:
    found = machine_of(ring(4), gpu="mi300x")
    unit = found.machine.unit
    assert links(found, LinkKind.XGMI) == 2
    assert int((unit.link_kind == LinkKind.XGMI).sum()) == 8
    assert codes(found) == {"nics-unknown", "links-assumed"}
    assert found.design is not None
    assert found.design.nvlink_domain == 4


def test_numa_nodes_are_those_of_the_file() -> None:
    found = machine_of(texts.ROCM, gpu="mi300x")
    unit = found.machine.unit
    assert unit.numa[unit.of_kind(ComponentKind.GPU)].tolist() == [0, 0, 1, 1]


def test_missing_gpus_are_refused() -> None:
    with pytest.raises(InputError, match="some GPUs are missing"):
        machine_of("GPU[1]\t\t: (Topology) Numa Node: 0\n")


def test_hwloc_gives_the_tree_with_its_slots_and_links() -> None:
    found = machine_of(texts.LSTOPO)
    unit = found.machine.unit
    assert found.machine.gpu == "h100-sxm"
    assert found.machine.cpu_vendor == "Intel"
    assert unit.numa[unit.of_kind(ComponentKind.GPU)].tolist() == [0, 1]
    # 150 GB/s are six links of NVLink 4.
    assert links(found, LinkKind.NVLINK) == 6
    assert len(unit.of_kind(ComponentKind.NIC)) == 1


def test_a_tree_of_processors_is_no_machine_and_takes_nothing_from_others() -> None:
    text = texts.LSTOPO.split('      <object type="Bridge"')[0] + "</object></object></topology>"
    with pytest.raises(InputError, match="no GPU is named"):
        machine_of(text)
    assert machine_of(text, H200).machine.platform == machine_of(H200).machine.platform


def test_an_inactive_link_is_lost_and_told() -> None:
    links_ = texts.NVLINK
    found = machine_of(H200, links_)
    assert links(found, LinkKind.NVLINK, gpu=0) == 18
    assert links(found, LinkKind.NVLINK, gpu=1) == 17
    (oddity,) = found.machine.oddities
    assert oddity.code == "nvlink-lost"
    assert "gpu1 has lost 1 of 18 NVLinks (7)" in oddity.text
    assert found.design is None


def test_all_links_up_changes_nothing() -> None:
    sound = texts.NVLINK.replace("<inactive>", "26.562 GB/s")
    found = machine_of(H200, sound)
    assert not found.machine.oddities
    assert found.design is not None


def test_links_that_no_board_connects_are_not_lost() -> None:
    listed = "".join(
        f"GPU {k}: NVIDIA H100 NVL (UUID: GPU-{k})\n"
        + "".join(f"\t Link {n}: {'26.562 GB/s' if n < 12 else '<inactive>'}\n" for n in range(18))
        for k in range(2)
    )
    assert not machine_of(listed).machine.oddities


def test_a_matrix_with_fewer_links_than_are_up_is_contradicted() -> None:
    sound = texts.NVLINK.replace("<inactive>", "26.562 GB/s")
    rows = H200.split("\n")
    short = "\n".join(r.replace("NV18", "NV16") if r.startswith("GPU1") else r for r in rows)
    short = short.replace("GPU0\t X \tNV18", "GPU0\t X \tNV16")
    found = machine_of(short, sound)
    assert "contradiction" in codes(found)


def test_a_gpu_of_another_maker_is_refused_for_rocm() -> None:
    with pytest.raises(UsageError, match="no GPU of AMD"):
        machine_of(texts.ROCM, gpu="h100")


def test_lspci_shows_a_narrow_slot_of_a_known_gpu() -> None:
    found = machine_of(QUERY, texts.LSPCI)
    odd = [notice for notice in found.machine.oddities if notice.code == "pcie-narrow"]
    assert [notice.where for notice in odd] == ["gpu0"]
    assert "8 of 16" in odd[0].text


def test_bridges_that_redirect_are_odd_and_validation_is_not() -> None:
    redirecting = texts.LSPCI.replace(
        "ACSCtl:\tSrcValid- TransBlk- ReqRedir-", "ACSCtl:\tSrcValid+ TransBlk- ReqRedir+"
    )
    assert "acs-redirect" in codes(machine_of(QUERY, redirecting))
    validating = texts.LSPCI.replace("ACSCtl:\tSrcValid-", "ACSCtl:\tSrcValid+")
    assert "acs-redirect" not in codes(machine_of(QUERY, validating))


def test_two_runs_of_one_machine_do_not_contradict_each_other() -> None:
    other = texts.NVBANDWIDTH.replace("392.11", "388.20")
    assert "contradiction" not in codes(machine_of(H200, texts.NVBANDWIDTH, other))


def test_distances_in_a_tree_of_switches() -> None:
    tree = switch_tree([read_text(texts.SLURM_TREE, file="topology.conf")])
    assert tree.distance("gpu01", "gpu01") == 0
    assert tree.distance("gpu01", "login1") == 2
    assert tree.distance("gpu01", "gpu05") == 4
    assert tree.distance("gpu01", "gpu99") is None
    blocks = switch_tree([read_text(texts.SLURM_BLOCKS, file="topology.conf")])
    assert blocks.distance("gb001", "gb018") == 2
    assert blocks.distance("gb001", "gb019") is None


@pytest.mark.corpus
def test_published_outputs_of_amd_and_hwloc_make_machines() -> None:
    expected = {
        "rocm-smi-topo/01-mi250-4xgmi-numa4.txt": (4, LinkKind.XGMI, 3),
        "rocm-smi-topo/03-two-hives-pcie.txt": (8, LinkKind.XGMI, 3),
        "rocm-smi-topo/04-mi300x-8-full.txt": (8, LinkKind.XGMI, 7),
        "rocm-smi-topo/06-sglang-1gpu.txt": (1, LinkKind.XGMI, 0),
        "lstopo-xml/01-dgx2.xml": (16, LinkKind.NVLINK, 6),
        "lstopo-xml/02-power8-p100.xml": (4, LinkKind.NVLINK, 2),
    }
    for name, (gpus, kind, count) in expected.items():
        text = shared("samples", *name.split("/")).read_text("utf-8")
        found = machine_of(text)
        assert len(found.machine.unit.of_kind(ComponentKind.GPU)) == gpus, name
        assert links(found, kind) == count, name
    # Two hives of four do not meet over xGMI.
    text = shared("samples", "rocm-smi-topo", "03-two-hives-pcie.txt").read_text("utf-8")
    design = machine_of(text).design
    assert design is not None
    assert design.nvlink_domain == 4


@pytest.mark.corpus
def test_a_published_list_of_links_shows_two_lost_ones() -> None:
    text = shared("samples", "nvidia-smi-nvlink", "03-inactive.txt").read_text("utf-8")
    (oddity,) = machine_of(text).machine.oddities
    assert oddity.text.startswith("gpu3 has lost 2 of 6 NVLinks (3, 5)")


def test_a_benchmark_of_copies_does_not_say_what_joins_its_gpus() -> None:
    with pytest.raises(InputError, match="nothing says how the GPUs are linked"):
        machine_of(texts.NVBANDWIDTH)
    assert machine_of(texts.NVBANDWIDTH, QUERY).machine.gpu == "h100-sxm"
