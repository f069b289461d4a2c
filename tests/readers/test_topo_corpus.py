"""What the collected `topo -m` pastes say, each held against what a person concluded from it."""

from __future__ import annotations

import random
import re
from functools import cache

import pytest

from readers.matrix_text import codes, pairs_of
from support import shared
from wirespeed.errors import WirespeedError
from wirespeed.evidence import Evidence
from wirespeed.readers import read_text

pytestmark = pytest.mark.corpus

# sample -> GPUs, NICs, remarks
SAMPLES = {
    "01-dgx1v-no-numa": (8, 1, set()),
    "03-v100-header-tabs-body-spaces": (8, 1, set()),
    "05-2gpu-phb": (2, 0, set()),
    "06-a100-narrow": (8, 0, set()),
    "08-soc-no-affinity": (6, 0, set()),
    "09-only-affinity-columns": (8, 0, {"no-matrix"}),
    "11-k80-soc-header-dedented": (4, 1, {"affinity-limited"}),
    "13-dgx1p-glued-header": (8, 4, {"header-glued", "affinity-limited"}),
    "14-7gpu-odd": (7, 0, set()),
    "15-mlx4-gdr-4gpu": (4, 1, set()),
    "16-b200-one-gpu-lost-nvlink": (
        8,
        12,
        {"header-missing", "row-cut", "row-missing", "pair-unknown"},
    ),
    "18-gb200-gpu-numa-id": (4, 6, {"row-cut", "row-missing", "pair-unknown"}),
    "19-gb200-eks": (4, 8, {"row-cut", "row-missing", "pair-unknown"}),
    "22-ansi-underline-6gpu": (6, 0, set()),
    "23-ansi-underline-2gpu": (2, 0, set()),
    "25-mlperf-split-header-words": (4, 0, set()),
    "26-v100-tabs-numaid": (8, 1, set()),
    "27-2gpu-numa-na-na": (2, 0, set()),
    "29-1gpu-5bond": (1, 5, set()),
    "30-5x4090-mixed": (5, 0, set()),
    "31-2x5090-phb-plus-p2p": (2, 0, set()),
    "33-a100-4nic-npS4": (8, 6, {"row-cut", "row-missing", "pair-unknown"}),
    "34-a800-9nic": (8, 9, {"row-cut", "row-missing", "pair-unknown"}),
    # NIC0 stands in the legend only.
    "37-ppu-smi-dialect": (0, 3, {"header-missing", "column-unnamed"}),
    "38-a100-4gpu-2nic": (4, 2, set()),
    "39-a100pcie-nvlink-pairs-8": (8, 0, set()),
    "40-nvlink-nv3-partial-contact": (2, 0, set()),
    "42-h20-nv8-nic-storage": (8, 6, set()),
}


def content(name: str) -> bytes:
    return shared("samples", "nvidia-smi-topo-m", f"{name}.txt").read_bytes()


@cache
def evidence(name: str) -> Evidence:
    return read_text(content(name), file=name)


@cache
def pairs(name: str) -> dict[str, object]:
    return pairs_of(evidence(name))


def gpu_words(name: str) -> set[object]:
    return {word for pair, word in pairs(name).items() if pair.count("gpu") == 2}


def links(name: str, gpu: int) -> int:
    """NVLinks of a GPU to other GPUs, summed over its row."""
    row = [word for pair, word in pairs(name).items() if pair.startswith(f"gpu{gpu}>gpu")]
    return sum(int(str(word)[2:]) for word in row if str(word).startswith("NV"))


def neighbours(name: str, subject: str, *words: str) -> set[str]:
    row = {
        pair.split(">")[1]: word
        for pair, word in pairs(name).items()
        if pair.startswith(subject + ">")
    }
    return {other for other, word in row.items() if word in words}


def attribute(name: str, what: str, gpus: int) -> list[object]:
    return [evidence(name).value(f"gpu{gpu}", what) for gpu in range(gpus)]


def test_every_collected_paste_is_in_this_table() -> None:
    folder = shared("samples", "nvidia-smi-topo-m")
    assert {path.stem for path in folder.iterdir()} == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_paste_shows_these_devices_and_remarks(name: str) -> None:
    gpus, nics, remarks = SAMPLES[name]
    subjects = {fact.subject for fact in evidence(name).facts if ">" not in fact.subject}
    assert evidence(name).format == "topo-m"
    assert len({subject for subject in subjects if subject.startswith("gpu")}) == gpus
    assert len({subject for subject in subjects if subject.startswith("nic")}) == nics
    assert codes(evidence(name)) == remarks
    if "row-missing" not in remarks:
        known = len(pairs(name))
        assert known == (gpus + nics) * (gpus + nics - 1) or remarks & {
            "no-matrix",
            "header-missing",
        }


@pytest.mark.parametrize("name", SAMPLES)
def test_every_fact_stands_on_its_line(name: str) -> None:
    lines = content(name).decode().split("\n")
    for fact in evidence(name).facts:
        text = lines[fact.line - 1]
        if fact.attribute == "smi" and not fact.inferred:
            assert str(fact.value) in text.replace("SOC", "SYS")
        elif fact.attribute == "cpu_affinity":
            assert str(fact.value) in text


@pytest.mark.parametrize(
    "name", ["01-dgx1v-no-numa", "03-v100-header-tabs-body-spaces", "26-v100-tabs-numaid"]
)
def test_a_v100_cube_mesh_has_six_links_a_gpu_to_four_neighbours(name: str) -> None:
    assert [links(name, gpu) for gpu in range(8)] == [6] * 8
    assert all(len(neighbours(name, f"gpu{gpu}", "NV1", "NV2")) == 4 for gpu in range(8))


def test_dgx1v_has_its_nic_at_gpu2_and_gpu3() -> None:
    name = "01-dgx1v-no-numa"
    assert neighbours(name, "nic0", "PIX") == {"gpu2", "gpu3"}
    assert neighbours(name, "nic0", "SYS") == {"gpu4", "gpu5", "gpu6", "gpu7"}
    assert evidence(name).value("nic0", "label") == "mlx5_0"
    assert pairs(name) == pairs("03-v100-header-tabs-body-spaces")


def test_two_consumer_gpus_meet_at_the_host_bridge() -> None:
    assert gpu_words("05-2gpu-phb") == {"PHB"}
    assert evidence("05-2gpu-phb").value("gpu0", "numa") is None
    assert gpu_words("27-2gpu-numa-na-na") == {"PHB"}
    assert attribute("27-2gpu-numa-na-na", "cpu_affinity", 2) == ["0-11"] * 2
    assert attribute("27-2gpu-numa-na-na", "numa", 2) == [None] * 2


def test_hgx_a100_has_twelve_links_between_all_pairs_and_two_numa_nodes() -> None:
    assert gpu_words("06-a100-narrow") == {"NV12"}
    assert attribute("06-a100-narrow", "numa", 8) == [0] * 4 + [1] * 4
    assert gpu_words("23-ansi-underline-2gpu") == {"NV12"}


def test_old_soc_is_sys_and_separates_the_third_pair() -> None:
    name = "08-soc-no-affinity"
    assert neighbours(name, "gpu4", "PIX") == {"gpu5"}
    assert neighbours(name, "gpu4", "SYS") == {"gpu0", "gpu1", "gpu2", "gpu3"}
    assert neighbours(name, "gpu0", "PIX") == {"gpu1"}
    assert neighbours(name, "gpu0", "PHB") == {"gpu2", "gpu3"}


def test_affinity_columns_alone_give_numa_nodes_and_no_link() -> None:
    name = "09-only-affinity-columns"
    assert attribute(name, "numa", 8) == [3, 3, 1, 1, 7, 7, 5, 5]
    assert not pairs(name)


def test_two_k80_boards_on_two_sockets() -> None:
    name = "11-k80-soc-header-dedented"
    assert pairs(name)["gpu0>gpu1"] == pairs(name)["gpu2>gpu3"] == "PIX"
    assert neighbours(name, "gpu0", "SYS") == {"gpu2", "gpu3", "nic0"}
    assert neighbours(name, "nic0", "PHB") == {"gpu2", "gpu3"}


def test_dgx1p_nics_follow_the_order_of_the_header() -> None:
    name = "13-dgx1p-glued-header"
    labels = [evidence(name).value(f"nic{nic}", "label") for nic in range(4)]
    assert labels == ["mlx5_0", "mlx5_2", "mlx5_1", "mlx5_3"]
    assert [links(name, gpu) for gpu in range(8)] == [4] * 8
    near = {labels[nic]: neighbours(name, f"nic{nic}", "PIX") for nic in range(4)}
    assert near["mlx5_0"] == {"gpu0", "gpu1"}
    assert near["mlx5_1"] == {"gpu2", "gpu3"}
    assert near["mlx5_2"] == {"gpu4", "gpu5"}
    assert near["mlx5_3"] == {"gpu6", "gpu7"}


def test_seven_gpus_on_two_switches_of_one_host_bridge() -> None:
    name = "14-7gpu-odd"
    assert neighbours(name, "gpu0", "PIX") == {"gpu1", "gpu2"}
    assert neighbours(name, "gpu3", "PIX") == {"gpu4", "gpu5", "gpu6"}
    assert gpu_words(name) == {"PIX", "PHB"}


def test_gpu2_and_gpu3_share_the_socket_of_the_nic() -> None:
    assert neighbours("15-mlx4-gdr-4gpu", "nic0", "PHB") == {"gpu2", "gpu3"}
    assert neighbours("15-mlx4-gdr-4gpu", "nic0", "SYS") == {"gpu0", "gpu1"}


def test_a_b200_that_lost_its_links_stands_alone_among_seven() -> None:
    name = "16-b200-one-gpu-lost-nvlink"
    assert not neighbours(name, "gpu2", "NV18")
    for gpu in (0, 1, 3, 4, 5, 6):
        others = {f"gpu{other}" for other in range(8)} - {"gpu2", f"gpu{gpu}"}
        assert neighbours(name, f"gpu{gpu}", "NV18") == others
    assert pairs(name)["gpu7>gpu2"] == "SYS"
    assert [neighbours(name, f"gpu{gpu}", "PXB") for gpu in range(6)] == [
        {"nic0"},
        {"nic1"},
        {"nic2"},
        {"nic3"},
        {"nic4"},
        {"nic5"},
    ]
    assert attribute(name, "numa", 6) == [0, 0, 0, 0, 1, 1]
    assert all(f.inferred for f in evidence(name).facts if "gpu7" in f.subject)


def test_gb200_trays_take_the_first_numa_node_of_the_list() -> None:
    name = "18-gb200-gpu-numa-id"
    assert gpu_words(name) == {"NV18"}
    assert attribute(name, "numa", 4) == [0, 0, 1, None]
    assert attribute(name, "gpu_numa_id", 4) == [2, 10, 18, None]
    assert evidence(name).value("gpu2", "numa_nodes") == (1, *range(19, 26), *range(27, 34))
    assert {word for pair, word in pairs(name).items() if "nic" in pair} == {"SYS"}


def test_a_cloud_gb200_does_not_show_whose_a_nic_is() -> None:
    name = "19-gb200-eks"
    assert gpu_words(name) == {"NV18"}
    assert attribute(name, "numa", 4) == [0, 0, 1, 1]
    assert attribute(name, "gpu_numa_id", 4) == [None] * 4
    assert {
        word for pair, word in pairs(name).items() if pair.startswith("gpu") and "nic" in pair
    } == {"SYS"}
    assert neighbours(name, "nic2", "PIX") == {"nic3"}
    assert "nic6>nic7" not in pairs(name)


def test_six_pcie_gpus_in_pairs() -> None:
    name = "22-ansi-underline-6gpu"
    assert [neighbours(name, f"gpu{gpu}", "PIX") for gpu in (0, 2, 4)] == [
        {"gpu1"},
        {"gpu3"},
        {"gpu5"},
    ]
    assert attribute(name, "numa", 6) == [0, 0, 0, 0, 1, 1]


def test_one_gpu_a_numa_node_in_falling_order() -> None:
    assert gpu_words("25-mlperf-split-header-words") == {"SYS"}
    assert attribute("25-mlperf-split-header-words", "numa", 4) == [3, 2, 1, 0]


def test_the_only_nic_of_the_v100_box_has_another_number() -> None:
    name = "26-v100-tabs-numaid"
    assert evidence(name).value("nic0", "label") == "mlx5_2"
    assert neighbours(name, "nic0", "NODE") == {"gpu0", "gpu1", "gpu2", "gpu3"}


def test_a_container_with_one_gpu_shows_its_best_nic() -> None:
    name = "29-1gpu-5bond"
    assert neighbours(name, "gpu0", "PXB") == {"nic3"}
    assert evidence(name).value("nic3", "label") == "mlx5_bond_3"
    assert not gpu_words(name)


def test_gpu0_of_five_4090_is_far_from_all() -> None:
    name = "30-5x4090-mixed"
    assert neighbours(name, "gpu0", "SYS") == {"gpu1", "gpu2", "gpu3", "gpu4"}
    assert neighbours(name, "gpu1", "PHB") == {"gpu2"}
    assert neighbours(name, "gpu3", "PHB") == {"gpu4"}
    assert attribute(name, "numa", 5) == [1, 0, 0, 0, 0]


def test_a_second_matrix_says_that_the_driver_refuses_p2p() -> None:
    name = "31-2x5090-phb-plus-p2p"
    assert gpu_words(name) == {"PHB"}
    assert pairs_of(evidence(name), "p2p_status") == {"gpu0>gpu1": "GNS", "gpu1>gpu0": "GNS"}


def test_a100_pairs_share_nics_in_crossed_order() -> None:
    name = "33-a100-4nic-npS4"
    near = {nic: neighbours(name, f"nic{nic}", "PXB") for nic in range(6)}
    # Row GPU7 breaks off before NIC5, which is GPU4's and GPU5's.
    assert near == {
        0: {"gpu2", "gpu3"},
        1: {"gpu0", "gpu1"},
        2: {"gpu6", "gpu7"},
        3: set(),
        4: set(),
        5: {"gpu4", "gpu5"},
    }
    assert attribute(name, "numa", 8) == [3, 3, 1, 1, 7, 7, 5, None]
    assert "gpu7>nic5" not in pairs(name)


def test_nine_nics_alternate_between_the_sockets() -> None:
    name = "34-a800-9nic"
    assert gpu_words(name) == {"NV8"}
    near = [neighbours(name, f"gpu{gpu}", "PIX") for gpu in range(7)]
    assert near == [{"nic2"}, {"nic4"}, {"nic6"}, {"nic8"}, {"nic1"}, {"nic3"}, {"nic5"}]
    assert neighbours(name, "nic0", "NODE") == {"gpu0", "gpu1", "gpu2", "gpu3"}
    assert neighbours(name, "nic0", "SYS") == {"gpu4", "gpu5", "gpu6"}
    assert not neighbours(name, "nic7", "PIX"), "row GPU7 breaks off before its NICs"


def test_two_rows_of_a_look_alike_give_what_their_own_columns_say() -> None:
    name = "37-ppu-smi-dialect"
    assert pairs(name) == {"nic6>nic7": "SYS", "nic7>nic6": "SYS"}
    assert evidence(name).value("nic6", "numa") == 1
    assert evidence(name).value("nic0", "label") == "mlx5_bond_0"


def test_a_four_gpu_mesh_has_four_links_a_pair_and_two_gpus_with_nics() -> None:
    name = "38-a100-4gpu-2nic"
    assert gpu_words(name) == {"NV4"}
    assert [links(name, gpu) for gpu in range(4)] == [12] * 4
    assert neighbours(name, "nic0", "PIX") == {"gpu1"}
    assert neighbours(name, "nic1", "PIX") == {"gpu2"}
    assert attribute(name, "numa", 4) == [1, 0, 3, 2]


def test_bridges_join_pcie_gpus_in_pairs_only() -> None:
    name = "39-a100pcie-nvlink-pairs-8"
    assert [neighbours(name, f"gpu{gpu}", "NV12") for gpu in range(8)] == [
        {f"gpu{gpu ^ 1}"} for gpu in range(8)
    ]


def test_a_badly_seated_bridge_shows_three_links() -> None:
    assert gpu_words("40-nvlink-nv3-partial-contact") == {"NV3"}
    assert attribute("40-nvlink-nv3-partial-contact", "numa", 2) == [None] * 2


def test_four_nics_serve_two_gpus_each_and_two_ports_none() -> None:
    name = "42-h20-nv8-nic-storage"
    assert gpu_words(name) == {"NV8"}
    near = {nic: neighbours(name, f"nic{nic}", "PXB") for nic in range(6)}
    assert near == {
        0: {"gpu0", "gpu1"},
        1: set(),
        2: set(),
        3: {"gpu2", "gpu3"},
        4: {"gpu4", "gpu5"},
        5: {"gpu6", "gpu7"},
    }
    assert pairs(name)["nic1>nic2"] == "PIX"
    assert pairs(name)["nic0>nic3"] == "SYS"


@pytest.mark.parametrize("name", SAMPLES)
def test_a_cut_says_nothing_that_the_whole_does_not_say(name: str) -> None:
    whole = {(f.subject, f.attribute): f.value for f in evidence(name).facts}
    data = content(name)
    for end in range(1, len(data), 5):
        try:
            part = read_text(data[:end], file="cut")
        except WirespeedError:
            continue
        for fact in part.facts:
            assert whole.get((fact.subject, fact.attribute)) == fact.value, data[:end][-40:]


@pytest.mark.parametrize("name", SAMPLES)
def test_damage_is_read_or_refused_with_a_message(name: str) -> None:
    draw = random.Random(name)
    data = content(name)
    for _ in range(60):
        refusal = refused(damaged(data, draw))
        assert refusal is None or (refusal.what and refusal.remedy)


def refused(data: bytes) -> WirespeedError | None:
    """The message where a text is refused; anything else that is raised fails the test."""
    try:
        read_text(data, file="damaged")
    except WirespeedError as error:
        return error
    return None


def damaged(data: bytes, draw: random.Random) -> bytes:
    """One byte, word or line lost, doubled or replaced."""
    pieces = re.findall(draw.choice([rb"(?s).", rb"\s*\S+", rb"[^\n]*\n?"]), data)
    at = draw.randrange(len(pieces))
    other = bytes([draw.randrange(256)])
    pieces[at : at + 1] = draw.choice([[], [pieces[at]] * 2, [other], [draw.choice(pieces)]])
    return b"".join(pieces)
