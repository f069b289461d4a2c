"""What collected tables of states and queries say."""

from __future__ import annotations

import pytest

from readers.matrix_text import codes, pairs_of
from support import shared
from wirespeed.readers import read_text

pytestmark = pytest.mark.corpus


def test_status_matrices_say_ok_or_why_not() -> None:
    folder = shared("samples", "nvidia-smi-topo-p2p")
    ok = read_text((folder / "01-p2p-ok-8.txt").read_bytes(), file="ok")
    refused = read_text((folder / "02-p2p-cns-2.txt").read_bytes(), file="refused")
    assert ok.format == refused.format == "topo-p2p"
    assert set(pairs_of(ok, "p2p_status").values()) == {"OK"}
    assert len(pairs_of(ok, "p2p_status")) == 56
    assert pairs_of(refused, "p2p_status") == {"gpu0>gpu1": "CNS", "gpu1>gpu0": "CNS"}


def test_query_output_gives_model_and_bus_id() -> None:
    found = read_text(
        shared("samples", "nvidia-smi-query", "01-vbios-ellipsis.txt").read_bytes(), file="query"
    )
    assert found.format == "nvidia-smi-query"
    assert found.value("gpu0", "model") == "NVIDIA H100 80GB HBM3"
    assert found.value("gpu0", "bus_id") == "0000:04:00.0"
    assert codes(found) == {"lines-left-out"}
