"""Whatever a damaged matrix says, there is a machine or one clear message."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from inventory.matrices import machine_from, square
from wirespeed.errors import WirespeedError
from wirespeed.evidence import Evidence, Fact
from wirespeed.inventory.matrix_text import matrix_text
from wirespeed.readers import read_text
from wirespeed.topology.machines import preset_machine

WORDS = ["NV1", "NV4", "NV12", "NV18", "NV77", "ICN3", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC"]
TEXTS = [
    matrix_text(preset_machine("hgx-a100-4").unit),
    square(2, "NV3"),
    square(5, "PHB", numa="01011", nics=2, nic_words="\n".join(["PIX SYS"] * 5)),
]


def outcome(evidence: Evidence) -> None:
    """A machine, or an error that says something; anything else fails the test."""
    try:
        machine = machine_from([evidence])
    except WirespeedError:
        return
    assert machine.unit.components > 0


@settings(max_examples=60)
@given(st.sampled_from(TEXTS), st.data())
def test_cells_replaced_lines_lost_and_texts_cut(text, data):
    tokens = text.split("\t")
    for at in data.draw(st.lists(st.integers(0, len(tokens) - 1), max_size=6)):
        tokens[at] = data.draw(st.sampled_from([*WORDS, "", "X", "0-3", "9"]))
    lines = "\t".join(tokens).split("\n")
    for at in data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=2)):
        lines[at] = ""
    damaged = "\n".join(lines)
    damaged = damaged[: data.draw(st.integers(len(damaged) // 4, len(damaged)))]
    try:
        evidence = read_text(damaged, file="damaged")
    except WirespeedError:
        return
    outcome(evidence)


DEVICES = st.sampled_from(["gpu0", "gpu1", "gpu2", "gpu7", "nic0", "nic1", "nic9"])
PAIRS = st.builds(
    lambda a, b, w: Fact(f"{a}>{b}", "smi", w, 1), DEVICES, DEVICES, st.sampled_from(WORDS)
)
HOMES = st.builds(lambda d, n: Fact(d, "numa", n, 2), DEVICES, st.integers(0, 9))
OTHERS = st.builds(
    lambda d, a, v: Fact(d, a, v, 3),
    DEVICES,
    st.sampled_from(["model", "label", "pcie_gen_max", "pcie_width_max", "rate_Gbps", "p2p_read"]),
    st.sampled_from(["NVIDIA H100 80GB HBM3", "Radeon", "mlx5_0", 3, 5, 16, 400, "OK", "GNS"]),
)


@settings(max_examples=100)
@given(st.lists(st.one_of(PAIRS, PAIRS, PAIRS, HOMES, OTHERS), max_size=40))
def test_any_facts_at_all(facts):
    outcome(Evidence("topo-m", "any", tuple(facts)))
