"""One trap of pasted `topo -m` matrices each: read right, or said."""

from __future__ import annotations

import re

import pytest

from readers.matrix_text import (
    TWO_SOCKETS,
    Dialect,
    Machine,
    codes,
    mesh,
    pairs_of,
    print_matrix,
    square,
)
from wirespeed.errors import InputError
from wirespeed.evidence import Evidence
from wirespeed.readers import read_text

PLAIN = Dialect(legend=False)


def read(text: str) -> Evidence:
    return read_text(text, file="paste")


def remark(evidence: Evidence, code: str) -> str:
    return next(r.text for r in evidence.remarks if r.code == code)


def edit(text: str, line: int, pattern: str, replacement: str) -> str:
    """The text with the first match in one line (from 0) replaced."""
    lines = text.split("\n")
    assert re.search(pattern, lines[line]), (pattern, lines[line])
    lines[line] = re.sub(pattern, replacement, lines[line], count=1)
    return "\n".join(lines)


def test_a_whole_matrix_is_read_without_remark() -> None:
    found = read(print_matrix(TWO_SOCKETS))
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert not found.remarks
    assert not any(fact.inferred for fact in found.facts)
    assert found.value("gpu2", "index") == 2
    assert found.value("gpu2", "name") == "GPU2"
    assert found.value("gpu2", "cpu_affinity") == "32-63,96-127"
    assert found.value("gpu2", "numa") == 1
    assert found.value("gpu2", "numa_nodes") == (1,)
    assert found.value("gpu2", "gpu_numa_id") is None
    assert found.value("nic1", "label") == "mlx5_bond_0"


def test_each_direction_stands_on_its_own_line() -> None:
    found = read(print_matrix(TWO_SOCKETS))
    lines = {fact.subject: fact.line for fact in found.facts if fact.attribute == "smi"}
    assert lines["gpu0>nic1"] == 2
    assert lines["nic1>gpu0"] == 7


def test_a_header_without_blanks_is_taken_apart() -> None:
    text = print_matrix(TWO_SOCKETS)
    glued = edit(text, 0, "GPU0\tGPU1\tGPU2\tGPU3\tNIC0", "GPU0GPU1GPU2GPU3NIC0")
    found = read(glued)
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert codes(found) == {"header-glued"}


def test_cells_without_blanks_are_taken_apart() -> None:
    text = edit(print_matrix(TWO_SOCKETS), 1, "NODE\tSYS\tPIX\tSYS\t", "NODESYSPIXSYS\t")
    assert pairs_of(read(text)) == TWO_SOCKETS.pairs()
    text = edit(print_matrix(TWO_SOCKETS), 1, "\tPIX\tSYS\t0-31", "\tPIXSYS0-31")
    assert pairs_of(read(text)) == TWO_SOCKETS.pairs()


def test_a_header_that_lost_its_first_tab_is_no_row() -> None:
    found = read(print_matrix(TWO_SOCKETS, Dialect(dedent=True)))
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert not found.remarks


def test_a_field_title_spread_over_two_columns_is_one_field() -> None:
    text = edit(print_matrix(TWO_SOCKETS), 0, "CPU Affinity", "CPU      Affinity")
    assert read(text).value("gpu0", "cpu_affinity") == "0-31,64-95"


def test_a_list_with_blanks_is_one_list() -> None:
    text = edit(print_matrix(TWO_SOCKETS), 1, "0-31,64-95", "0-31, 64-95")
    assert read(text).value("gpu0", "cpu_affinity") == "0-31,64-95"


def test_a_list_of_numa_nodes_begins_with_the_cpus_node() -> None:
    text = edit(print_matrix(TWO_SOCKETS), 1, "\t0\tN/A", "\t0,3-5\t2")
    found = read(text)
    assert found.value("gpu0", "numa") == 0
    assert found.value("gpu0", "numa_nodes") == (0, 3, 4, 5)
    assert found.value("gpu0", "gpu_numa_id") == 2


def test_driver_names_of_nics_are_numbered_as_the_header_has_them() -> None:
    machine = Machine(
        ("GPU0", "mlx5_3", "mlx5_1"), square("X PIX SYS\nPIX X NODE\nSYS NODE X"), (("0-7",),)
    )
    found = read(print_matrix(machine, Dialect(fields=1)))
    assert pairs_of(found)["gpu0>nic0"] == "PIX"
    assert [found.value(f"nic{at}", "label") for at in (0, 1)] == ["mlx5_3", "mlx5_1"]
    assert [found.value(f"nic{at}", "name") for at in (0, 1)] == ["mlx5_3", "mlx5_1"]


def test_nics_of_any_driver_are_nics() -> None:
    for nic in ("mlx5_bond_0", "bnxt_re0", "rdmap16s27", "irdma-enp1s0", "hfi1_0"):
        machine = Machine(("GPU0", nic), mesh(2, "PHB"), (("0-7",),))
        found = read(print_matrix(machine, Dialect(fields=1)))
        assert pairs_of(found) == {"gpu0>nic0": "PHB", "nic0>gpu0": "PHB"}
        assert found.value("nic0", "label") == nic
        assert not found.remarks


def test_gpu_numbers_are_those_printed() -> None:
    machine = Machine(("GPU4", "GPU6"), mesh(2, "NV12"), (("0-7",), ("8-15",)))
    found = read(print_matrix(machine, Dialect(fields=1)))
    assert pairs_of(found) == {"gpu4>gpu6": "NV12", "gpu6>gpu4": "NV12"}
    assert found.value("gpu6", "index") == 6


def test_soc_of_old_drivers_is_sys() -> None:
    machine = Machine(("GPU0", "GPU1"), mesh(2, "SOC"), ((), ()))
    assert set(pairs_of(read(print_matrix(machine, Dialect(fields=0)))).values()) == {"SYS"}


def test_another_vendors_prefix_and_links_are_kept() -> None:
    machine = Machine(("PPU0", "PPU1", "PPU2"), mesh(3, "ICN7"), (("0-7", "0"),) * 3)
    found = read(print_matrix(machine, Dialect(fields=2)))
    assert set(pairs_of(found).values()) == {"ICN7"}
    assert found.value("gpu1", "vendor_prefix") == "PPU"
    assert not found.remarks


def test_fields_behind_a_nics_row_are_read() -> None:
    text = edit(print_matrix(TWO_SOCKETS), 5, "SYS$", "SYS\t0-31,64-95\t0\tN/A")
    assert read(text).value("nic0", "numa") == 0


def test_a_nic_legend_with_other_numbers_is_followed() -> None:
    found = read(print_matrix(TWO_SOCKETS))
    assert found.value("nic0", "label") == "mlx5_2"


def test_rows_cut_off_are_completed_by_symmetry_and_that_is_said() -> None:
    lines = print_matrix(TWO_SOCKETS, PLAIN).split("\n")
    found = read("\n".join([*lines[:4], lines[4][:14]]) + "\n")
    pairs, whole = pairs_of(found), TWO_SOCKETS.pairs()
    assert all(whole[pair] == word for pair, word in pairs.items())
    assert set(whole) - set(pairs) == {
        f"{a}>{b}" for a in ("gpu3", "nic0", "nic1") for b in ("gpu3", "nic0", "nic1") if a != b
    }
    inferred = {f.subject for f in found.facts if f.inferred}
    assert {"gpu3>gpu2", "nic0>gpu0"} <= inferred
    assert codes(found) == {"row-cut", "row-missing", "pair-unknown"}
    assert remark(found, "row-cut").startswith("row GPU3 ends early: 1 cells are taken")
    assert "NIC0, NIC1: 6 cells are taken" in remark(found, "row-missing")
    assert "GPU3–NIC0" in remark(found, "pair-unknown")


def test_half_a_word_at_a_cut_is_not_taken_for_a_whole_one() -> None:
    machine = Machine(("GPU0", "GPU1", "GPU2"), mesh(3, "NV18"), (("0-7",), ("0-7",), ("8-15",)))
    lines = print_matrix(machine, Dialect(fields=1, legend=False)).split("\n")
    found = read("\n".join([*lines[:3], "GPU2\tNV18\tNV1"]))
    assert pairs_of(found) == machine.pairs()
    found = read("\n".join([lines[0], "GPU0\t X \tNV18\tNV1"]))
    assert "gpu0>gpu2" not in pairs_of(found)


def test_an_affinity_at_the_very_end_is_kept_only_if_another_row_has_it() -> None:
    lines = print_matrix(TWO_SOCKETS, Dialect(fields=1, legend=False)).split("\n")
    same = read("\n".join(lines[:3]))
    assert same.value("gpu1", "cpu_affinity") == "0-31,64-95"
    cut = read("\n".join(lines[:3])[:-1])
    assert cut.value("gpu1", "cpu_affinity") is None
    assert "row-cut" in codes(cut)


def test_a_lost_header_is_rebuilt_from_the_diagonal() -> None:
    found = read(print_matrix(TWO_SOCKETS).split("\n", 1)[1])
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert codes(found) == {"header-missing"}


def test_without_header_bonded_links_tell_gpus_from_nics() -> None:
    words = [
        [("X" if i == j else "NV18" if i < 4 and j < 4 else "SYS") for j in range(6)]
        for i in range(6)
    ]
    names = ("GPU0", "GPU1", "GPU2", "GPU3", "NIC0", "NIC1")
    machine = Machine(names, tuple(map(tuple, words)), (("0-7", "0", "N/A"),) * 4)
    rows = print_matrix(machine, PLAIN).split("\n")[1:4]
    found = read("\n".join(rows) + "\n")
    pairs = pairs_of(found)
    assert pairs["gpu3>gpu0"] == "NV18"
    assert pairs["gpu0>nic1"] == "SYS"
    assert "GPU3, 2 NICs" in remark(found, "header-missing")
    assert next(f for f in found.facts if f.subject == "gpu0>nic1").inferred


def test_without_header_and_links_a_column_stays_without_name() -> None:
    machine = Machine(("GPU0", "GPU1", "GPU2", "NIC0"), mesh(4, "PHB"), (("0-7",),) * 3)
    rows = print_matrix(machine, Dialect(fields=1, legend=False)).split("\n")[1:3]
    found = read("\n".join(rows) + "\n")
    assert pairs_of(found) == {"gpu0>gpu1": "PHB", "gpu1>gpu0": "PHB"}
    assert "2 of 4 columns" in remark(found, "column-unnamed")


def test_a_header_cut_inside_is_completed_from_its_rows() -> None:
    text = edit(print_matrix(TWO_SOCKETS), 0, "GPU2.*", "GP")
    found = read(text)
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert codes(found) == {"header-cut"}


def test_a_header_that_contradicts_its_rows_is_left_aside() -> None:
    text = edit(print_matrix(TWO_SOCKETS), 0, "\tGPU0\tGPU1", "\tGPU1")
    found = read(text)
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert codes(found) == {"header-misfit"}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("\tGPU0\tGPU1\tGP", "paste:1"),
        ("$ nvidia-smi topo -m\n\tGPU0\tGPU1\tNIC0\tCPU Aff", "paste:2"),
    ],
)
def test_a_matrix_cut_inside_its_header_is_refused_with_the_place(text: str, where: str) -> None:
    with pytest.raises(InputError, match="cut inside its header") as caught:
        read(text)
    assert caught.value.where == where
    assert caught.value.remedy


def test_a_header_alone_is_refused() -> None:
    with pytest.raises(InputError, match="cut after its header"):
        read("\tGPU0\tGPU1\tCPU Affinity\n")


def test_a_row_without_cells_says_nothing() -> None:
    with pytest.raises(InputError, match="2 devices and no link"):
        read("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X ")


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [("NV4\t", ""), ("\tNODE", ""), ("\tSYS\tNODE", "\tSYS\tSYS\tNODE")],
)
def test_a_cell_lost_or_doubled_inside_a_row_shifts_nothing(pattern: str, replacement: str) -> None:
    found = read(edit(print_matrix(TWO_SOCKETS), 2, pattern, replacement))
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert codes(found) == {"row-damaged"}
    assert any(f.inferred and f.subject.startswith("gpu1>") for f in found.facts)


def test_a_cell_lost_in_a_row_without_fields_shifts_nothing() -> None:
    found = read(edit(print_matrix(TWO_SOCKETS), 5, "PXB\t", ""))
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert "row-damaged" in codes(found)


def test_a_row_under_a_wrong_name_is_left_out() -> None:
    found = read(edit(print_matrix(TWO_SOCKETS), 2, "GPU1", "GPU7"))
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert codes(found) == {"row-damaged", "row-missing"}
    assert "GPU7" in remark(found, "row-damaged")


def test_a_row_that_comes_twice_counts_once() -> None:
    lines = print_matrix(TWO_SOCKETS).split("\n")
    found = read("\n".join([*lines[:3], lines[2], *lines[3:]]))
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert not found.remarks


def test_an_unknown_word_is_named_and_taken_from_the_other_row() -> None:
    found = read(edit(print_matrix(TWO_SOCKETS), 1, "PIX", "P1X?"))
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert "'P1X?' in row GPU0" in remark(found, "unknown-word")


def test_two_directions_that_differ_are_both_kept() -> None:
    found = read(edit(print_matrix(TWO_SOCKETS), 1, "NV4", "NV2"))
    assert pairs_of(found)["gpu0>gpu1"] == "NV2"
    assert pairs_of(found)["gpu1>gpu0"] == "NV4"
    assert remark(found, "asymmetric") == "GPU0 to GPU1 is NV2, but the other way NV4 (line 3)"


def test_equal_affinities_across_sockets_are_the_jobs() -> None:
    machine = Machine(("GPU0", "GPU1"), mesh(2, "SYS"), (("0-3",), ("0-3",)))
    assert codes(read(print_matrix(machine, Dialect(fields=1)))) == {"affinity-limited"}
    machine = Machine(("GPU0", "GPU1"), mesh(2, "PHB"), (("0-3",), ("0-3",)))
    assert not codes(read(print_matrix(machine, Dialect(fields=1))))


def test_affinities_that_overlap_are_remarked() -> None:
    found = read(edit(print_matrix(TWO_SOCKETS), 3, "32-63", "3-63"))
    assert codes(found) == {"affinity-overlap"}


def test_a_falling_list_is_no_affinity() -> None:
    found = read(edit(print_matrix(TWO_SOCKETS), 1, "0-31,64-95", "0-31,6-95"))
    assert found.value("gpu0", "cpu_affinity") is None
    assert codes(found) == {"unknown-word"}


def test_fields_that_do_not_fit_the_header_are_left_out() -> None:
    fewer = read(edit(print_matrix(TWO_SOCKETS), 1, "0-31,64-95\t", ""))
    more = read(edit(print_matrix(TWO_SOCKETS), 1, "0-31,64-95\t", "0-31,64-95\t7\t"))
    for found in (fewer, more):
        assert found.value("gpu0", "numa") is None
        assert codes(found) == {"affinity-unclear"}
        assert pairs_of(found) == TWO_SOCKETS.pairs()


def test_affinity_columns_alone_say_that_links_are_unknown() -> None:
    found = read("     CPU Affinity  NUMA Affinity\nGPU0  0-7  1\nGPU1  8-15  0\n")
    assert [found.value(f"gpu{at}", "numa") for at in (0, 1)] == [1, 0]
    assert codes(found) == {"no-matrix"}


def test_a_second_matrix_is_compared_and_not_mixed_in() -> None:
    text = print_matrix(TWO_SOCKETS)
    assert "says the same" in remark(read(text + text), "second-matrix")
    other = edit(text, 1, "NV4", "NV2")
    found = read(text + other)
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert "differs" in remark(found, "second-matrix")


def test_a_status_matrix_behind_it_is_read_by_the_word_of_its_command() -> None:
    machine = Machine(("GPU0", "GPU1"), mesh(2, "PHB"), (("0-3",), ("0-3",)))
    status = "\tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tCNS\tX\n\nLegend:\n\n  X    = Self\n"
    paste = print_matrix(machine, Dialect(fields=1))
    for command, attribute in (
        ("", "p2p_status"),
        ("$ nvidia-smi topo -p2p r\n", "p2p_read"),
        ("$ nvidia-smi topo -p2p w\n", "p2p_write"),
    ):
        found = read(f"{paste}\n{command}{status}")
        assert pairs_of(found, attribute) == {"gpu0>gpu1": "CNS", "gpu1>gpu0": "CNS"}
        assert set(pairs_of(found).values()) == {"PHB"}
        assert found.format == "topo-m"


def test_prose_legend_and_trailers_are_no_rows() -> None:
    text = (
        "GPU0 is slow, see below. GPU1 too.\n"
        + print_matrix(TWO_SOCKETS, Dialect(prompt=True))
        + "\nHypervisor vendor:\n\nKVM\n\nGPU0 and NIC0 share a switch.\n"
    )
    found = read(text)
    assert pairs_of(found) == TWO_SOCKETS.pairs()
    assert not found.remarks


def test_ranks_and_table_bars_before_lines_are_peeled() -> None:
    lines = print_matrix(TWO_SOCKETS, Dialect(separator=" ")).split("\n")
    ranks = "\n".join(f"[1,0]<stdout>:{line}" for line in lines)
    bars = "\n".join("|" + re.sub(r" {2,}", " | ", line) + "|" for line in lines)
    assert pairs_of(read(ranks)) == TWO_SOCKETS.pairs()
    assert pairs_of(read(bars)) == TWO_SOCKETS.pairs()


def test_a_nic_legend_cut_inside_a_name_is_said() -> None:
    found = read(print_matrix(TWO_SOCKETS).rstrip()[:-3])
    assert found.value("nic0", "label") == "mlx5_2"
    assert found.value("nic1", "label") is None
    assert codes(found) == {"legend-cut"}


def test_a_thousand_columns_are_refused() -> None:
    names = [f"GPU{at}" for at in range(300)]
    with pytest.raises(InputError, match="too many"):
        read("\t" + "\t".join(names) + "\nGPU0\t X " + "\tNV1" * 299 + "\n")


def test_the_matrices_of_a_hundred_hosts_are_refused() -> None:
    with pytest.raises(InputError, match="too many for one host"):
        read(print_matrix(TWO_SOCKETS, PLAIN) * 400)
