"""Whatever is cut, joined or changed in what people paste: an answer or a plain error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wirespeed as ws
from nccl_tests_text import cluster_of, printed
from wirespeed.topology.result import to_json

WELL = Path("examples/dgx-h100-topo-m.txt").read_text()
LOST = Path("examples/dgx-h100-gpu2-without-nvlink-topo-m.txt").read_text()
RUN = printed(cluster_of("dgx-h100", changes=["nvls=off"]), sizes=[2**20, 2**27, 2**30])
RECORD = {
    "cluster": {"gpu": "H200-SXM", "nodes": 1, "gpus_per_node": 8},
    "ranks": 8,
    "collective": "all_reduce",
    "rows": [[2**33, None, None, 366.0]],
    "env": {"NCCL_NVLS_ENABLE": "0"},
}
TEXTS = (WELL, LOST, RUN, json.dumps(RECORD), f"$ nvidia-smi topo -m\n{LOST}\n{RUN}")


def answered(text: str, folder: Path) -> None:
    """Holds where the doctor answers in JSON and words, or says plainly that it cannot."""
    file = folder / "paste.txt"
    file.write_text(text)
    try:
        report = ws.doctor(str(file))
    except ws.WirespeedError:
        return
    assert report.findings or report.records
    assert str(report).startswith("Verdict: ")
    assert json.loads(to_json(report))["verdict"] == report.verdict


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pastes")


@given(st.sampled_from(TEXTS), st.integers(0, 4000), st.integers(0, 4000))
def test_a_cut_text(folder, text, start, length):
    answered(text[start : start + length], folder)


@pytest.mark.slow
@given(st.sampled_from(TEXTS), st.integers(0, 4000), st.text(max_size=12))
def test_a_text_with_something_else_in_it(folder, text, place, words):
    answered(text[:place] + words + text[place:], folder)


@pytest.mark.slow
@given(st.lists(st.sampled_from(TEXTS), min_size=2, max_size=3))
def test_several_texts_in_one(folder, texts):
    answered("\n".join(texts), folder)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "cluster": st.one_of(
                st.none(),
                st.fixed_dictionaries(
                    {},
                    optional={
                        "gpu": st.sampled_from(["H100-SXM", "A100-PCIe", "RTX-4090", "?", ""]),
                        "nodes": st.sampled_from([None, 0, 1, 2, -1, 10**6]),
                        "gpus_per_node": st.sampled_from([None, 0, 1, 8, 64]),
                        "gdr": st.sampled_from([None, "no", "yes", "perhaps"]),
                        "fabric": st.sampled_from([None, "IB NDR", "TCP sockets", "hfi1", "§"]),
                        "p2p": st.sampled_from([None, True, False]),
                        "path": st.sampled_from([None, "PHB", "PIX", "NV4", "??"]),
                        "nics_per_node": st.sampled_from([None, 0, 1, 8]),
                    },
                ),
            ),
            "collective": st.sampled_from(["all_reduce", "alltoall", "p2p_copy", "dance"]),
            "ranks": st.sampled_from([None, 0, 1, 2, 8, 16, 1000]),
            "rows": st.lists(
                st.lists(st.sampled_from([None, 0, -1, 8, 2**30, 1e-9, 1e300]), max_size=5),
                max_size=3,
            ),
            "env": st.dictionaries(
                st.sampled_from(["NCCL_P2P_DISABLE", "NCCL_PROTO", "NCCL_IB_HCA", "X"]),
                st.sampled_from(["1", "0", "LL", "", "one", "^"]),
            ),
        },
    )
)
def test_a_record_of_anything(folder, changes):
    answered(json.dumps(RECORD | changes), folder)
